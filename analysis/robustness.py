"""Robustness: score against the share of words changed, a panel for each task and perturbation, a line a model.

python -m analysis.robustness --db results.db -o figures      (the same as: hashbench plot robustness)
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from analysis import figures
from hashbench.results.plots.robustness import draw


def main(arguments: Sequence[str] | None = None) -> int:
    """Draws the figure and prints its files; returns the exit code."""
    return figures.main(figures.parser(__doc__.splitlines()[0] if __doc__ else "").parse_args(arguments), draw)


if __name__ == "__main__":
    sys.exit(main())
