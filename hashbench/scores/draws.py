"""Metrics of examples (or pages) drawn with replacement, for all draws and all models at once.

Draws depend on the seed and on the number of examples alone: what two calls draw from the same examples is paired.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hashbench.scores.base import CELLS
from hashbench.scores.registry import find_metric

DRAWS = 10_000


def drawn(
    metric: str,
    targets: np.ndarray,
    outputs: Sequence[np.ndarray],
    *,
    draws: int = DRAWS,
    seed: int,
    units: np.ndarray | None = None,
) -> np.ndarray:
    """The metric of each run's outputs in each draw: (len(outputs), draws), NaN where it is undefined.

    `targets` (n,), `outputs` as the metric takes them: (n,), (n, C) or (n, 3 + m). As many examples are drawn as there
    are. `units` (n,): what is drawn instead, every example of a unit with it (a page of links). A metric of rankings
    may end in ' tenth=3': cases of one decile by frequency. A metric with strata draws as many of each as there are.

    Raises InputError for an unknown metric, ValueError for units where they cannot be drawn.
    """
    if not len(outputs):
        return np.empty((0, draws))
    of_name = find_metric(metric)
    scorer = of_name.scorer(targets, outputs, units)
    blocks = draw_counts(scorer.n_units, draws, seed, scorer.cells, of_name.strata(targets))
    return np.concatenate([scorer.scores(counts) for counts in blocks], axis=1)


def draw_counts(
    n: int, draws: int, seed: int, cells: int = CELLS, strata: np.ndarray | None = None
) -> Iterator[np.ndarray]:
    """Blocks (block, n) of how often each of n examples is in a draw of n; the same draws whatever the block's size.

    `strata` (n,): of each there are as many examples in a draw as there are in all.
    """
    generator = np.random.default_rng(seed)
    block = max(1, cells // n)
    if strata is not None:
        yield from _within(strata, draws, block, generator)
        return
    for start in range(0, draws, block):
        size = min(block, draws - start)
        # 32 bits at a time: the generator keeps what is left of a word, so that blocks do not change the sequence
        rows = generator.integers(0, n, size=(size, n), dtype=np.uint32).astype(np.intp)
        rows += n * np.arange(size)[:, None]
        yield np.bincount(rows.reshape(-1), minlength=size * n).reshape(size, n)


def _within(strata: np.ndarray, draws: int, block: int, generator: np.random.Generator) -> Iterator[np.ndarray]:
    """Blocks (block, n) of counts of examples drawn within their strata (n,)."""
    n, order = len(strata), np.argsort(strata, kind="stable")
    _, starts, sizes = np.unique(strata[order], return_index=True, return_counts=True)
    first, size = np.repeat(starts, sizes), np.repeat(sizes, sizes)  # (n,) of each place in the order
    in_order = bool((np.diff(strata) >= 0).all())
    back = np.empty(n, np.intp)
    back[order] = np.arange(n)
    for start in range(0, draws, block):
        rows = min(block, draws - start)
        places = (generator.random((rows, n)) * size).astype(np.intp) + first  # (rows, n)
        places += n * np.arange(rows)[:, None]
        counts = np.bincount(places.reshape(-1), minlength=rows * n).reshape(rows, n)
        yield counts if in_order else counts[:, back]
