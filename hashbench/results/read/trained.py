"""The best trained model of a task, among those whose weights were kept: what a sweep names and `export` writes."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from hashbench.common.errors import InputError, near_match
from hashbench.common.showing import few, percent_text
from hashbench.results.read.queries import TRAINED_RUNS
from hashbench.results.read.runs import BASELINE, EVALUATION, FURTHER_BASELINE, IMPORTED, PAIRS
from hashbench.scores.base import metric_of
from hashbench.store.engine import Store
from hashbench.store.status import find_experiment, predictions

HOLDOUT = "holdout"
CHOOSING = ("validation", HOLDOUT)  # splits on which a model may be chosen
NO_TRAINING = (EVALUATION, PAIRS, FURTHER_BASELINE, IMPORTED)  # of a model that another run trained


@dataclass(frozen=True)
class CandidateRun:
    """A finished training, or a trivial baseline, with its score on the rows that choose a model."""

    task: str
    model: str
    seed: int | None
    run_id: str
    kind: str  # as the sweep stored it
    data_fingerprint: str
    metric: str
    split: str  # on which it is chosen: validation or held-out rows where the task has them
    value: float  # of the score there, in its natural range
    kept: bool  # whether the database lists its weights and head as kept
    on_fewer_rows: bool  # of train: rows that it held out are its seed's own, and compare with no other run's

    @property
    def title(self) -> str:
        """Its model and seed in words."""
        return self.model if self.seed is None else f"{self.model} seed {self.seed}"

    @property
    def is_baseline(self) -> bool:
        """True for a trivial baseline."""
        return self.kind == BASELINE


@dataclass(frozen=True)
class Choice:
    """The best of some runs, those with an equal score, and a better one whose weights were not kept."""

    run: CandidateRun
    equal: tuple[CandidateRun, ...] = ()
    better: CandidateRun | None = None
    model: CandidateRun | None = None  # the best training, where the best of all is a trivial baseline

    def remarks(self) -> list[str]:
        """Remarks on the choice, in words: ties, a better model without weights, the best behind a trivial baseline."""
        score, lines = percent_text(self.run.value), []
        if self.equal:
            titles = few([run.title for run in self.equal])
            lines.append(f"equal on {self.run.split} of {self.run.task} ({score}): {titles}")
        if self.better is not None:
            value = f"{percent_text(self.better.value)}, not {score}"
            lines.append(f"{self.better.title} is better on {self.run.task} ({value}), but its weights were not kept")
        if self.model is not None:
            lines.append(f"the best model is {self.model.title} ({percent_text(self.model.value)}, not {score})")
        return lines


def best_kept(store: Store, experiment: str, baselines: Collection[str] = ()) -> list[Choice]:
    """For each task of an experiment the best that can be exported, in the order of the plan.

    That is a training on all rows of train whose weights were kept, or one of the trivial `baselines` if it is better
    on the rows that choose a model. What predicts one constant is no candidate; a task without another has no choice.
    """
    trained = [run for run in _trained(store, experiment) if not run.on_fewer_rows]
    every = [run for run in trained if not run.is_baseline or run.model in baselines]
    every.sort(key=lambda run: run.is_baseline)  # of equal ones a model comes first
    choices = []
    for task in dict.fromkeys(run.task for run in every if run.kept or run.is_baseline):
        runs = [run for run in every if run.task == task]
        # A trivial baseline may have no score on held-out rows, since it has learned them
        splits = {run.split for run in runs if not run.is_baseline} or set(CHOOSING)
        runs = _without_constants(store, [run for run in runs if run.split in splits])
        if not any(run.kept or run.is_baseline for run in runs):
            continue
        choice = _best(runs)
        trainings = [run for run in runs if run.kept and not run.is_baseline]
        if choice.run.is_baseline and trainings:
            choice = replace(choice, model=max(trainings, key=lambda run: run.value))
        choices.append(choice)
    return choices


def _without_constants(store: Store, runs: Sequence[CandidateRun]) -> list[CandidateRun]:
    """The runs without those that predict one constant and are not below the best that can be exported."""
    constant = set()
    for run in sorted(runs, key=lambda run: -run.value):
        metric, stored = metric_of(run.metric), predictions(store, run.run_id, run.split, "best")
        if metric is not None and stored is not None and metric.is_constant(stored.outputs):
            constant.add(run.run_id)
        elif run.kept:
            break
    return [run for run in runs if run.run_id not in constant]


def chosen_run(store: Store, experiment: str | None, task: str | None, model: str | None, seed: int | None) -> Choice:
    """The best finished training of an experiment (None: the last one swept) on a task; of one model or seed if given.

    The task may be left out where the experiment has one. Trivial baselines are chosen by their names alone. Raises
    InputError where there is none, or where some were measured on other versions of the data.
    """
    named = find_experiment(store, experiment).name
    every = [run for run in _trained(store, named) if run.kind != BASELINE or run.model == model]
    every = [run for run in every if not run.on_fewer_rows or run.model == model]
    if not every:
        raise InputError(f"{store.name}: {named} has no finished training with a score; go on with its sweep")
    tasks = list(dict.fromkeys(run.task for run in every))
    if task is None and len(tasks) > 1:
        raise InputError(f"{named} has {len(tasks)} tasks; name one with --task: {', '.join(tasks)}")
    runs = _of(every, "task", task or tasks[0], f"{named} has no finished training on it")
    runs = _of(runs, "model", model, f"no finished training of it on {runs[0].task} in {named}")
    runs = _of(runs, "seed", seed, f"no finished training with it on {runs[0].task} in {named}")
    if len({run.data_fingerprint for run in runs}) > 1:
        raise InputError(f"{named}: the data of {runs[0].task} changed between its runs; name one run with --run")
    if len(runs) > 1 and any(run.on_fewer_rows and run.split == HOLDOUT for run in runs):
        raise InputError(f"{named}: seeds of {model} are measured on held-out rows of their own; name one with --seed")
    return _best(runs)


def _of(runs: Sequence[CandidateRun], key: str, wanted: str | int | None, why: str) -> list[CandidateRun]:
    """The runs with this value of a key, all for None. Raises InputError where there is none."""
    chosen = [run for run in runs if wanted is None or getattr(run, key) == wanted]
    if not chosen:
        there = list(dict.fromkeys(str(getattr(run, key)) for run in runs))
        raise InputError(f"--{key} {wanted}: {why}{near_match(str(wanted), there)} (there is: {', '.join(there)})")
    return chosen


def _best(runs: Sequence[CandidateRun]) -> Choice:
    """The first run with the best score among exportable runs, or among all where none is exportable."""
    usable = [run for run in runs if run.kept or run.kind == BASELINE] or list(runs)
    best = max(usable, key=lambda run: run.value)  # of equal ones the first
    equal = tuple(run for run in usable if run.run_id != best.run_id and _equal(run, best))
    top = max(runs, key=lambda run: run.value)
    return Choice(best, equal, top if top.value > best.value and not _equal(top, best) else None)


def _equal(a: CandidateRun, b: CandidateRun) -> bool:
    return math.isclose(a.value, b.value, rel_tol=0.0, abs_tol=1e-12)  # sums of the same answers in another order


def _trained(store: Store, experiment: str) -> list[CandidateRun]:
    """The finished trainings and trivial baselines of an experiment, in the order of the plan, each once."""
    rows = store.query(TRAINED_RUNS, experiment=find_experiment(store, experiment).id)
    runs = [
        CandidateRun(**{**row, "kept": bool(row["kept"]), "on_fewer_rows": bool(row["on_fewer_rows"])})
        for row in rows
        if row["kind"] not in NO_TRAINING
    ]
    return list({(run.task, run.model, run.run_id): run for run in runs}.values())
