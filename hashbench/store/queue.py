"""The queue of runs: claiming them under a lease, prolonging it, and giving runs back without a result.

A claim is one conditional UPDATE: among writers that SQLite lets in one by one, and with FOR UPDATE SKIP LOCKED on
PostgreSQL (which SQLAlchemy leaves out on SQLite, where the write lock already does its work). A lease ends by the
server's clock; SQLite has none, and there a lease is over when a process saw no heartbeat for so long. Every attempt
has a unique token, so that a worker that slept through its lease can no longer write once another took over.
"""

from __future__ import annotations

import functools
import hashlib
import json
import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

from hashbench.common.clock import Stopwatch
from hashbench.store.engine import Store
from hashbench.store.environment import Environment, store_environment
from hashbench.store.free_runs import has_unmet_needs, mend, note_taken, refresh
from hashbench.store.schema import attempt, dependency, experiment_run, run

# so many killed attempts of one run count as a failed try: a run that kills its worker must end
LOSSES_PER_TRY = 20
REMEMBERED = 64  # statements that are built once; building one takes as long as carrying it out

COPIED = "copy-"  # begins the token of an attempt in a published copy

CLAIM_COLUMNS = ("kind", "model", "task", "seed", "encoder", "spec")  # of a run to who claimed it
STARTED = "CAST(EXTRACT(EPOCH FROM pg_postmaster_start_time()) AS DOUBLE PRECISION)"  # of the server


class LeaseLost(Exception):
    """Raised where the lease of a run is over or was taken over, so that this worker must write nothing more."""


@dataclass(frozen=True)
class ClaimedRun:
    """A run that a worker has claimed, its attempt, and the length of its lease."""

    run_id: str
    token: str
    attempt_id: int
    lease_s: float
    kind: str
    model: str
    task: str | None
    seed: int | None
    encoder: str
    spec: dict[str, Any]
    needs: tuple[str, ...]
    again: bool = False  # a finished run whose files are made again (store/reruns.py)
    # Measures the time since the claim; None in a process that did not claim the run
    watch: Stopwatch | None = field(default_factory=Stopwatch, compare=False, repr=False)

    def stopped(self) -> ClaimedRun:
        """This claim, its time stopped now."""
        return self if self.watch is None else replace(self, watch=self.watch.stopped())

    def ended_at(self, seconds: float | None) -> sa.ColumnElement[float]:
        """The end of the attempt: its start by the database's clock, and the seconds since by this process's.

        `seconds`: the duration in the result, for a process that did not claim the run. Setting a clock while a run
        lasts changes neither its seconds nor the order of its start and end.
        """
        return attempt.c.started_at + self.lasted(seconds)

    def lasted(self, seconds: float | None) -> float:
        """Seconds since the claim; in a process that did not claim the run, `seconds` of its result."""
        return (seconds or 0.0) if self.watch is None else self.watch.seconds


def claim(
    store: Store,
    experiment_id: int,
    *,
    worker: str,
    lease_s: float,
    max_attempts: int,
    environment: Environment | None = None,
    kinds: Collection[str] | None = None,
    only: str | None = None,
    token: str = "",
) -> ClaimedRun | None:
    """The next run of these kinds, in planned order, whose needs are done, leased to `worker`; None where none is free.

    `only`: this run or none. `token`: of the attempt, new where it is empty; callers that pass one find out what they
    hold when the answer is lost (`held_under`).

    None: nothing is free now; `pending` says whether to wait, since runs may wait for others, or another worker may
    just be claiming. Attempts whose lease is over are ended first, as lost. Takes no lock if there is nothing to do.
    """
    kinds = None if kinds is None else tuple(kinds)
    with store.read() as connection:
        looked = _free_run(experiment_id, max_attempts, kinds, only)
        if connection.execute(looked).first() is None and not _silent(store, connection, lock=False):
            return None
    with store.write() as connection:
        end_expired(store, connection)
        row = connection.execute(_taken(experiment_id, max_attempts, kinds, only)).mappings().first()
        if row is None:
            return None
        run_id, token = row["run_id"], token or new_token()
        note_taken(connection, run_id)
        attempt_id = begin(store, connection, run_id, token, worker=worker, lease_s=lease_s, environment=environment)
        return _claimed(connection, row, token=token, attempt_id=attempt_id, lease_s=lease_s)


