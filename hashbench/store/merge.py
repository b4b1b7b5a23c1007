"""Bringing the runs of another database into this one, any number of times.

An attempt is known by its token, so a second merge of the same file finds everything there. Of two finished copies of
a run the one that ended earlier counts; both stay, and where they disagree the difference is reported. What is running
over there stays there: its lease is the business of that database.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

from hashbench.errors import InputError
from hashbench.store.engine import Store, insert_rows, open_store
from hashbench.store.schema import (
    artifact,
    attempt,
    dependency,
    environment,
    experiment,
    experiment_run,
    metric,
    predictions,
    run,
)

RESULTS = (metric, predictions, artifact)  # what hangs on an attempt
SAME = 1e-12  # relative; beyond it two copies of a score are different


@dataclass(frozen=True)
class Difference:
    """A number on which two finished copies of a run disagree; None is missing."""

    run_id: str
    split: str
    name: str
    step: int
    counted: float | None
    other: float | None


@dataclass(frozen=True)
class MergeReport:
    """How many experiments, runs and attempts were new, how many runs became finished, and where copies disagree."""

    experiments: int
    runs: int
    finished: int
    attempts: int
    differences: tuple[Difference, ...]


def merge(store: Store, where: str | Path) -> MergeReport:
    """Bring in what the database at `where` has and this one has not.

    Every run is one transaction: workers of this database go on meanwhile, and a merge that was interrupted is
    completed by calling it again.
    """
    other = open_store(where, create=False, read_only=True)
    if _is_same(store, other):
        raise InputError(f"{other.name}: the same database; name another one to merge into {store.name}")
    try:
        with other.read() as source:
            outcomes = [_merge_run(store, source, row) for row in source.execute(sa.select(run)).mappings().all()]
            experiments = _merge_experiments(store, source)
    finally:
        other.close()
    return MergeReport(
        experiments=experiments,
        runs=sum(outcome.new for outcome in outcomes),
        finished=sum(outcome.finished for outcome in outcomes),
        attempts=sum(outcome.attempts for outcome in outcomes),
        differences=tuple(difference for outcome in outcomes for difference in outcome.differences),
    )


def copy_attempt(
    source: Connection,
    target: Connection,
    row: RowMapping,
    *,
    environment_id: str | None,
    change: Callable[[dict[str, Any]], dict[str, Any]] = dict,
    tables: Sequence[sa.Table] = RESULTS,
) -> int:
    """Copy an attempt and its results; the id it has in the target. `change` edits each row on its way."""
    values = {**row, "environment_id": environment_id}
    del values["id"]
    new_id = target.execute(sa.insert(attempt).values(change(values)).returning(attempt.c.id)).scalar_one()
    for table in tables:
        rows = source.execute(sa.select(table).where(table.c.attempt_id == row["id"])).mappings()
        insert_rows(target, sa.insert(table), ({**change(dict(copied)), "attempt_id": new_id} for copied in rows))
    return new_id


@dataclass(frozen=True)
class _Outcome:
    new: bool
    finished: bool
    attempts: int
    differences: tuple[Difference, ...]


def _is_same(store: Store, other: Store) -> bool:
    if store.dialect == other.dialect == "sqlite":
        return Path(store.url.database or "").samefile(other.url.database or "")
    return store.url == other.url


def _merge_run(store: Store, source: Connection, theirs: RowMapping) -> _Outcome:
    with store.write() as target:
        ours = target.execute(sa.select(run).where(run.c.id == theirs["id"])).mappings().first()
        if ours is None:
            waiting = {"state": "planned", "finished_attempt": None, "finished_at": None}
            target.execute(sa.insert(run).values({**theirs, **waiting}))
        brought = _bring_attempts(store, source, target, theirs["id"])
        counted = _settle(store, target, theirs, new=ours is None)
        differences = [_differences(target, theirs, counted, other) for other in _rivals(target, theirs["id"], counted)]
    return _Outcome(
        new=ours is None,
        finished=counted is not None and (ours is None or ours["state"] != "done"),
        attempts=len(brought),
        differences=tuple(item for found in differences for item in found) if brought else (),
    )


def _bring_attempts(store: Store, source: Connection, target: Connection, run_id: str) -> list[int]:
    """Copy the ended attempts that the target lacks, and take over that an attempt was made void."""
    of_run = sa.select(attempt.c.token, attempt.c.state).where(attempt.c.run_id == run_id)
    known = {token: state for token, state in target.execute(of_run)}
    rows = sa.select(attempt).where(attempt.c.run_id == run_id, attempt.c.state != "running").order_by(attempt.c.id)
    brought = []
    for row in source.execute(rows).mappings().all():
        if row["token"] not in known:
            place = _bring_environment(store, source, target, row["environment_id"])
            brought.append(copy_attempt(source, target, row, environment_id=place))
        elif row["state"] == "void" and known[row["token"]] == "done":
            voided = sa.update(attempt).where(attempt.c.token == row["token"])
            target.execute(voided.values(state="void", reason=row["reason"]))
    return brought


def _bring_environment(store: Store, source: Connection, target: Connection, key: str | None) -> str | None:
    if key is not None:
        row = source.execute(sa.select(environment).where(environment.c.id == key)).mappings().one()
        target.execute(store.insert_new(environment), dict(row))
    return key


def _settle(store: Store, target: Connection, theirs: RowMapping, *, new: bool) -> int | None:
    """Give the run the state that its attempts justify; the attempt that counts."""
    this = run.c.id == theirs["id"]
    done = sa.select(attempt.c.id, attempt.c.ended_at).where(attempt.c.run_id == theirs["id"])
    # The token breaks a tie, so that both sides of a mutual merge choose the same copy.
    done = done.where(attempt.c.state == "done").order_by(attempt.c.ended_at, attempt.c.token).limit(1)
    first = target.execute(done).first()
    if first is not None:
        late = sa.update(attempt).where(attempt.c.run_id == theirs["id"], attempt.c.state == "running")
        reason = "a merge brought a finished copy"
        target.execute(late.values(state="lost", ended_at=store.now, reason=reason))
        values = {"state": "done", "finished_attempt": first.id, "finished_at": first.ended_at, "void_reason": None}
        target.execute(sa.update(run).where(this).values(values))
        return first.id
    # Without a result: what was finished here has just been made void there, or the run is new here.
    voided = {"state": "void", "void_reason": theirs["void_reason"]}
    target.execute(sa.update(run).where(this, run.c.state == "done").values(voided))
    if new and theirs["state"] in ("failed", "void"):
        target.execute(sa.update(run).where(this).values(state=theirs["state"]))
    return None


def _rivals(target: Connection, run_id: str, counted: int | None) -> list[int]:
    others = sa.select(attempt.c.id).where(attempt.c.run_id == run_id, attempt.c.state == "done")
    return list(target.execute(others.where(attempt.c.id != counted)).scalars()) if counted is not None else []


def _differences(target: Connection, theirs: RowMapping, counted: int | None, other: int) -> list[Difference]:
    """Scores on which two attempts disagree; times differ by nature, and curves follow from the same cause."""
    if counted is None:
        return []
    ours, copy = _numbers(target, counted), _numbers(target, other)
    return [
        Difference(theirs["id"], split, name, step, ours.get(key), copy.get(key))
        for key in sorted(ours | copy)
        for split, name, step, _condition in [key]
        if not _is_equal(ours.get(key), copy.get(key))
    ]


def _numbers(target: Connection, attempt_id: int) -> dict[tuple[str, str, int, str], float | None]:
    columns = (metric.c.split, metric.c.name, metric.c.step, metric.c.condition, metric.c.value)
    rows = target.execute(sa.select(*columns).where(metric.c.attempt_id == attempt_id, metric.c.split != "train"))
    timed = ("_ms", "_bytes", "seconds", "_per_second")
    return {(split, name, step, p): value for split, name, step, p, value in rows if not name.endswith(timed)}


def _is_equal(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    return abs(first - second) <= SAME * max(abs(first), abs(second))


def _merge_experiments(store: Store, source: Connection) -> int:
    """Copy experiments that are new, with their runs and the needs of all runs; how many were new."""
    new = 0
    with store.write() as target:
        insert_rows(target, store.insert_new(dependency), source.execute(sa.select(dependency)).mappings())
        for theirs in source.execute(sa.select(experiment).order_by(experiment.c.id)).mappings().all():
            this = sa.and_(experiment.c.name == theirs["name"], experiment.c.fingerprint == theirs["fingerprint"])
            known = target.execute(sa.select(experiment.c.id).where(this)).scalar()
            if known is not None:
                continue
            new += 1
            values = {name: value for name, value in theirs.items() if name != "id"}
            here = target.execute(sa.insert(experiment).values(values).returning(experiment.c.id)).scalar_one()
            rows = sa.select(experiment_run).where(experiment_run.c.experiment_id == theirs["id"])
            members = ({**row, "experiment_id": here} for row in source.execute(rows).mappings())
            insert_rows(target, sa.insert(experiment_run), members)
    return new
