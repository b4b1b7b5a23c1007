"""Retention of scores under noise in the texts: curves over the rate, areas, differences of models.

Retention is a model's score at a rate over its own score at rate 0. An area is the sum of the trapezoids under a
curve over the highest rate, so that it has the curve's own unit: the mean over the rates from 0 to the highest. Of a
user's pairs (texts and other forms of them) rate 0 is the texts of one kind of noise and rate 1 their forms, the same
rows; there is no area. Seeds and draws of examples are matched: every rate and every model of a task sees the same
ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import RowMapping as Row

from hashbench.common.errors import InputError
from hashbench.results.read import queries
from hashbench.results.read.doubts import before_the_jump, separations
from hashbench.results.read.evidence import draw_seed
from hashbench.results.read.measured import AVERAGE
from hashbench.results.read.runs import grouped
from hashbench.results.read.units import Units, read_units
from hashbench.scores.base import metric_of
from hashbench.scores.draws import Estimate, drawn
from hashbench.scores.quantity import Quantity, Unit, difference
from hashbench.store.engine import Store
from hashbench.store.result import Predictions
from hashbench.store.status import StoredExperiment, find_experiment

# Fewer draws than elsewhere: a report has thousands of intervals, and their ends mostly move by a thirtieth.
DRAWS = 2_000
FEW_ROWS = 100  # rows of pairs below which an interval is wide, and a score moves by a point or more a row
# (seeds, rates), and (seeds, draws, rates): None without predictions
CurveValues = tuple[np.ndarray, np.ndarray | None]
AttemptOutputs = dict[tuple[str, str], Predictions]  # of one attempt by (split, condition)


@dataclass(frozen=True)
class RobustnessCurve:
    """A model's scores on a task by rate of one perturbation, from rate 0 on, in their natural range.

    The curve 'average' is of the mean over tasks. Where the score at rate 0 is not above 0, `retained` is NaN.
    """

    model: str
    task: str
    metric: str
    kind: str
    rates: tuple[float, ...]
    seeds: tuple[int | None, ...]  # (None,) of a trivial baseline
    scores: CurveValues
    retained: CurveValues
    n_examples: int
    units: tuple[Unit, ...] = ()  # of the seeds
    bounds: tuple[float, float] = (-math.inf, math.inf)  # the lowest and highest score that there can be
    is_of_pairs: bool = False  # of a user's pairs: its one rate beside 0 is that of the forms

    @property
    def is_baseline(self) -> bool:
        """True for a trivial baseline, which has no seed."""
        return self.seeds == (None,)

    def score(self, at: int | None = None) -> Estimate:
        """The score at the rate with index `at`; None: the mean over the rates, from the area under the curve, or that
        of the forms of pairs.

        Its interval, which two units can make wider than all scores that there can be, ends at these.
        """
        estimate = self._number(self.scores, at, self.seeds).estimate()
        low, high = np.clip((estimate.low, estimate.high), *self.bounds).tolist()  # NaN stays
        # A rounded correlation may be a little above 1.
        return replace(estimate, low=min(low, estimate.value), high=max(high, estimate.value))

    def retention(self, at: int | None = None) -> Estimate:
        """The share of the score at rate 0 that is left at the rate with index `at`; None: its mean over the rates, or
        that of the forms of pairs.
        """
        return self.retained_of(self.seeds, at).estimate()

    def retained_of(self, seeds: Sequence[int | None], at: int | None = None) -> Quantity:
        """The retention at a rate, or the mean over the rates, over some of the seeds."""
        return self._number(self.retained, at, seeds)

    def matched(self, other: RobustnessCurve) -> list[int | None]:
        """The seeds that both curves have; a trivial baseline has every seed."""
        if self.is_baseline or other.is_baseline:
            return list(other.seeds if self.is_baseline else self.seeds)
        return [seed for seed in self.seeds if seed in other.seeds]

    def less(self, other: RobustnessCurve, at: int | None = None) -> Estimate:
        """This model's retention minus the other's at the rate with index `at` (None: of the means), seeds matched."""
        both = self.matched(other)
        if not both:
            return Estimate(float("nan"), float("nan"), float("nan"))
        return difference(self.retained_of(both, at), other.retained_of(both, at)).estimate()

    def _number(self, values: CurveValues, at: int | None, seeds: Sequence[int | None]) -> Quantity:
        """The mean over the units of some seeds; each unit is the mean of its seeds."""
        by_seed, by_draw = self._pick(values[0], at), None if values[1] is None else self._pick(values[1], at)
        examples = {self.task: self.n_examples}
        if self.is_baseline:
            return Quantity(float(by_seed[0]), None if by_draw is None else by_draw[0], examples)
        units = grouped(
            (unit, row) for row, (seed, unit) in enumerate(zip(self.seeds, self.units, strict=True)) if seed in seeds
        )
        draws = None if by_draw is None else {unit: by_draw[rows].mean(axis=0) for unit, rows in units.items()}
        return Quantity.of_units(
            self.model, {unit: float(by_seed[rows].mean()) for unit, rows in units.items()}, draws, examples
        )

    def _pick(self, values: np.ndarray, at: int | None) -> np.ndarray:
        """(..., rates) -> (...): the values at the rate with index `at`, or (None) their mean over the rates; of pairs
        those of the forms.
        """
        if at is not None or self.is_of_pairs:
            return values[..., -1 if at is None else at]
        areas: np.ndarray = np.trapezoid(values, np.array(self.rates), axis=-1) / self.rates[-1]
        return areas


@dataclass(frozen=True)
class RobustnessResults:
    """All curves of an experiment, the facts of its data sets and coders, and the notes to print with them."""

    experiment: StoredExperiment
    curves: tuple[RobustnessCurve, ...]
    facts: Mapping[tuple[str, str, str, str], float]  # (task, model, name, condition)
    notes: tuple[str, ...]
    averaged: tuple[str, ...] = ()  # tasks of the average
    left_behind: frozenset[str] = frozenset()  # models with a pre-training that did not jump

    def models(self) -> list[str]:
        """Names of the models with curves, in the order of the experiment."""
        return list(dict.fromkeys(curve.model for curve in self.curves))

    def tasks(self) -> list[str]:
        """Tasks with curves, the average last where there are several."""
        return list(dict.fromkeys(curve.task for curve in self.curves))

    def curve(self, model: str, task: str, kind: str) -> RobustnessCurve | None:
        """The curve of a model on a task under a kind of noise, or None where it was not measured."""
        wanted = (model, task, kind)
        return next((curve for curve in self.curves if (curve.model, curve.task, curve.kind) == wanted), None)

    def kinds(self) -> list[str]:
        """Kinds of seeded noise with curves, in the order of the experiment."""
        return list(dict.fromkeys(curve.kind for curve in self.curves if not curve.is_of_pairs))

    def of_pairs(self) -> list[RobustnessCurve]:
        """The curves of the user's pairs."""
        return [curve for curve in self.curves if curve.is_of_pairs]


