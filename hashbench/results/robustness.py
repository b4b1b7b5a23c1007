"""What a model keeps of its score under noise in the texts: curves over the rate, areas, and differences of models.

Kept is a model's score at a rate over its own score at rate 0. The area is that of the trapezoids under a curve divided
by the highest rate, so that it is in the curve's own unit: the mean over the rates from 0 to the highest. Seeds and
draws of examples are matched: every rate and every model of a task sees the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from hashbench.errors import InputError, near_match
from hashbench.results import queries
from hashbench.results.measured import AVERAGE
from hashbench.results.noisy_outputs import Arrays, finetuned_outputs, outputs_of
from hashbench.results.samples import draw_seed
from hashbench.statistics.draws import DRAWS, drawn
from hashbench.statistics.estimates import Estimate, combine
from hashbench.store.engine import Store
from hashbench.store.status import StoredExperiment, find_experiment


@dataclass(frozen=True)
class Curve:
    """A model's score on a task over the rates of one perturbation, in its natural range; of 'average', of the tasks'
    means. Arrays end in the rates, the first of which is 0."""

    model: str
    task: str
    metric: str
    kind: str
    rates: tuple[float, ...]
    seeds: tuple[int, ...]
    by_seed: np.ndarray  # (seeds, rates)
    by_draw: np.ndarray | None  # (draws, rates), the mean over seeds; None without predictions
    kept_by_seed: np.ndarray  # (seeds, rates), NaN where the score at rate 0 is not above 0
    kept_by_draw: np.ndarray | None  # (draws, rates)
    n_examples: int

    def score(self, at: int) -> Estimate:
        """The score at the rate of that number."""
        return self._estimate(lambda values: values[:, at], self.by_seed, self.by_draw)

    def kept(self, at: int) -> Estimate:
        """The share of the score at rate 0 that is kept."""
        return self._estimate(lambda values: values[:, at], self.kept_by_seed, self.kept_by_draw)

    def area(self) -> Estimate:
        """The area under the scores."""
        return self._estimate(self._areas, self.by_seed, self.by_draw)

    def kept_area(self) -> Estimate:
        """The area under what is kept."""
        return self._estimate(self._areas, self.kept_by_seed, self.kept_by_draw)

    def less(self, other: Curve, at: int | None = None) -> Estimate:
        """What this model keeps minus what the other keeps, at a rate (None: of the areas), seeds and draws matched."""
        both = [seed for seed in self.seeds if seed in other.seeds]
        ours, theirs = (c.kept_by_seed[[c.seeds.index(seed) for seed in both]] for c in (self, other))
        draws = None
        if self.kept_by_draw is not None and other.kept_by_draw is not None and self.seeds == other.seeds:
            draws = self.kept_by_draw - other.kept_by_draw
        if not both:
            return Estimate(float("nan"), float("nan"), float("nan"))
        pick = self._areas if at is None else (lambda values: values[:, at])
        return self._estimate(pick, ours - theirs, draws)

    def _areas(self, values: np.ndarray) -> np.ndarray:
        """(n, rates) -> (n,)"""
        areas: np.ndarray = np.trapezoid(values, np.array(self.rates), axis=1) / self.rates[-1]
        return areas

    def _estimate(
        self, pick: Callable[[np.ndarray], np.ndarray], seeds: np.ndarray, draws: np.ndarray | None
    ) -> Estimate:
        values = pick(seeds)
        return combine(
            float(values.mean()), values.tolist(), None if draws is None else pick(draws), n_examples=self.n_examples
        )


@dataclass(frozen=True)
class Robustness:
    """All curves of an experiment, the facts of its data sets and coders, and what must be said of them."""

    experiment: StoredExperiment
    curves: tuple[Curve, ...]
    facts: Mapping[tuple[str, str, str, str], float]  # (task, model, name, condition)
    notes: tuple[str, ...]
    labels: tuple[str, ...]  # every model of the experiment, measured or not: its place gives its colour in figures

    def models(self) -> list[str]:
        """In the order of the experiment."""
        return list(dict.fromkeys(curve.model for curve in self.curves))

    def tasks(self) -> list[str]:
        """Tasks with curves, the average last where there are several."""
        return list(dict.fromkeys(curve.task for curve in self.curves))

    def kinds(self) -> list[str]:
        """The perturbations."""
        return list(dict.fromkeys(curve.kind for curve in self.curves))

    def curve(self, model: str, task: str, kind: str) -> Curve | None:
        """The curve, or None where it was not measured."""
        wanted = (model, task, kind)
        return next((one for one in self.curves if (one.model, one.task, one.kind) == wanted), None)

    def fact(self, task: str, model: str, name: str, condition: str = "") -> float | None:
        """A fact, None where it was not measured or has no value."""
        return self.facts.get((task, model, name, condition))


def measure_robustness(store: Store, name: str | None = None, *, draws: int = DRAWS) -> Robustness:
    """What the experiment of that name (None: the last that was swept) measured of robustness.

    Raises InputError where it measured none.
    """
    experiment = find_experiment(store, name)
    rows = [dict(row) for row in store.query(queries.ROBUSTNESS_SCORES, experiment=experiment.id)]
    if not rows:
        raise InputError(
            f"{store.name}: experiment {experiment.name!r} has no finished robustness run; "
            "write robustness: true in its file and sweep it"
        )
    arrays = {row["attempt_id"]: outputs_of(store, row["attempt_id"]) for row in rows}
    curves = [
        curve
        for key in dict.fromkeys((row["task"], row["model"]) for row in rows)
        for curve in _curves([row for row in rows if (row["task"], row["model"]) == key], arrays, draws)
    ]
    counted = _averaged_tasks(curves)
    averages = _averages([curve for curve in curves if curve.task in counted])
    facts = {
        (row["task"], row["model"], row["name"], row["condition"]): row["value"]
        for row in store.query(queries.ROBUSTNESS_FACTS, experiment=experiment.id)
        if row["value"] is not None
    }
    labels = tuple(row["model"] for row in store.query(queries.LABELS, experiment=experiment.id))
    notes = _notes(store, experiment, rows, arrays)
    left_out = [task for task in dict.fromkeys(curve.task for curve in curves) if task not in counted]
    if averages and left_out:
        why = "where the score of a model is not above 0 with confidence, what it keeps is noise"
        notes.append(f"Average without {', '.join(left_out)}: {why}.")
    return Robustness(experiment, (*curves, *averages), facts, tuple(notes), labels)


def find_model(found: Robustness, name: str) -> str:
    """The model of that name. Raises InputError where it has no curve."""
    if name not in found.models():
        near = near_match(name, found.models()) or f"; there are: {', '.join(found.models())}"
        raise InputError(f"--versus: no model {name!r} with robustness in {found.experiment.name!r}{near}")
    return name


def _curves(rows: Sequence[dict[str, object]], arrays: Mapping[int, Arrays], draws: int) -> list[Curve]:
    """The curves of one model on one task. A score that is missing at one rate leaves the curve out."""
    scores = {(row["seed"], row["condition"]): row["value"] for row in rows}
    attempts = {row["seed"]: int(str(row["attempt_id"])) for row in rows}
    labels = list(dict.fromkeys(str(row["condition"]) for row in rows))
    kinds = list(dict.fromkeys(label.partition("=")[0] for label in labels if label))
    known = _draw_all(rows[0], labels, [arrays[attempt] for attempt in attempts.values()], draws)
    found = []
    for kind in kinds:
        at = sorted((float(label.partition("=")[2]), label) for label in labels if label.partition("=")[0] == kind)
        names = ["", *(label for _, label in at)]
        values = [[scores.get((seed, label)) for label in names] for seed in attempts]
        if any(value is None for line in values for value in line):
            continue
        by_seed = np.array(values, float)
        by_draw = None if known is None else np.stack([known[label] for label in names], axis=1)  # (draws, rates)
        found.append(
            Curve(
                str(rows[0]["model"]), str(rows[0]["task"]), str(rows[0]["metric"]), kind,
                (0.0, *(rate for rate, _ in at)), tuple(int(str(seed)) for seed in attempts),
                by_seed, by_draw, _kept(by_seed), None if by_draw is None else _kept(by_draw),
                _n_examples(rows[0], arrays[next(iter(attempts.values()))]),
            )
        )  # fmt: skip
    return found


def _draw_all(
    row: Mapping[str, object], labels: Sequence[str], runs: Sequence[Arrays], draws: int
) -> dict[str, np.ndarray] | None:
    """The metric in each draw, averaged over the seeds' runs, by label: (draws,); None without predictions."""
    keys = [(str(row["split"]), label) for label in labels]
    if any(key not in run for run in runs for key in keys):
        return None
    targets = runs[0][keys[0]][1]
    outputs = [run[key][0] for key in keys for run in runs]
    try:
        values = drawn(str(row["metric"]), targets, outputs, draws=draws, seed=draw_seed(str(row["task"])))
    except ValueError:  # a metric of a user's own that cannot be drawn
        return None
    return dict(zip(labels, values.reshape(len(labels), len(runs), draws).mean(axis=1), strict=True))