def begin(
    store: Store,
    connection: Connection,
    run_id: str,
    token: str,
    *,
    worker: str,
    lease_s: float,
    environment: Environment | None,
) -> int:
    """Inserts a new attempt at a run, in flight from now on; returns its id."""
    begun = sa.insert(attempt).values(run_id=run_id, token=token, worker=worker, state="running")
    begun = begun.values(environment_id=store_environment(store, connection, environment))
    begun = begun.values(started_at=store.now, heartbeat_at=store.now, lease_until=store.now + lease_s)
    return connection.execute(begun.returning(attempt.c.id)).scalar_one()


def new_token() -> str:
    """A unique text, by which an attempt is recognised."""
    return uuid.uuid4().hex


def published(token: str) -> str:
    """The token of an attempt in a published copy, derived one-way from its own; equal in all copies, and their copies.

    >>> published("ab")[:13], published(published("ab")) == published("ab")
    ('copy-f2851ce4', True)
    """
    return (
        token if token.startswith(COPIED) else COPIED + hashlib.sha256(f"hashbench copy {token}".encode()).hexdigest()
    )


def held_under(store: Store, token: str) -> ClaimedRun | None:
    """The run that was claimed with a token, while its attempt is in flight; else None."""
    columns = [run.c[name] for name in CLAIM_COLUMNS]
    lease_s = attempt.c.lease_until - attempt.c.heartbeat_at
    held = sa.select(run.c.id.label("run_id"), *columns, attempt.c.id, lease_s, run.c.state == "done")
    held = held.join_from(attempt, run).where(attempt.c.token == token, attempt.c.state == "running")
    with store.read() as connection:
        in_flight = connection.execute(held).first()
        if in_flight is None:
            return None
        run_id, *values, attempt_id, seconds, again = in_flight
        row = {"run_id": run_id, "again": again} | dict(zip(CLAIM_COLUMNS, values, strict=True))
        return _claimed(connection, row, token=token, attempt_id=attempt_id, lease_s=seconds)


def _claimed(
    connection: Connection, row: Mapping[str, Any] | RowMapping, *, token: str, attempt_id: int, lease_s: float
) -> ClaimedRun:
    """A run that was just claimed, from its id, the columns CLAIM_COLUMNS and perhaps `again`."""
    needs = connection.execute(sa.select(dependency.c.needs_run_id).where(dependency.c.run_id == row["run_id"]))
    about = {**row, "spec": json.loads(row["spec"]), "needs": tuple(needs.scalars())}
    return ClaimedRun(token=token, attempt_id=attempt_id, lease_s=lease_s, **about)


def heartbeat(store: Store, held: ClaimedRun) -> bool:
    """Prolongs the lease from now on. False where the attempt is no longer in flight: stop and write nothing.

    A lease that ran out and that nobody took over lives on: a laptop that slept loses no work. Prolonging a lease and
    taking it over are conditional updates of one row, so only one of the two happens.
    """
    alive = sa.update(attempt).where(*mine(held))
    with store.write() as connection:
        prolonged = alive.values(heartbeat_at=store.now, lease_until=store.now + held.lease_s)
        return connection.execute(prolonged).rowcount == 1


def mine(held: ClaimedRun) -> tuple[sa.ColumnElement[bool], ...]:
    """SQL conditions under which an attempt is still in flight for the worker that claimed the run."""
    return (attempt.c.id == held.attempt_id, attempt.c.token == held.token, attempt.c.state == "running")


def fail(store: Store, held: ClaimedRun, reason: str, log: str = "", *, tries: int = 1) -> bool:
    """Ends the attempt as failed, which counts as `tries`: more than one where another would fail in the same way.

    False: another worker has taken over.
    """
    with store.write() as connection:
        return _end(store, connection, mine(held), "failed", reason, log=log, tries=tries, held=held)


def release(store: Store, held: ClaimedRun, reason: str = "interrupted", log: str = "") -> bool:
    """Ends the attempt as interrupted, which counts as no try, and puts the run back; False where it had ended."""
    with store.write() as connection:
        return _end(store, connection, mine(held), "interrupted", reason, log=log, held=held)


