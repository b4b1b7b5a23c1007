"""The best trained model of a task, among those whose weights were kept: what a sweep names and `export` writes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hashbench.common.errors import InputError, near_match
from hashbench.common.showing import few, percent_text
from hashbench.results.read.queries import TRAINED_RUNS
from hashbench.results.read.runs import BASELINE, EVALUATION, FURTHER_BASELINE, IMPORTED, PAIRS
from hashbench.store.engine import Store
from hashbench.store.status import find_experiment

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
    split: str  # on which it is chosen: validation or held-out rows where the task has them
    value: float  # of the score there, in its natural range
    kept: bool  # whether the database lists its weights and head as kept

    @property
    def title(self) -> str:
        """Its model and seed in words."""
        return self.model if self.seed is None else f"{self.model} seed {self.seed}"


@dataclass(frozen=True)
class Choice:
    """The best of some runs, those with an equal score, and a better one whose weights were not kept."""

    run: CandidateRun
    equal: tuple[CandidateRun, ...] = ()
    better: CandidateRun | None = None

    def remarks(self) -> list[str]:
        """Remarks on the choice, in words: ties, and a better model without weights."""
        score, lines = percent_text(self.run.value), []
        if self.equal:
            titles = few([run.title for run in self.equal])
            lines.append(f"equal on {self.run.split} of {self.run.task} ({score}): {titles}")
        if self.better is not None:
            value = f"{percent_text(self.better.value)}, not {score}"
            lines.append(f"{self.better.title} is better on {self.run.task} ({value}), but its weights were not kept")
        return lines


def best_kept(store: Store, experiment: str) -> list[Choice]:
    """For each task of an experiment the best training whose weights were kept, in the order of the plan."""
    trainings = [run for run in _trained(store, experiment) if run.kind != BASELINE]
    tasks = dict.fromkeys(run.task for run in trainings if run.kept)
    return [_best([run for run in trainings if run.task == task]) for task in tasks]


def chosen_run(store: Store, experiment: str | None, task: str | None, model: str | None, seed: int | None) -> Choice:
    """The best finished training of an experiment (None: the last one swept) on a task; of one model or seed if given.

    The task may be left out where the experiment has one. Trivial baselines are chosen by their names alone. Raises
    InputError where there is none, or where some were measured on other versions of the data.
    """
    named = find_experiment(store, experiment).name
    every = [run for run in _trained(store, named) if run.kind != BASELINE or run.model == model]
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
    return _best(runs)


def _of(runs: Sequence[CandidateRun], key: str, wanted: str | int | None, why: str) -> list[CandidateRun]:
    """The runs with this value of a key, all for None. Raises InputError where there is none."""
    chosen = [run for run in runs if wanted is None or getattr(run, key) == wanted]
    if not chosen:
        there = list(dict.fromkeys(str(getattr(run, key)) for run in runs))
        raise InputError(f"--{key} {wanted}: {why}{near_match(str(wanted), there)} (there is: {', '.join(there)})")
    return chosen


def _best(runs: Sequence[CandidateRun]) -> Choice:
    """The first run with the best score among those that can be exported, or among all where none can."""
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
    runs = [CandidateRun(**{**row, "kept": bool(row["kept"])}) for row in rows if row["kind"] not in NO_TRAINING]
    return list({(run.task, run.model, run.run_id): run for run in runs}.values())