def _n_examples(row: Mapping[str, object], run: Arrays) -> int:
    key = (str(row["split"]), "")
    return len(run[key][1]) if key in run else 0


def _kept(values: np.ndarray) -> np.ndarray:
    """(n, rates) over its first column; NaN where that is not above 0."""
    first = values[:, :1]
    return np.divide(values, first, out=np.full(values.shape, np.nan), where=first > 0)


def _averaged_tasks(curves: Sequence[Curve]) -> set[str]:
    """Tasks on which the score at rate 0 of every model, and the low end of its interval, is above 0."""
    firsts = {(curve.task, curve.model): curve.score(0) for curve in curves}
    weak = {task for (task, _), score in firsts.items() if score.value <= 0 or score.low <= 0}
    return {curve.task for curve in curves} - weak


def _averages(curves: Sequence[Curve]) -> list[Curve]:
    """The mean over the tasks of each model and perturbation, where several were measured for every model alike."""
    tasks = list(dict.fromkeys(curve.task for curve in curves))
    if len(tasks) < 2:
        return []
    found = []
    for model, kind in dict.fromkeys((curve.model, curve.kind) for curve in curves):
        parts = [curve for curve in curves if (curve.model, curve.kind) == (model, kind)]
        alike = len({(part.rates, part.seeds) for part in parts}) == 1
        if len(parts) == len(tasks) and alike:
            found.append(_average(parts))
    return found


