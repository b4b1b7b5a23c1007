"""Learning curves: loss of every pre-training by objective, and the reported metric of every task while fine-tuning.

python -m analysis.curves --db results.db -o figures [--metric loss]      (without --metric: hashbench plot curves)
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

from analysis import figures
from hashbench.results.plots.curves import draw


def main(arguments: Sequence[str] | None = None) -> int:
    """Draws the figure and prints its files; returns the exit code."""
    options = figures.parser(__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--metric", default="", help="of training: loss, learning_rate; default: the reported score")
    chosen = options.parse_args(arguments)
    return figures.main(chosen, partial(draw, metric=chosen.metric))


if __name__ == "__main__":
    sys.exit(main())