def measure_robustness(store: Store, name: str | None = None, *, draws: int = DRAWS) -> RobustnessResults:
    """The robustness of an experiment, of all that it measured so far. `name` None: the experiment swept last.

    Raises InputError where it measured none.
    """
    experiment = find_experiment(store, name)
    rows = store.query(queries.ROBUSTNESS_SCORES, experiment=experiment.id)
    if not rows:
        raise InputError(
            f"{store.name}: experiment {experiment.name!r} has no finished robustness run; "
            "write robustness: true in its file and sweep it"
        )
    units = read_units(store.query, experiment.id)
    outputs = {row["attempt_id"]: _outputs(store, row["attempt_id"]) for row in rows}
    curves = [
        curve
        for key in dict.fromkeys((row["task"], row["model"]) for row in rows)
        for curve in _curves([row for row in rows if (row["task"], row["model"]) == key], outputs, draws, units)
    ]
    noisy = [curve for curve in curves if not curve.is_of_pairs]  # each task has other pairs
    averaged = tuple(dict.fromkeys(curve.task for curve in noisy if not curve.is_baseline))
    averaged = averaged or tuple(dict.fromkeys(curve.task for curve in noisy))
    averages = _averages([curve for curve in noisy if curve.task in averaged], averaged)
    facts = {
        (row["task"], row["model"], row["name"], row["condition"]): row["value"]
        for row in store.query(queries.ROBUSTNESS_FACTS, experiment=experiment.id)
        if row["value"] is not None
    }
    notes = _notes(store, experiment, rows, outputs)
    behind = frozenset(before_the_jump(separations(store.query, experiment.id)))
    return RobustnessResults(experiment, (*curves, *averages), facts, tuple(notes), averaged, behind)


