"""Metrics of examples (or pages) drawn with replacement, for all draws and all models at once.

A draw is a vector of counts, how often each example was taken; all but Spearman are functions of sums over the drawn
examples, so that a block of draws is one product of counts with columns. Draws depend on the seed and on the number of
examples alone: what two calls draw from the same examples is paired. The tests hold every form equal to that of
`hashbench.scores` on the drawn rows themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hashbench.retrieval import per_case, tenths
from hashbench.scores import predicted_classes
from hashbench.statistics.ranks import Ranked, spearman

DRAWS = 10_000
CELLS = 2_000_000  # counts in a block of draws: bounds the memory
RANK_CELLS = 60_000  # the same where ranks are taken: a dozen passes over a block, which then stays in the cache
EXACT = 2**24  # below it whole numbers have an exact float32, whose products take half the time
CONSTANT = 1e-12  # share of a sum of squares that is rounding alone
TENTH = " tenth="


@dataclass(frozen=True)
class Summed:
    """A metric as a function of sums over examples."""

    columns: Callable[[np.ndarray, np.ndarray], np.ndarray]  # targets (n,), outputs of a run -> (n, c)
    score: Callable[[np.ndarray, np.ndarray], np.ndarray]  # drawn examples (draws,), sums (draws, c) -> (draws,)


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

    `targets` (n,), `outputs` class ids or values (n,), logits (n, C), or the columns of `hashbench.retrieval`. As many
    examples are drawn as there are. `units` (n,): what is drawn instead, every example of a unit with it (a page of
    links). A metric of rankings may end in ' tenth=3': cases of one tenth by frequency.

    Raises ValueError for a metric that cannot be drawn.
    """
    if not len(outputs):
        return np.empty((0, draws))
    if metric == "spearman":
        if units is not None:
            raise ValueError("spearman is not drawn by units")
        return _drawn_ranks(targets, outputs, draws, seed)
    form = SUMMED[metric] if metric in SUMMED else _mean_of_cases(metric)
    columns = [form.columns(targets, one) for one in outputs]
    table = np.column_stack([np.ones(len(targets)), *columns])  # (n, 1 + c of all runs)
    if units is not None:
        table = _by_unit(table, units)  # (units, 1 + c of all runs)
    whole = len(targets) < EXACT and (table == np.rint(table)).all()
    table = table.astype(np.float32 if whole else np.float64)
    ends = np.cumsum([1, *(one.shape[1] for one in columns)])
    found = np.empty((len(outputs), draws))
    at = 0
    for counts in draw_counts(len(table), draws, seed):
        sums = (counts.astype(table.dtype) @ table).astype(np.float64)  # (block, 1 + c of all runs)
        for run in range(len(outputs)):
            score = form.score(sums[:, 0], sums[:, ends[run] : ends[run + 1]])
            found[run, at : at + len(counts)] = score
        at += len(counts)
    return found


