"""Storing the result of a run, adding metrics to it later, and making it void."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from hashbench.common.errors import InputError
from hashbench.common.secrecy import without_passwords
from hashbench.store import sums
from hashbench.store.engine import Store
from hashbench.store.environment import as_json
from hashbench.store.free_runs import refresh
from hashbench.store.packing import pack
from hashbench.store.queue import ClaimedRun, LeaseLost
from hashbench.store.reruns import finish_rerun
from hashbench.store.result import MetricRow, Predictions, Result
from hashbench.store.schema import artifact, attempt, dependency, metric, predictions, run
from hashbench.store.statements import insert_rows

# States that a run can have beside a current attempt that may still end with a result
RUN_BESIDE = {"running": ("running",), "lost": ("planned", "failed")}

NOTED_SLEEP_S = 1.0  # chosen here; the two clocks differ by less while a machine is awake


def finish(store: Store, held: ClaimedRun, result: Result) -> None:
    """Stores the result and ends the attempt and its run, all or nothing.

    It is accepted while the attempt is the run's current one, however late its lease: still in flight, or given up as
    lost and nobody has begun another since. A result that is stored already, since the answer of the database got lost,
    is not stored again. Raises LeaseLost, and writes nothing, where another attempt has taken over.
    """
    held = held.stopped()
    result = replace(result, notes=notes_of(held, result))
    if held.again:
        return finish_rerun(store, held, result)
    # compressed before the write lock is taken
    packed = [_packed(item) for item in result.predictions]
    metrics = [vars(item) | dict(zip(("value", "reason"), item.stored(), strict=True)) for item in result.metrics]
    files = [vars(item) for item in result.artifacts]
    with store.write() as connection:
        state = _state_of(connection, held)
        if state == "done":
            return
        if state not in RUN_BESIDE:
            raise LeaseLost(f"run {held.run_id[:12]}: attempt {held.attempt_id} is no longer the current one")
        seconds = held.lasted(None) if result.seconds is None else result.seconds
        ended = held.ended_at(result.seconds)
        values = {
            "state": "done",
            "ended_at": ended,
            "seconds": seconds + result.seconds_before,
            "log": result.log,
            "notes": as_json(result.notes),
            "reason": None,
        }
        connection.execute(sa.update(attempt).where(attempt.c.id == held.attempt_id).values(values))
        for table, rows in ((metric, metrics), (predictions, packed), (artifact, files)):
            insert_rows(connection, sa.insert(table), ({**row, "attempt_id": held.attempt_id} for row in rows))
        done = sa.update(run).where(run.c.id == held.run_id, run.c.state.in_(RUN_BESIDE[state]))
        end = sa.select(attempt.c.ended_at).where(attempt.c.id == held.attempt_id).scalar_subquery()
        done = done.values(state="done", finished_attempt=held.attempt_id, finished_at=end)
        # another claimed the run at this moment, or a merge took another result for it
        if connection.execute(done).rowcount != 1:
            raise LeaseLost(f"run {held.run_id[:12]}: no longer to be done")
        sums.write(connection, "attempt", [held.attempt_id])
        sums.write(connection, "run", [held.run_id])
        refresh(connection, [held.run_id], dependants=True)


def notes_of(held: ClaimedRun, result: Result) -> dict[str, str]:
    """The notes of a result, without passwords, and one on the sleep of the machine since the claim."""
    slept = 0.0 if held.watch is None else held.watch.slept
    notes = {topic: without_passwords(text) for topic, text in result.notes.items()}
    return {**notes, **({"slept": f"{slept:.0f} s, not counted"} if slept >= NOTED_SLEEP_S else {})}


def add_metrics(store: Store, run_id: str, rows: Sequence[MetricRow]) -> None:
    """Adds metrics to a finished run, in place of earlier ones of the same names, splits and conditions.

    Raises InputError where the run is not finished.
    """
    with store.write() as connection:
        finished = sa.select(run.c.finished_attempt).where(run.c.id == run_id, run.c.state == "done")
        attempt_id = connection.execute(finished).scalar()
        if attempt_id is None:
            raise InputError(f"run {run_id[:12]}: is not finished, so nothing can be added to it")
        for row in rows:
            key = metric.c.split == row.split, metric.c.name == row.name, metric.c.condition == row.condition
            connection.execute(sa.delete(metric).where(metric.c.attempt_id == attempt_id, *key))
        values = [vars(row) | dict(zip(("value", "reason"), row.stored(), strict=True)) for row in rows]
        insert_rows(connection, sa.insert(metric), ({**row, "attempt_id": attempt_id} for row in values))
        sums.write(connection, "attempt", [attempt_id])


def knows(store: Store, held: ClaimedRun) -> bool:
    """True where this database has the attempt of a claimed run."""
    this = sa.select(attempt.c.id).where(attempt.c.id == held.attempt_id, attempt.c.token == held.token)
    with store.read() as connection:
        return connection.execute(this).first() is not None


def _state_of(connection: Connection, held: ClaimedRun) -> str | None:
    """The state of a claimed run's attempt, whose row it locks; None where the attempt is not the newest of the run."""
    newest = sa.select(sa.func.max(attempt.c.id)).where(attempt.c.run_id == held.run_id).scalar_subquery()
    this = (attempt.c.id == held.attempt_id, attempt.c.token == held.token, attempt.c.id == newest)
    return connection.execute(sa.select(attempt.c.state).where(*this).with_for_update()).scalar()


def void(store: Store, run_id: str, reason: str) -> list[str]:
    """Makes void a finished run and every finished one that was built on it; returns their ids.

    The results stay stored beside the reason, but no view shows them, and the next sweep makes them again.
    """
    with store.write() as connection:
        state = connection.execute(sa.select(run.c.state).where(run.c.id == run_id)).scalar()
        if state != "done":
            raise InputError(f"run {run_id[:12]}: {state or 'unknown'}; only a finished run can be made void")
        built = sa.select(sa.literal(run_id).label("id")).cte("built", recursive=True)
        built = built.union(sa.select(dependency.c.run_id).join(built, dependency.c.needs_run_id == built.c.id))
        voided = sa.update(run).where(run.c.id.in_(sa.select(built.c.id)), run.c.state == "done")
        voided = voided.values(state="void", void_reason=reason).returning(run.c.id, run.c.finished_attempt)
        rows = connection.execute(voided).all()
        ended = sa.update(attempt).where(attempt.c.id.in_([row.finished_attempt for row in rows]))
        connection.execute(ended.values(state="void", reason=reason))
        sums.write(connection, "attempt", [row.finished_attempt for row in rows])
        sums.write(connection, "run", [row.id for row in rows])
        refresh(connection, [row.id for row in rows], dependants=True)
        return sorted(row.id for row in rows)


def _packed(item: Predictions) -> dict[str, Any]:
    return {**vars(item), "outputs": pack(item.outputs), "targets": pack(item.targets), "n": len(item.outputs)}