def _outputs(store: Store, attempt: int) -> AttemptOutputs:
    """All predictions that an attempt stored, by split and condition; empty where it stored none."""
    stored = [_ordered(store, row) for row in store.query(queries.OUTPUTS_OF_ATTEMPT, attempt=attempt)]
    return {(predicted.split, predicted.condition): predicted for predicted in stored if predicted is not None}


def _ordered(store: Store, row: Row) -> Predictions | None:
    """Stored predictions, ordered as in an exported database, so that both give the same draws; None: not readable."""
    predicted = store.readable(row["run_id"], Predictions.of_row, row)
    return None if predicted is None else predicted.in_order_of_targets()


def _curves(
    rows: Sequence[Row], outputs: Mapping[int, AttemptOutputs], draws: int, units: Units
) -> list[RobustnessCurve]:
    """The curves of one model on one task. A score that is missing at one rate leaves the curve out."""
    scores = {(row["seed"], row["condition"]): row["value"] for row in rows}
    attempts = {row["seed"]: row["attempt_id"] for row in rows}
    run_ids = {row["seed"]: row["run_id"] for row in rows}
    conditions = list(dict.fromkeys(row["condition"] for row in rows))
    first, runs = rows[0], [outputs[attempt] for attempt in attempts.values()]
    kinds = list(dict.fromkeys(condition.rpartition("=")[0] for condition in conditions if condition))
    of_pairs = [kind for kind in kinds if f"{kind}=0" in conditions]
    of_noise = [condition for condition in conditions if condition.rpartition("=")[0] not in of_pairs]
    drawn_noise = _draw_all(first, of_noise, runs, draws)
    curves = []
    for kind in kinds:
        of_kind = [condition for condition in conditions if condition.rpartition("=")[0] == kind]
        at = sorted((float(condition.rpartition("=")[2]), condition) for condition in of_kind)
        if kind not in of_pairs:
            at = [(0.0, ""), *at]
        rates, names = tuple(rate for rate, _ in at), [condition for _, condition in at]
        if any(scores.get((seed, name)) is None for seed in attempts for name in names):
            continue
        by_condition = _draw_all(first, names, runs, draws) if kind in of_pairs else drawn_noise
        whole = runs[0].get((first["split"], names[0]))
        # (seeds, rates)
        by_seed = np.array([[scores[seed, name] for name in names] for seed in attempts], float)
        by_draw = None if by_condition is None else np.stack([by_condition[name] for name in names], axis=-1)
        retained = (_over_first(by_seed), None if by_draw is None else _over_first(by_draw))
        n_examples = len(whole.targets) if whole else 0
        metric = metric_of(first["metric"])
        curves.append(
            RobustnessCurve(
                first["model"], first["task"], first["metric"], kind, rates, tuple(attempts), (by_seed, by_draw),
                retained, n_examples, tuple(units.of(first["model"], run_ids[seed]) for seed in attempts),
                bounds=(metric.least, metric.most) if metric else (-math.inf, math.inf),
                is_of_pairs=kind in of_pairs,
            )
        )  # fmt: skip
    return curves


