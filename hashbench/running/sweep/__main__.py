"""`python -m hashbench.running.sweep FILE NUMBER FOLDER`: a worker, as an executor starts it."""

import sys

from hashbench.running.sweep.worker import work

if __name__ == "__main__":
    work(*sys.argv[1:])