def draw_counts(n: int, draws: int, seed: int, cells: int = CELLS) -> Iterator[np.ndarray]:
    """Blocks (block, n) of how often each of n examples is in a draw of n; the same draws whatever the block's size."""
    generator = np.random.default_rng(seed)
    block = max(1, cells // n)
    for start in range(0, draws, block):
        size = min(block, draws - start)
        # 32 bits at a time: the generator keeps what is left of a word, so that blocks do not change the sequence
        rows = generator.integers(0, n, size=(size, n), dtype=np.uint32).astype(np.intp)
        rows += n * np.arange(size)[:, None]
        yield np.bincount(rows.reshape(-1), minlength=size * n).reshape(size, n)


def _by_unit(table: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Rows (n, c) added up by unit: (units, c)."""
    order = np.argsort(units, kind="stable")
    _, starts = np.unique(units[order], return_index=True)
    return np.add.reduceat(table[order], starts, axis=0)


def _drawn_ranks(targets: np.ndarray, outputs: Sequence[np.ndarray], draws: int, seed: int) -> np.ndarray:
    """Spearman's correlation of each run in each draw (runs, draws)."""
    real, ours = Ranked.of(targets), [Ranked.of(one.reshape(len(targets))) for one in outputs]
    found, at = np.empty((len(outputs), draws)), 0
    for counts in draw_counts(len(targets), draws, seed, RANK_CELLS):
        found[:, at : at + len(counts)] = spearman(counts, real, ours)
        at += len(counts)
    return found


def _accuracy_columns(targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    return (targets == predicted_classes(outputs))[:, None]


def _mean(n: np.ndarray, sums: np.ndarray) -> np.ndarray:
    return sums[:, 0] / n


def _f1_columns(targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Hits of class 1, then its occurrences among targets and predictions together."""
    return _class_columns(targets, predicted_classes(outputs), np.array([1]))


def _f1_macro_columns(targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    predicted = predicted_classes(outputs)
    return _class_columns(targets, predicted, np.union1d(targets, predicted))


def _class_columns(targets: np.ndarray, predicted: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Hits of each class, then occurrences of each: (n, 2 k)."""
    real, ours = targets[:, None] == classes, predicted[:, None] == classes  # (n, k)
    return np.concatenate([real & ours, real.astype(np.int8) + ours], axis=1)


def _f1_of_classes(n: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """Mean F1 of the classes that occur in a draw, NaN where none does."""
    hits, both = np.split(sums, 2, axis=1)  # (draws, k) each
    occurs = both > 0
    scores = np.divide(2 * hits, both, out=np.zeros(both.shape), where=occurs)
    k = occurs.sum(axis=1)
    return np.divide(scores.sum(axis=1), k, out=np.full(len(k), np.nan), where=k > 0)


def _matthews_columns(targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Hits, then occurrences of each class in the targets and in the predictions: (n, 1 + 2 k)."""
    predicted = predicted_classes(outputs)
    classes = np.union1d(targets, predicted)
    real, ours = targets[:, None] == classes, predicted[:, None] == classes
    return np.concatenate([(targets == predicted)[:, None], real, ours], axis=1)


def _matthews(n: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """Gorodkin's form for any number of classes; 0 where a side is constant."""
    real, ours = np.split(sums[:, 1:], 2, axis=1)  # (draws, k) each
    shared = sums[:, 0] * n - (real * ours).sum(axis=1)
    square = (n**2 - (real**2).sum(axis=1)) * (n**2 - (ours**2).sum(axis=1))
    return np.divide(shared, np.sqrt(square), out=np.zeros(len(n)), where=square > 0)


def _pearson_columns(targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Both sides with mean 0 and deviation 1, so that differences of sums keep their digits; products: (n, 5)."""
    x, y = _standard(targets), _standard(outputs.reshape(len(targets)))
    return np.stack([x, y, x * y, x * x, y * y], axis=1)


def _standard(values: np.ndarray) -> np.ndarray:
    """With mean 0 and deviation 1; zeros for a constant."""
    if (values == values[0]).all():
        return np.zeros(len(values))
    centred = values.astype(np.float64) - values.mean(dtype=np.float64)
    return centred / centred.std()


def _pearson(n: np.ndarray, sums: np.ndarray) -> np.ndarray:
    x, y, xy, xx, yy = sums.T
    spread_x, spread_y = xx - x * x / n, yy - y * y / n
    varies = (spread_x > CONSTANT * xx) & (spread_y > CONSTANT * yy)
    square = np.where(varies, spread_x * spread_y, 1.0)
    return np.where(varies, (xy - x * y / n) / np.sqrt(square), np.nan)


def _mean_of_cases(metric: str) -> Summed:
    """A metric of rankings, of one tenth of the cases if its name says so; NaN where none of them is drawn."""
    name, _, tenth = metric.partition(TENTH)

    def columns(targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        chosen = tenths(targets) == int(tenth) - 1 if tenth else np.ones(len(targets), bool)
        return np.stack([np.where(chosen, per_case(name, outputs), 0.0), chosen], axis=1)

    def score(n: np.ndarray, sums: np.ndarray) -> np.ndarray:
        return np.divide(sums[:, 0], sums[:, 1], out=np.full(len(n), np.nan), where=sums[:, 1] > 0)

    return Summed(columns, score)


SUMMED = {
    "accuracy": Summed(_accuracy_columns, _mean),
    "f1": Summed(_f1_columns, _f1_of_classes),
    "f1_macro": Summed(_f1_macro_columns, _f1_of_classes),
    "matthews": Summed(_matthews_columns, _matthews),
    "pearson": Summed(_pearson_columns, _pearson),
}
