"""How a run ends with a result, and the only ways in which a result is touched afterwards: void, and a new artifact."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from hashbench.errors import InputError
from hashbench.store.engine import Store
from hashbench.store.queue import Claim, LeaseLost, as_json, mine
from hashbench.store.result import Artifact, Metric, Predictions, Result, pack
from hashbench.store.schema import artifact, attempt, dependency, metric, predictions, run


def finish(store: Store, claim: Claim, result: Result) -> None:
    """Store the result and end the attempt and its run, all or nothing.

    Raises LeaseLost, and writes nothing, unless the attempt is still this worker's and its lease not over: a result
    that arrives late may already have been made by another.
    """
    packed = [_predictions_row(claim, item) for item in result.predictions]  # compressed before the write lock is taken
    with store.write() as connection:
        ended = sa.update(attempt).where(*mine(claim), attempt.c.lease_until > store.now)
        seconds = store.now - attempt.c.started_at if result.seconds is None else result.seconds
        values = {
            "state": "done",
            "ended_at": store.now,
            "seconds": seconds + result.seconds_before,
            "log": result.log,
            "notes": as_json(result.notes),
        }
        if connection.execute(ended.values(values)).rowcount != 1:
            raise LeaseLost(f"run {claim.run_id[:12]}: the lease of attempt {claim.attempt_id} is over")
        _insert(connection, metric, (_metric_row(claim, item) for item in result.metrics))
        _insert(connection, predictions, packed)
        files = (_artifact_row(claim.run_id, claim.attempt_id, item) for item in result.artifacts)
        _insert(connection, artifact, files)
        done = sa.update(run).where(run.c.id == claim.run_id, run.c.state == "running")
        done = done.values(state="done", finished_attempt=claim.attempt_id, finished_at=store.now)
        if connection.execute(done).rowcount != 1:  # a merge brought a finished copy in the meantime
            raise LeaseLost(f"run {claim.run_id[:12]}: no longer running")


def void(store: Store, run_id: str, reason: str) -> list[str]:
    """Take back a finished run and every finished one that was built on it; their ids.

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
        return sorted(row.id for row in rows)


def add_artifact(store: Store, run_id: str, item: Artifact) -> None:
    """Put a file that was missing and made again in the place of the old one of its kind; scores stay as they are."""
    with store.write() as connection:
        finished = sa.select(run.c.finished_attempt).where(run.c.id == run_id, run.c.state == "done")
        attempt_id = connection.execute(finished).scalar()
        if attempt_id is None:
            raise ValueError(f"run {run_id[:12]} is not finished")
        old = sa.delete(artifact).where(artifact.c.attempt_id == attempt_id, artifact.c.kind == item.kind)
        connection.execute(old)
        connection.execute(sa.insert(artifact).values(_artifact_row(run_id, attempt_id, item)))


def _insert(connection: Connection, table: sa.Table, rows: Iterable[dict[str, Any]]) -> None:
    rows = list(rows)
    if rows:  # an empty list would insert a row of defaults
        connection.execute(sa.insert(table), rows)


def _metric_row(claim: Claim, item: Metric) -> dict[str, Any]:
    value, reason = item.stored()
    return {
        "attempt_id": claim.attempt_id,
        "run_id": claim.run_id,
        "split": item.split,
        "name": item.name,
        "step": item.step,
        "perturbation": item.condition,
        "value": value,
        "reason": reason,
    }


def _predictions_row(claim: Claim, item: Predictions) -> dict[str, Any]:
    return {
        "attempt_id": claim.attempt_id,
        "run_id": claim.run_id,
        "split": item.split,
        "checkpoint": item.checkpoint,
        "perturbation": item.condition,
        "outputs": pack(item.outputs),
        "targets": pack(item.targets),
        "index_fingerprint": item.index_fingerprint,
        "n": len(item.outputs),
    }


def _artifact_row(run_id: str, attempt_id: int, item: Artifact) -> dict[str, Any]:
    return {"attempt_id": attempt_id, "run_id": run_id, **vars(item)}
