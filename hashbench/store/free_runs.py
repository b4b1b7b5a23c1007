"""Which runs are free to be claimed, noted beside every member of an experiment, so that a claim looks at one row.

`experiment_run.free_tries` holds the failed tries of a run whose needs are all done and that is planned or failed; it
is NULL for every other run. Whoever changes the state of a run calls `refresh` in the same transaction. A claim still
checks state and needs itself: a wrong note delays a run until `pending` mends it, and never gives one away twice.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from hashbench.store.engine import Store
from hashbench.store.schema import chunks, dependency, experiment_run, run


@functools.cache
def has_unmet_needs() -> sa.Exists:
    """SQL condition that a run of the surrounding statement needs a run that is not done."""
    need = run.alias("need")
    return (
        sa.select(sa.literal(1))
        .select_from(dependency.join(need, need.c.id == dependency.c.needs_run_id))
        .where(dependency.c.run_id == run.c.id, need.c.state != "done")
        .correlate(run)
        .exists()
    )


def refresh(connection: Connection, run_ids: Sequence[str], *, dependants: bool = False) -> None:
    """Notes anew which of these runs are free to be claimed; with `dependants` also which runs that need one of them.

    Dependants are locked first: if two needs of a run end at the same time, the later one then sees the other's end.
    """
    waiting: list[str] = []
    for part in chunks(run_ids) if dependants else ():
        of = sa.select(dependency.c.run_id).where(dependency.c.needs_run_id.in_(part))
        locked = sa.select(run.c.id).where(run.c.id.in_(of)).order_by(run.c.id).with_for_update()
        waiting += connection.execute(locked).scalars()
    for part in chunks([*run_ids, *waiting]):
        _note(connection, experiment_run.c.run_id.in_(part))


def note_taken(connection: Connection, run_id: str) -> None:
    """Notes that a claimed run is no longer free, as `refresh` would, in a fraction of the time."""
    connection.execute(sa.update(experiment_run).where(experiment_run.c.run_id == run_id).values(free_tries=None))


def mend(store: Store, experiment_id: int) -> None:
    """Corrects the notes on which runs of an experiment are free; locks nothing where all are right.

    Does nothing for a database that is only read: its workers do it.
    """
    if store.read_only:
        return
    right = experiment_run.c.free_tries.is_not_distinct_from(_free_tries())
    wrong = sa.and_(experiment_run.c.experiment_id == experiment_id, sa.not_(right))
    with store.read() as connection:
        if connection.execute(sa.select(experiment_run.c.run_id).where(wrong).limit(1)).first() is None:
            return
    with store.write() as connection:
        _note(connection, wrong)


def _note(connection: Connection, which: sa.ColumnElement[bool]) -> None:
    connection.execute(sa.update(experiment_run).where(which).values(free_tries=_free_tries()))


@functools.cache
def _free_tries() -> sa.ScalarSelect[int | None]:
    tries = sa.case((run.c.state == "planned", 0), (run.c.state == "failed", run.c.tries))
    free = sa.case((~has_unmet_needs(), tries))
    return sa.select(free).where(run.c.id == experiment_run.c.run_id).correlate(experiment_run).scalar_subquery()
