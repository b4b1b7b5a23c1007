"""Numbers that are measured of a finished run's model later, beside its result: its forms for devices."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from hashbench.common.errors import InputError
from hashbench.store.engine import Store, insert_rows
from hashbench.store.result import MetricRow
from hashbench.store.schema import metric, run


def add_metrics(store: Store, run_id: str, rows: Sequence[MetricRow]) -> None:
    """Adds numbers to a finished run; earlier ones of the same names, splits and conditions give way.

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