def _average(parts: Sequence[Curve]) -> Curve:
    def mean(arrays: Sequence[np.ndarray | None]) -> np.ndarray | None:
        known = [array for array in arrays if array is not None]
        return reduce(np.add, known) / len(known) if len(known) == len(arrays) else None

    by_seed, kept = mean([part.by_seed for part in parts]), mean([part.kept_by_seed for part in parts])
    assert by_seed is not None and kept is not None  # every curve has both
    first = parts[0]
    return Curve(
        first.model, AVERAGE, "", first.kind, first.rates, first.seeds, by_seed,
        mean([part.by_draw for part in parts]), kept, mean([part.kept_by_draw for part in parts]),
        sum(part.n_examples for part in parts),
    )  # fmt: skip


def _notes(
    store: Store, experiment: StoredExperiment, rows: Sequence[dict[str, object]], arrays: Mapping[int, Arrays]
) -> list[str]:
    """Where the outputs at rate 0 are not those that the fine-tuning stored: weights made again on another machine."""
    stored = finetuned_outputs(store, experiment.id)
    other = []
    for row in rows:
        key = (row["task"], row["model"], row["seed"], row["split"])
        ours = arrays[int(str(row["attempt_id"]))].get((str(row["split"]), ""))
        if row["condition"] == "" and ours and key in stored and not np.array_equal(stored[key], ours[0]):
            other.append(f"{row['model']} on {row['task']} seed {row['seed']}")
    if not other:
        return []
    return [
        "At rate 0 not bit for bit what the fine-tuning stored (its weights were made again elsewhere): "
        + ", ".join(other)
    ]