def end_for(
    store: Store, attempt_id: int, token: str, reason: str, log: str, *, seconds: float, tries: int = 1
) -> bool:
    """Ends the attempt of a process that cannot do so itself, as failed, which counts as `tries`; False where it ended.

    `seconds`: that it lasted, by the monotonic clock of its machine. One that counts as lost, since the process did not
    even prolong its lease, becomes a failed one: else a run that always hangs so would be tried for ever.
    """
    this = (attempt.c.id == attempt_id, attempt.c.token == token)
    with store.write() as connection:
        running = (*this, attempt.c.state == "running")
        if _end(store, connection, running, "failed", reason, log=log, tries=tries, seconds=seconds):
            return True
        failed = sa.update(attempt).where(*this, attempt.c.state == "lost").values(state="failed", reason=reason)
        failed = failed.values(log=log, seconds=seconds, ended_at=attempt.c.started_at + seconds)
        run_id = connection.execute(failed.returning(attempt.c.run_id)).scalar()
        if run_id is None:
            return False
        # Another attempt may be in flight, whose end counts as a further try
        after = sa.case((run.c.state == "planned", "failed"), else_=run.c.state)
        unfinished = run.c.state.in_(("planned", "running", "failed"))
        counted = sa.update(run).where(run.c.id == run_id, unfinished).values(state=after, tries=run.c.tries + tries)
        connection.execute(counted)
        refresh(connection, [run_id])
        return True


def abandon(store: Store, attempt_id: int, reason: str, *, counts: bool = False) -> bool:
    """Ends the attempt of a process that is known to be dead, without waiting for its lease.

    `counts`: the process died by its own doing (out of memory), so that this was a try.
    """
    with store.write() as connection:
        of = (attempt.c.id == attempt_id, attempt.c.state == "running")
        return _end(store, connection, of, "failed" if counts else "lost", reason)


def pending(store: Store, experiment_id: int, max_attempts: int, *, kinds: Collection[str] | None = None) -> bool:
    """True while a run of the experiment (of these kinds) can still end: in flight, free, or waiting for one.

    False: workers may go.
    """
    in_flight = sa.select(attempt.c.run_id).join_from(attempt, run).where(attempt.c.state == "running")
    in_flight = in_flight.where(attempt.c.run_id.in_(members(experiment_id)), *_of_kinds(kinds)).limit(1)
    free = _free_run(experiment_id, max_attempts, None if kinds is None else tuple(kinds), None)
    with store.read() as connection:
        for query in (in_flight, free):
            if connection.execute(query).first() is not None:
                return True
    if not count_open(store, experiment_id, max_attempts, kinds=kinds):
        return False
    # What is open waits for runs of other kinds or experiments, or its note is wrong.
    mend(store, experiment_id)
    return True


def count_open(store: Store, experiment_id: int, max_attempts: int, *, kinds: Collection[str] | None = None) -> int:
    """Number of runs of the experiment (of these kinds) that can still end as done: running, or not blocked for good.

    Blocked: void, failed without a try left, or in need of a blocked run. Looks at each run.
    """
    dead_ends = sa.select(run.c.id).where(sa.or_(_is_spent(max_attempts), run.c.state == "void"))
    blocked = dead_ends.cte("blocked", recursive=True)
    # UNION, not UNION ALL: a run that waits for two blocked ones is met once.
    blocked = blocked.union(sa.select(dependency.c.run_id).join(blocked, dependency.c.needs_run_id == blocked.c.id))
    open_runs = (
        sa.select(sa.func.count())
        .select_from(run)
        .where(run.c.id.in_(members(experiment_id)), run.c.state.in_(("planned", "running", "failed")))
        .where(*_of_kinds(kinds))
        .where(sa.or_(run.c.state == "running", run.c.id.not_in(sa.select(blocked.c.id))))
    )
    with store.read() as connection:
        return connection.execute(open_runs).scalar_one()


def members(experiment_id: int) -> sa.Select[tuple[str]]:
    """A SELECT of the ids of an experiment's runs; a run with two labels comes twice."""
    return sa.select(experiment_run.c.run_id).where(experiment_run.c.experiment_id == experiment_id)


def _is_spent(max_attempts: int) -> sa.ColumnElement[bool]:
    return sa.and_(run.c.state == "failed", run.c.tries >= max_attempts)


def _of_kinds(kinds: Collection[str] | None) -> list[sa.ColumnElement[bool]]:
    return [] if kinds is None else [run.c.kind.in_(kinds)]


@functools.lru_cache(maxsize=REMEMBERED)
def _taken(experiment_id: int, max_attempts: int, kinds: tuple[str, ...] | None, only: str | None) -> sa.Executable:
    """An UPDATE that claims the first free run and returns its id and the columns CLAIM_COLUMNS."""
    free = _free_run(experiment_id, max_attempts, kinds, only).with_for_update(of=run, skip_locked=True)
    taken = sa.update(run).where(run.c.id == free.scalar_subquery()).values(state="running")
    return taken.returning(run.c.id.label("run_id"), *(run.c[name] for name in CLAIM_COLUMNS))


