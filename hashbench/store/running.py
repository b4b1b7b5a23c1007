"""Attempts in flight, as whoever watches them sees them."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from hashbench.store.engine import Store
from hashbench.store.queue import members
from hashbench.store.schema import attempt, environment


@dataclass(frozen=True)
class Running:
    """An attempt in flight. A negative `lease_left_s`: its worker has not been heard of, the next claim takes over."""

    attempt_id: int
    run_id: str
    worker: str
    host: str
    lease_left_s: float


def running(store: Store, experiment_id: int | None = None) -> list[Running]:
    """Attempts in flight, of one experiment or of all."""
    left = (attempt.c.lease_until - store.now).label("lease_left_s")
    host = sa.func.coalesce(environment.c.host, "").label("host")
    rows = (
        sa.select(attempt.c.id.label("attempt_id"), attempt.c.run_id, attempt.c.worker, host, left)
        .join_from(attempt, environment, isouter=True)
        .where(attempt.c.state == "running")
        .order_by(attempt.c.id)
    )
    if experiment_id is not None:
        rows = rows.where(attempt.c.run_id.in_(members(experiment_id)))
    with store.read() as connection:
        return [Running(**row) for row in connection.execute(rows).mappings()]
