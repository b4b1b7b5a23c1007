"""The interface of a metric, and the metrics by name.

A metric is a score of targets (n,) and outputs, also of examples drawn with replacement.

Outputs are class ids or values (n,), logits (n, C), or the columns of rankings; targets of several labels a row are
(n, C). A score lies in its natural range; of every metric more is better. A draw is a vector of counts, how often each
example was taken. A file of this folder ends in `METRICS`; the tests hold the draws of each equal to its score of the
drawn rows themselves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hashbench.common.errors import InputError, first_line, near_match
from hashbench.common.measured import MetricRow
from hashbench.common.registry import registered, unreadable

# What metrics score; a user-defined kind of task may have another word
OUTPUTS = ("classes", "values", "rankings", "spans", "pairs", "multi-label")
CELLS = 1_000_000  # counts in a block of draws: some megabytes, which a processor keeps near
EXACT = 2**24  # below it whole numbers have an exact float32, whose products take half the time


class UndefinedScore(ValueError):
    """Raised where data have no value of a metric; the message says why."""


@dataclass(frozen=True)
class DrawScorer:
    """A metric of several runs on the same examples, prepared to score examples drawn with replacement."""

    n_units: int  # what is drawn: examples, or groups of them
    cells: int  # counts in a block of draws
    # Counts (draws, n_units) -> (runs, draws), NaN where undefined
    scores: Callable[[np.ndarray], np.ndarray]


class Metric(ABC):
    """Interface of a metric: scores of all examples, and of examples drawn with replacement."""

    name: str  # as stored and as users write it
    outputs: ClassVar[str]  # what it scores: one of OUTPUTS, or the word of another kind of task
    unit: ClassVar[str] = "example"  # what is drawn: examples, or groups of them
    # What counts where predictions are constant and it is therefore undefined; None: nothing
    of_constant: ClassVar[float | None] = None
    # The class of two that it counts, by its id; None: no single one
    counted_class: ClassVar[int | None] = None
    # Whether it says little of a model whose accuracy is below the majority class's
    needs_accuracy: ClassVar[bool] = False
    # Its lowest and highest possible value
    least: ClassVar[float] = 0.0
    most: ClassVar[float] = 1.0

    def fault(self) -> str:
        """The reason why this metric, of a plug-in say, cannot be used; "" where it can."""
        written = getattr(self, "outputs", None)
        if not isinstance(written, str) or not written:
            return f"outputs is not set; write {', '.join(OUTPUTS)}, or the word of your kind of task"
        if written not in OUTPUTS and (hint := near_match(written, list(OUTPUTS))):
            return f"outputs is {written!r}{hint}"
        # Selection, stars and verdicts take the highest score for the best.
        right = np.array([0, 1, 0, 1, 1, 0])
        answers = {
            "classes": (right, np.eye(2)[right], np.eye(2)[1 - right]),
            "values": (right * 1.0, right * 1.0, 1.0 - right),
            "multi-label": (right[:, None], right[:, None], 1 - right[:, None]),
        }
        if written in answers:
            targets, good, bad = answers[written]
            try:
                if self.score(targets, good) < self.score(targets, bad):
                    return "wrong answers have a higher score than right ones; more is better: change its sign"
            except UndefinedScore:
                pass
            except Exception as error:  # in code of the user's
                return f"six answers have no score: {type(error).__name__}: {first_line(error)}"
        return ""

    @abstractmethod
    def score(self, targets: np.ndarray, outputs: np.ndarray) -> float:
        """The score of targets (n,) and finite outputs (n,), (n, C) or (n, 3 + m). Raises UndefinedScore."""

    @abstractmethod
    def scorer(self, targets: np.ndarray, outputs: Sequence[np.ndarray], units: np.ndarray | None = None) -> DrawScorer:
        """A scorer of each run's outputs on draws of examples, or of `units` (n,) with all their examples.

        Targets (n,), and outputs of each run (n,), (n, C) or (n, 3 + m).
        """

    def is_constant(self, outputs: np.ndarray) -> bool:
        """True where all predictions are equal: outputs (n,) or (n, 1), or the argmax of outputs (n, C)."""
        answers = outputs.argmax(axis=1) if outputs.ndim == 2 and outputs.shape[1] > 1 else outputs.ravel()
        return bool((answers == answers[:1]).all())

    def best_constant(self, targets: np.ndarray) -> np.ndarray | None:
        """The outputs (n, ...) of the constant prediction with the highest score of targets (n,); None: not known."""
        return None

    def units(self, outputs: np.ndarray) -> np.ndarray | None:
        """The unit (such as a page) that each example is drawn with, outputs (n, ...) -> (n,); None: by itself."""
        return None

    def strata(self, targets: np.ndarray) -> np.ndarray | None:
        """The stratum (n,) of each example by its target (n,), within which it is drawn; None: there are no strata."""
        return None

    def right(self, targets: np.ndarray, outputs: np.ndarray) -> np.ndarray | None:
        """Which examples are right (n,) bool: targets (n,), outputs (n, ...). None if it has no right or wrong."""
        return predicted_classes(outputs) == targets if self.outputs == "classes" else None

    def under(self, condition: str) -> Metric | None:
        """The metric over examples that meet a stored condition; None where it does not know the condition."""
        return None

    def by_condition(self, targets: np.ndarray, outputs: np.ndarray) -> dict[str, float]:
        """Every score that is stored of targets (n,) and outputs (n, ...), by condition; '' is of all examples.

        Empty where these outputs have no such score. Raises UndefinedScore.
        """
        return {"": self.score(targets, outputs)}

    def compact(self, outputs: np.ndarray) -> np.ndarray:
        """Outputs in fewer bytes but of equal score: class ids (n,) for logits (n, C), small integers for counts."""
        return as_integers(predicted_classes(outputs) if self.outputs == "classes" else outputs)

    def refuses(self, n_classes: int) -> str:
        """The reason why the metric cannot score a task with `n_classes` classes; empty where it can."""
        return ""

    def scored(self, targets: np.ndarray, outputs: np.ndarray) -> MetricRow:
        """The score of targets (n,) and outputs (n,), (n, C) or (n, 3 + m), or the reason why there is none."""
        if len(targets) == 0:
            return MetricRow(self.name, None, reason="no examples")
        if not np.isfinite(outputs).all():
            return MetricRow(self.name, None, reason="a prediction is not a finite number")
        try:
            return MetricRow(self.name, self.score(targets, outputs))
        except UndefinedScore as error:
            return MetricRow(self.name, None, reason=str(error))


class SummedMetric(Metric):
    """A metric that is a function of sums over the examples, so that a block of draws is one product of matrices."""

    undefined: str = "these examples have no score"  # the reason where `of_sums` gives NaN

    @abstractmethod
    def columns(self, targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """The summands of each example: targets (n,), outputs of a run (n,), (n, C) or (n, 3 + m) -> (n, c)."""

    @abstractmethod
    def of_sums(self, n: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Numbers of examples (draws,) and sums of `columns` (draws, c) -> scores (draws,), NaN where there is none."""

    def why_undefined(self, targets: np.ndarray) -> str:
        """The reason why there is no score of targets (n,)."""
        return self.undefined

    def score(self, targets: np.ndarray, outputs: np.ndarray) -> float:
        """`of_sums` of all examples: targets (n,), outputs as `columns` takes them. Raises UndefinedScore for NaN."""
        # (c, n): numpy adds up each row pairwise, so that a mean has the digits of `np.mean`
        rows = np.ascontiguousarray(self._summed(targets, outputs).T, np.float64)
        value = float(self.of_sums(np.array([float(len(targets))]), rows.sum(axis=1)[None])[0])
        if np.isnan(value):
            raise UndefinedScore(self.why_undefined(targets))
        return value

    def scorer(self, targets: np.ndarray, outputs: Sequence[np.ndarray], units: np.ndarray | None = None) -> DrawScorer:
        """A scorer of each run's outputs that takes one product of matrices a block of draws.

        Targets (n,), outputs of each run (n,), (n, C) or (n, 3 + m), `units` (n,).
        """
        columns = [self._summed(targets, of_run) for of_run in outputs]
        table = np.column_stack([np.ones(len(targets)), *columns])  # (n, 1 + c of all runs)
        if units is not None:
            table = _by_unit(table, units)  # (units, 1 + c of all runs)
        whole = len(targets) < EXACT and (table == np.rint(table)).all()
        table = table.astype(np.float32 if whole else np.float64)
        ends = np.cumsum([1, *(of_run.shape[1] for of_run in columns)])

        def scores(counts: np.ndarray) -> np.ndarray:
            """Counts (draws, n_units) -> scores (runs, draws)."""
            # (draws, 1 + c of all runs)
            sums = (counts.astype(table.dtype) @ table).astype(np.float64)
            runs = range(len(outputs))
            return np.stack([self.of_sums(sums[:, 0], sums[:, ends[run] : ends[run + 1]]) for run in runs])

        return DrawScorer(len(table), CELLS, scores)

    def _summed(self, targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """`columns` (n, c) of outputs (n, ...); values that a head gives as (n, 1) are handed on as (n,)."""
        return self.columns(targets, outputs.reshape(len(targets)) if self.outputs == "values" else outputs)


def predicted_classes(outputs: np.ndarray) -> np.ndarray:
    """Class ids (n,) from logits (n, C), the first maximum, or from class ids (n,)."""
    return outputs.argmax(axis=1) if outputs.ndim == 2 else outputs


def as_integers(values: np.ndarray) -> np.ndarray:
    """Whole numbers of at least 0 in the smallest integers; others, and integers (n, k), as they are.

    >>> as_integers(np.array([1.0, 0.0])), as_integers(np.array([0.5]))
    (array([1, 0], dtype=uint8), array([0.5]))
    """
    kept = not values.size or (values.ndim > 1 and np.issubdtype(values.dtype, np.integer))
    if kept or not (np.isfinite(values).all() and (values >= 0).all() and (values == np.rint(values)).all()):
        return values
    return values.astype(np.min_scalar_type(int(values.max())))


def _by_unit(table: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Rows (n, c) added up by unit (n,): (units, c)."""
    order = np.argsort(units, kind="stable")
    _, starts = np.unique(units[order], return_index=True)
    return np.add.reduceat(table[order], starts, axis=0)


def metrics(*kinds: str) -> Mapping[str, Metric]:
    """All metrics by name, or the metrics of some kinds of output. Raises InputError where two have one name."""
    by_name: Mapping[str, Metric] = registered("metric")
    order = kinds or dict.fromkeys((*OUTPUTS, *(metric.outputs for metric in by_name.values())))
    return {name: metric for kind in order for name, metric in by_name.items() if metric.outputs == kind}


def find_metric(name: str, *kinds: str) -> Metric:
    """The named metric, of some kinds of output or of any; the name may end in a condition, as ' tenth=3' of rankings.

    Raises:
        InputError: there is none of this name.
    """
    by_name = metrics(*kinds)
    stem, _, condition = name.partition(" ")
    metric = by_name.get(stem)
    if metric is not None and condition:
        metric = metric.under(condition)
    if metric is None:
        hint = near_match(name, list(by_name)) or f"; known are {', '.join(by_name)}"
        raise InputError(f"unknown metric {name!r}{hint}{unreadable()}")
    return metric


def metric_of(name: str) -> Metric | None:
    """The metric of a stored score's name, whatever condition follows in it; None where it no longer exists."""
    metric: Metric | None = registered("metric").get(name.partition(" ")[0])
    return metric


def is_drawable(metric: str) -> bool:
    """True if a metric can be computed from the stored predictions; one under another beam width cannot.

    >>> is_drawable("f1"), is_drawable("rec@1 tenth=3"), is_drawable("rec@1 beam=10")
    (True, True, False)
    """
    name, _, condition = metric.partition(" ")
    return not condition or condition.startswith("tenth=")


def evaluate(names: Sequence[str], targets: np.ndarray, outputs: np.ndarray) -> dict[str, MetricRow]:
    """Each metric's score of targets (n,) and outputs (n,), (n, C) or (n, 3 + m); undefined ones with their reason."""
    targets, outputs = np.asarray(targets), np.asarray(outputs)
    return {name: find_metric(name).scored(targets, outputs) for name in names}