def _draw_all(
    row: Row, conditions: Sequence[str], runs: Sequence[AttemptOutputs], draws: int
) -> dict[str, np.ndarray] | None:
    """The metric (seeds, draws) of each seed's run in each bootstrap draw, by condition; None without predictions."""
    keys = [(row["split"], condition) for condition in conditions]
    if any(key not in run for run in runs for key in keys):
        return None
    outputs = [run[key].outputs for key in keys for run in runs]
    try:
        values = drawn(
            row["metric"], runs[0][keys[0]].targets, outputs, draws=draws, seed=draw_seed(row["task"])
        )  # (conditions x runs, draws)
    except ValueError:  # a user-defined metric that cannot be drawn
        return None
    return dict(zip(conditions, values.reshape(len(conditions), len(runs), draws), strict=True))


def _over_first(values: np.ndarray) -> np.ndarray:
    """Values (..., rates) divided by the values at the first rate; NaN where these are not above 0."""
    first = values[..., :1]
    return np.divide(values, first, out=np.full(values.shape, np.nan), where=first > 0)


def _averages(curves: Sequence[RobustnessCurve], tasks: Sequence[str]) -> list[RobustnessCurve]:
    """The mean over the tasks by model and perturbation, where there are several tasks and the curve is on each."""
    n_tasks = len(tasks)
    averages = []
    for model, kind in dict.fromkeys((curve.model, curve.kind) for curve in curves):
        parts = [curve for curve in curves if (curve.model, curve.kind) == (model, kind)]
        matched = len({(part.rates, part.seeds, part.units) for part in parts}) == 1
        if n_tasks > 1 and len(parts) == n_tasks and matched:
            scores, retained = _mean([part.scores for part in parts]), _mean([part.retained for part in parts])
            n = sum(part.n_examples for part in parts)
            least, most = np.mean([part.bounds for part in parts], axis=0).tolist()
            averages.append(
                replace(
                    parts[0], task=AVERAGE, metric="", scores=scores, retained=retained, n_examples=n,
                    bounds=(least, most),
                )
            )  # fmt: skip
    return averages


def _mean(parts: Sequence[CurveValues]) -> CurveValues:
    """The mean over tasks of (seeds, rates) and of (seeds, draws, rates); without draws where one task has none."""
    draws = [by_draw for _, by_draw in parts if by_draw is not None]
    by_seed = np.sum([by_seed for by_seed, _ in parts], axis=0) / len(parts)
    return by_seed, np.sum(draws, axis=0) / len(draws) if len(draws) == len(parts) else None


def _notes(
    store: Store, experiment: StoredExperiment, rows: Sequence[Row], outputs: Mapping[int, AttemptOutputs]
) -> list[str]:
    """A note on runs whose outputs at rate 0 differ from the fine-tuning's, since weights were retrained elsewhere."""
    stored = {
        (row["task"], row["model"], row["seed"], row["split"]): predicted.outputs
        for row in store.query(queries.OUTPUTS_OF_FINETUNINGS, experiment=experiment.id)
        if (predicted := _ordered(store, row)) is not None
    }
    other = []
    for row in rows:
        key = (row["task"], row["model"], row["seed"], row["split"])
        at_zero = outputs[row["attempt_id"]].get((row["split"], ""))
        if row["condition"] == "" and at_zero and key in stored and not np.array_equal(stored[key], at_zero.outputs):
            other.append(f"{row['model']} on {row['task']} seed {row['seed']}")
    unread = [f"{run_id[:12]} ({why})" for run_id, why in store.unreadable.items()]
    lines = [f"No interval where stored outputs cannot be read: run {', '.join(unread)}."] if unread else []
    if not other:
        return lines
    return [
        *lines,
        "At rate 0 not bit for bit what the fine-tuning stored (its weights were made again, or read on another "
        f"machine): {', '.join(other)}",
    ]


def few_rows(kind: str, n: int) -> str:
    """A note on pairs of one kind with few rows.

    >>> few_rows("ocr", 12)
    'ocr: 12 rows, fewer than 100: its interval is wide, or there is none'
    """
    return f"{kind}: {n} row{'' if n == 1 else 's'}, fewer than {FEW_ROWS}: its interval is wide, or there is none"
