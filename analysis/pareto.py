"""Average score against embedding parameters and against time per sample, each with its Pareto front.

python -m analysis.pareto --db results.db -o figures      (the same as: hashbench plot pareto)
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from analysis import figures
from hashbench.results.plots.pareto import draw


def main(arguments: Sequence[str] | None = None) -> int:
    """Draws the figure and prints its files; returns the exit code."""
    return figures.main(figures.parser(__doc__.splitlines()[0] if __doc__ else "").parse_args(arguments), draw)


if __name__ == "__main__":
    sys.exit(main())