@functools.lru_cache(maxsize=REMEMBERED)
def _free_run(
    experiment_id: int, max_attempts: int, kinds: tuple[str, ...] | None, only: str | None
) -> sa.Select[tuple[str]]:
    """A SELECT of the first free run's id, from the first entry of index `experiment_run_free` that still holds."""
    to_do = sa.or_(run.c.state == "planned", sa.and_(run.c.state == "failed", run.c.tries < max_attempts))
    return (
        sa.select(run.c.id)
        .join_from(run, experiment_run)
        .where(experiment_run.c.experiment_id == experiment_id, experiment_run.c.free_tries < max_attempts)
        .where(*_of_kinds(kinds), to_do, ~has_unmet_needs())
        .where(*([] if only is None else [run.c.id == only]))
        .order_by(experiment_run.c.turn)
        .limit(1)
        .correlate(None)
    )


def end_expired(store: Store, connection: Connection) -> None:
    """Ends the attempts without a heartbeat for a whole lease as lost, and puts their runs back."""
    for attempt_id in _silent(store, connection, lock=True):
        of = (attempt.c.id == attempt_id, attempt.c.state == "running")
        _end(store, connection, of, "lost", "the lease ran out: the process was killed or hung")


def _silent(store: Store, connection: Connection, *, lock: bool) -> list[int]:
    """Ids of attempts without a heartbeat for a whole lease, by the server's clock, on SQLite by this process's.

    By this process's too where the server's clock was set back: a heartbeat that lies ahead would keep a dead worker's
    run for as long as the clock lost.
    """
    lease = (attempt.c.lease_until - attempt.c.heartbeat_at).label("lease")
    in_flight = sa.select(attempt.c.id, attempt.c.heartbeat_at, lease).where(attempt.c.state == "running")
    if store.dialect == "sqlite":
        rows = connection.execute(in_flight).all()
        still = store.heartbeats.silences({row.id: row.heartbeat_at for row in rows})
        return [row.id for row in rows if still[row.id] >= row.lease]
    # While the server was down no heartbeat could arrive: workers are not silent for that.
    started = sa.literal_column(STARTED, sa.Double).label("started")
    over = sa.and_(attempt.c.lease_until <= store.now, store.now - started >= lease)
    ahead = attempt.c.heartbeat_at > store.now
    looked = in_flight.add_columns(started, ahead.label("ahead")).where(sa.or_(over, ahead))
    # Locked ones are being finished or prolonged at this moment; the next claim looks again.
    rows = connection.execute(looked.with_for_update(skip_locked=True) if lock else looked).all()
    still = store.heartbeats.silences({row.id: (row.heartbeat_at, row.started) for row in rows if row.ahead})
    return [row.id for row in rows if not row.ahead or still[row.id] >= row.lease]


def _end(
    store: Store,
    connection: Connection,
    which: tuple[sa.ColumnElement[bool], ...],
    state: Literal["failed", "lost", "interrupted"],
    reason: str,
    log: str = "",
    tries: int = 1,
    held: ClaimedRun | None = None,
    seconds: float | None = None,
) -> bool:
    """Ends a running attempt without a result and puts its run back; False where there is no such attempt.

    `held`: the claim, in the process that ends its own attempt, or `seconds`, in one that measured them. Any other
    process has only the database's clock.
    """
    # Which may have been set back
    by_database = sa.case((store.now < attempt.c.started_at, attempt.c.started_at), else_=store.now)
    end: sa.ColumnElement[float] = by_database if held is None else held.ended_at(None)
    end = end if seconds is None else attempt.c.started_at + seconds
    ended = sa.update(attempt).where(*which).values(state=state, reason=reason, log=log, ended_at=end)
    ended = ended.values(seconds=end - attempt.c.started_at).returning(attempt.c.run_id)
    run_id = connection.execute(ended).scalar()
    if run_id is None:
        return False
    losses = sa.select(sa.func.count()).where(attempt.c.run_id == run_id, attempt.c.state == "lost")
    is_try = state == "failed" or (state == "lost" and connection.execute(losses).scalar_one() % LOSSES_PER_TRY == 0)
    after = {"state": "failed", "tries": run.c.tries + tries} if is_try else {"state": "planned"}
    connection.execute(sa.update(run).where(run.c.id == run_id, run.c.state == "running").values(after))
    refresh(connection, [run_id])
    return True
