"""`hashbench evaluate`: finished fine-tunings and exported models on a further labelled set, stored as runs.

A run is added to every experiment that has the fine-tuning, so that reports and comparisons read it like any other. A
model whose fine-tuning the database does not have stands in an experiment of its own, `subjects.COLLECTED`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hashbench.common.errors import InputError
from hashbench.common.showing import tell
from hashbench.data.sources.fingerprints import usable_cache_folder
from hashbench.data.tasks.catalogue import known_tasks
from hashbench.results.read import queries
from hashbench.running.experiment.schema import Experiment
from hashbench.running.runs.artifacts import ArtifactFolder
from hashbench.running.runs.base import Run
from hashbench.running.runs.environment import environment
from hashbench.running.runs.evaluation import KIND as EVALUATION
from hashbench.running.runs.evaluation import ExportedModel
from hashbench.running.runs.finetuning import KIND as FINETUNING
from hashbench.running.runs.further import FurtherSet
from hashbench.running.runs.further_baseline import KIND as BASELINE
from hashbench.running.sweep.attempt import Attempts, claimed
from hashbench.running.sweep.executors.base import OwnControl
from hashbench.running.sweep.heartbeat import LEASE_S
from hashbench.running.sweep.housekeeping import release_dead, retry_of
from hashbench.running.sweep.processes import own_name
from hashbench.running.sweep.result_spool import ResultSpool
from hashbench.running.sweep.stored_plan import row_of
from hashbench.running.sweep.subjects import FurtherRequest, Subject, subject_of_folder, subject_of_run
from hashbench.running.training.machine import Machine
from hashbench.running.training.recipe import quieten
from hashbench.store.attaching import attach_run, data_under, finished_on, names_of_experiments
from hashbench.store.engine import Store
from hashbench.store.queue import ClaimedRun, LeaseLost, claim
from hashbench.store.result import Result
from hashbench.store.retry import Retry
from hashbench.store.status import artifacts, done_ids, find_experiment, find_run, running

POLL_S = 1.0  # between two looks at a worker that may be dead


@dataclass(frozen=True)
class EvaluatedRun:
    """An evaluation that is stored."""

    run_id: str
    model: str
    trained_on: str  # name of the task
    seed: int | None
    task: str  # name of the set
    scores: dict[str, float | None]  # by metric, in the natural range; the reported one first
    experiments: tuple[str, ...]
    is_new: bool  # whether it was computed now

    def __str__(self) -> str:
        """One line; scores in percent."""
        scores = ", ".join(
            f"{metric} {'undefined' if value is None else format(100 * value, '.1f')}"
            for metric, value in self.scores.items()
        )
        seed = "" if self.seed is None else f", seed {self.seed}"
        state = "" if self.is_new else " (stored before)"
        return f"{self.model} ({self.trained_on}{seed}) on {self.task}: {scores}; run {self.run_id[:12]}{state}"


def trainings_of(store: Store, experiment: str, task: str) -> list[str]:
    """Ids of the finished fine-tunings of an experiment on a task, in its order. Raises InputError where none is."""
    ids = finished_on(store, find_experiment(store, experiment).id, task, FINETUNING.name)
    if not ids:
        raise InputError(f"{store.name}: {experiment} has no finished fine-tuning on {task!r}; see hashbench status")
    return ids


def evaluate(
    store: Store, model: str | ExportedModel, request: FurtherRequest, data: Sequence[str] | None
) -> EvaluatedRun:
    """The evaluation of an exported model, or of a run by the first digits of its id."""
    if isinstance(model, str):
        return evaluate_run(store, model, request, data)
    return evaluate_exported(store, model, request, data)


def evaluate_run(store: Store, prefix: str, request: FurtherRequest, data: Sequence[str] | None) -> EvaluatedRun:
    """Evaluates a finished fine-tuning of the database, named by the first digits of its id, or finds that it was
    evaluated before.

    Raises InputError for a run that is none, weights that are gone, and whatever is wrong with the set.
    """
    retry = _first_retry(store)
    subject = retry(subject_of_run, store, retry(find_run, store, prefix), data, None)
    return _evaluate(store, subject, request)


def evaluate_exported(
    store: Store, exported: ExportedModel, request: FurtherRequest, data: Sequence[str] | None
) -> EvaluatedRun:
    """The same of an exported model. It counts as its fine-tuning where the database has that with equal weights."""
    retry = _first_retry(store)
    if retry(done_ids, store, [exported.run]):
        stored = {file.kind: file.sha256 for file in retry(artifacts, store, exported.run)}
        if stored == exported.parts:
            subject = retry(subject_of_run, store, exported.run, data, exported)
            return _evaluate(store, subject, request)
    return _evaluate(store, retry(subject_of_folder, store, exported, request), request)


def _first_retry(store: Store) -> Retry:
    """With a database that is away, until an experiment says how long to wait for it."""
    return Retry(store.name, 60.0 * Experiment.model_fields["database_minutes"].default, tell=tell)


def _evaluate(store: Store, subject: Subject, request: FurtherRequest) -> EvaluatedRun:
    """Finds the stored run, or makes it: all that can be wrong with the input is found before anything is stored."""
    retry = retry_of(store, subject.experiment)
    further = request.found(subject.trained_on)
    run = subject.run_on(further)
    retry(_check_name, store, subject, run)
    retry(ResultSpool(ArtifactFolder(usable_cache_folder())).hand_in, store)
    is_new = not retry(done_ids, store, [run.id])
    further = subject.prepared(further) if is_new else further
    rows = further.load() if is_new else None
    # of one that is done too: the fine-tuning may have joined another experiment
    retry(attach_run, store, row_of(run), subject.places)
    if rows is not None:
        _attempt(store, retry, run, subject, lambda machine: subject.result(run, further, rows, machine))
        _add_baselines(store, retry, subject, further)
    scores, names = retry(_stored_scores, store, run, further), retry(names_of_experiments, store, run.id)
    return EvaluatedRun(
        run.id, run.model, subject.trained_on.name, run.seed, further.task.name, scores, tuple(names), is_new
    )


def _stored_scores(store: Store, run: Run, further: FurtherSet) -> dict[str, float | None]:
    """The scores of a run by metric, the reported one first."""
    stored = {row["metric"]: row["value"] for row in store.query(queries.BEST_SCORES_OF_RUN, id=run.id)}
    metrics = [metric for metric in further.task.metrics if metric in stored]
    return {metric: stored[metric] for metric in sorted(metrics, key=lambda name: name != further.task.select_metric)}


def _add_baselines(store: Store, retry: Retry, subject: Subject, further: FurtherSet) -> None:
    """The trivial baselines of the set, so that tables can say which model is not above them."""
    for run, work in subject.baselines(further):
        places = [(experiment_id, run.model) for experiment_id, _ in subject.places]
        retry(attach_run, store, row_of(run), places)
        if not retry(done_ids, store, [run.id]):
            _attempt(store, retry, run, subject, work)


def _check_name(store: Store, subject: Subject, run: Run) -> None:
    """Raises InputError where the name of the set stands for something else in a table beside it."""
    name, remedy = str(run.task), "give the set another one: --name NAME"
    if name in known_tasks():
        raise InputError(f"{name!r} is a task of the suite; {remedy}")
    for experiment_id, _ in subject.places:
        for kind, fingerprint in data_under(store, experiment_id, name):
            if kind not in (EVALUATION.name, BASELINE.name):
                raise InputError(f"{name!r} is a task of the experiment; {remedy}")
            if fingerprint != run.data_fingerprint:
                raise InputError(f"{name!r} was another set, or had other columns, before; {remedy}")


def _attempt(store: Store, retry: Retry, run: Run, subject: Subject, work: Callable[[Machine], Result]) -> None:
    """One attempt at a run, from its claim to the stored result. Raises what ended it otherwise."""
    held = _claimed(store, retry, run, subject.places[0][0])
    if held is None:
        raise InputError(f"run {run.id[:12]}: another process is at it; wait for it, or try again in a minute")
    quieten()
    artifacts = ArtifactFolder(usable_cache_folder())
    machine = Machine(folder=artifacts.running(run.id))
    ending = Attempts(store, retry, OwnControl(), artifacts).carry_out(
        held, lambda stop: work(replace(machine, should_stop=stop))
    )
    if isinstance(ending.error, LeaseLost):
        raise InputError(f"run {run.id[:12]}: another process took it over; ask again") from ending.error
    if ending.error is not None:
        raise ending.error


def _claimed(store: Store, retry: Retry, run: Run, experiment_id: int) -> ClaimedRun | None:
    """The run, if it is free or its worker is dead; one that was silent too long is watched for a lease before that."""
    retry(release_dead, store, experiment_id)
    until = time.monotonic() + LEASE_S + POLL_S
    options: Any = {"worker": own_name(), "lease_s": LEASE_S, "max_attempts": 1, "environment": environment()}
    options |= {"kinds": (run.kind,), "only": run.id}
    while True:
        held = claimed(retry, store, lambda token: claim(store, experiment_id, token=token, **options))
        others = () if held is not None else retry(running, store, experiment_id)
        silent = any(other.run_id == run.id and other.lease_left_s < 0 for other in others)
        if held is not None or not silent or time.monotonic() > until:
            return held
        time.sleep(POLL_S)
