"""Puts the root of the checkout last on the path: for `tests.oracles`, `analysis` and `benchmarks`.

Last, so that an installed hashbench, a wheel in continuous integration, comes before the sources beside the tests.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
