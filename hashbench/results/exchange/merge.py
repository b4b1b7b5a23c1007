"""Bringing the runs of another database into this one, any number of times.

No row of the other database changes a result here. What is missing or void here may be filled; a finished copy of a run
that is finished here stays beside the one that counts. Numbers that differ, and results that are void there, are
listed. Attempts in flight there stay there, where their lease is, and a run in flight here is left to its worker.

An attempt is known by its token, by the one derived from it that a published copy has, or by its times and numbers.
A token alone is not believed: with other numbers it is another attempt.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

from hashbench.results.exchange.checked_rows import CheckedDatabase, StoredRow, opened
from hashbench.store import sums
from hashbench.store.engine import Store
from hashbench.store.environment import as_json
from hashbench.store.free_runs import refresh
from hashbench.store.kinds import KEY
from hashbench.store.planning import COLLECTING
from hashbench.store.queue import published
from hashbench.store.schema import (
    attempt,
    chunks,
    dependency,
    environment,
    experiment,
    experiment_run,
    insert_rows,
    metric,
    run,
    setting,
)
from hashbench.store.sums import RESULTS, WITH_RESULTS

# how names of metrics end that differ between two measurements
TIMED = ("_ms", "_ms_speedup_low", "_ms_speedup_high", "_ms_pairs", "_batch", "_bytes", "seconds", "_per_second")
CURVES = "train"  # the split of curves
COMPARED = metric.c.split != CURVES
SAME = 1e-12  # relative; beyond it two copies of a score are different

Numbers = Mapping[tuple[Any, ...], float | None]  # by split, name, step and condition


@dataclass(frozen=True)
class Difference:
    """A metric on which two finished copies of a run disagree; None where a copy lacks it."""

    run_id: str
    split: str
    name: str
    step: int
    counted: float | None
    other: float | None


@dataclass(frozen=True)
class Void:
    """A finished result here that is void in the other database, with the reason there."""

    run_id: str
    reason: str | None


@dataclass
class MergeReport:
    """Counts of new rows, and lists of what differs, is void or stays beside, after a merge or as it would be."""

    experiments: int = 0  # new ones
    runs: int = 0  # new ones
    finished: int = 0  # runs that became finished
    attempts: int = 0  # new ones
    members: int = 0  # runs that joined experiments that were here
    differences: list[Difference] = field(default_factory=list)
    voids: list[Void] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)  # ids of runs with a further finished copy, which does not count
    void_here: list[str] = field(default_factory=list)  # ids of runs that are void here and finished there
    in_flight: list[str] = field(default_factory=list)  # ids of runs in flight here, whose copies there did not come
    apart: Counter[str] = field(default_factory=Counter)  # runs that do not belong to a complete experiment, by name
    shown_instead: list[str] = field(default_factory=list)  # names of experiments whose newest version comes from there
    copy: Path | None = None  # of this database as it was before

    @property
    def disagrees(self) -> bool:
        """True where a result here is another one there."""
        return bool(self.differences or self.voids)


def merge(
    store: Store,
    where: str | Path,
    *,
    dry_run: bool = False,
    identify: Callable[[Mapping[str, Any]], str] | None = None,
) -> MergeReport:
    """Copies into `store` the experiments, runs and attempts that only the database at `where` has.

    Of an uncommitted change of the code only the fact that there was one comes along. `dry_run` writes nothing.
    `identify` gives the id that belongs to a spec; a database that has a run with another one is refused.

    All rows are checked before anything is written. A SQLite database is copied first, if anything is to be written.
    Every run is one transaction: workers of this database go on meanwhile, and a merge that was interrupted is
    completed by calling it again. Raises InputError for a malformed database.
    """
    with opened(where, store) as source:
        task = _Merge(store, source, source.runs(identify))
        with store.read() as target:
            report = task.carry_out(lambda: nullcontext(target), writes=False)
        if task.has_changes and not dry_run:
            copy = store.copy_first()
            report = task.carry_out(store.write, writes=True)
            report.copy = copy
    return report


def copy_attempt(
    source: CheckedDatabase,
    target: Connection,
    row: RowMapping | Mapping[str, Any],
    *,
    environment_id: str | None,
    change: Callable[[dict[str, Any]], dict[str, Any]] = dict,
    tables: Sequence[sa.Table] = RESULTS,
) -> int:
    """Copies an attempt and its results; returns its id in the target. `change` edits each row before insertion."""
    values = {**row, "environment_id": environment_id}
    del values["id"]
    new_id = target.execute(sa.insert(attempt).values(change(values)).returning(attempt.c.id)).scalar_one()
    for table in tables:
        rows = source.rows(table, table.c.attempt_id == row["id"])
        insert_rows(target, sa.insert(table), ({**change(dict(copied)), "attempt_id": new_id} for copied in rows))
    return new_id


@dataclass(frozen=True)
class _Copy:
    """An ended attempt at a run, here or there."""

    id: int
    is_here: bool
    state: str
    token: str
    times: tuple[float, float]  # of its start and end
    reason: str | None
    numbers: Numbers

    def is_of(self, other: _Copy) -> bool:
        """True where both are copies of one attempt: of one origin by token or times, and of no other number.

        One that failed is no copy of one with results, whatever it says.
        """
        is_same_token = self.token == other.token or published(self.token) == published(other.token)
        if not is_same_token and self.times != other.times:
            return False
        if (self.state in WITH_RESULTS) != (other.state in WITH_RESULTS):
            return False
        return all(_is_equal(self.numbers[key], other.numbers[key]) for key in self.numbers.keys() & other.numbers)


class _Merge:
    """The merge of a source into a database."""

    def __init__(self, store: Store, source: CheckedDatabase, rows: Sequence[StoredRow]) -> None:
        self._store, self._source, self._rows = store, source, rows
        self._by_id = {row["id"]: row for row in rows}
        self.has_changes = False

    def carry_out(self, begin: Callable[[], AbstractContextManager[Connection]], *, writes: bool) -> MergeReport:
        """Merges all runs, then the experiments, each in the transaction that `begin` gives.

        `writes` False: reads and checks all that would be copied, and reports the merge as it would be.
        """
        report = MergeReport()
        of_kinds = self._source.rows(setting, setting.c.key.startswith(KEY))
        if of_kinds and writes:
            with begin() as target:
                insert_rows(target, self._store.insert_new(setting), [dict(row) for row in of_kinds])
        for row in self._rows:
            with begin() as target:
                self._run(target, row, report, writes=writes)
        for row in self._source.rows(experiment):
            with begin() as target:
                self._experiment(target, row, report, writes=writes)
        return report

    def _run(self, target: Connection, row: StoredRow, report: MergeReport, *, writes: bool) -> None:
        """Merges a run and counts what is new and what differs."""
        of_run = sa.select(run).where(run.c.id == row["id"])
        here = target.execute(of_run.with_for_update() if writes else of_run).mappings().first()
        state = None if here is None else here["state"]
        stored, rows = _stored(target, row["id"]), {ended["id"]: ended for ended in self._source.attempts(row)}
        arriving = [_arriving(self._source, ended) for ended in rows.values()]
        twins = {copy.id: next((at_home for at_home in stored if at_home.is_of(copy)), None) for copy in arriving}
        unknown = [copy for copy in arriving if twins[copy.id] is None]
        # The worker of a run in flight would lose what it does; what failed there says nothing about a run that is here
        new = [
            copy for copy in unknown
            if copy.state != "void" and state != "running" and (copy.state == "done" or state is None)
        ]  # fmt: skip
        done = [copy for copy in (*stored, *new) if copy.state == "done"]
        before = next((of for of in stored if here and state == "done" and of.id == here["finished_attempt"]), None)
        favoured = [twins[copy.id] or copy for copy in arriving if copy.id == row["finished_attempt"]]
        others = min(done, key=lambda copy: (copy not in favoured, copy.times[1], copy.token), default=None)
        final = before or others
        there = [twins[copy.id] or copy for copy in arriving if copy.state == "done"]
        different = {id(copy): copy for copy in there if final and copy in done and copy != final and copy.numbers}

        report.runs += here is None
        report.finished += final is not None and state != "done"
        report.attempts += len(new)
        for copy in different.values():
            assert final is not None
            report.differences += _differences(row["id"], final.numbers, copy.numbers)
        for copy in arriving:
            if copy.state == "void" and (twin := twins[copy.id]) is not None and twin.state == "done":
                report.voids.append(Void(row["id"], copy.reason))
        has_new = any(copy.state == "done" for copy in new)
        report.beside += [row["id"]] * (state == "done" and has_new)
        report.void_here += [row["id"]] * (final is None and any(copy.state == "void" for copy in there))
        is_awaited = final is None and state == "running" and any(copy.state == "done" for copy in unknown)
        report.in_flight += [row["id"]] * is_awaited

        brought = [rows[copy.id] for copy in new]
        if here is None or brought or final != before:
            self.has_changes = True
            if writes:
                self._write(target, row, brought, is_new=here is None, counted=final if final != before else None)
            else:
                self._check(brought)

    def _check(self, brought: Sequence[StoredRow]) -> None:
        """Reads all rows of attempts that would be copied, and with that checks them."""
        for attempted in brought:
            self._source.environment(attempted["environment_id"])
            for table in RESULTS:
                self._source.rows(table, table.c.attempt_id == attempted["id"])

    def _write(
        self, target: Connection, row: StoredRow, brought: Sequence[StoredRow], *, is_new: bool, counted: _Copy | None
    ) -> None:
        """Writes a run as far as it is new, and the attempts that it gets. `counted`: whose results count from now."""
        this = run.c.id == row["id"]
        if is_new:
            waiting = {"state": "planned", "finished_attempt": None, "finished_at": None, "void_reason": None}
            values = {column.name: row[column.name] for column in run.columns}
            target.execute(sa.insert(run).values({**values, **waiting}))
            needs = ({"run_id": row["id"], "needs_run_id": need} for need in row["needs"])
            insert_rows(target, self._store.insert_new(dependency), needs)
        ids: dict[int, int] = {}
        for attempted in brought:
            place = self._source.environment(attempted["environment_id"])
            if place is not None:
                target.execute(self._store.insert_new(environment), place)
            with_token = {**attempted, "token": self._free_token(target, attempted)}
            ids[attempted["id"]] = copy_attempt(
                self._source, target, with_token, environment_id=None if place is None else place["id"]
            )
        if counted is not None:
            counts = counted.id if counted.is_here else ids[counted.id]
            values = {"finished_attempt": counts, "finished_at": counted.times[1], "void_reason": None}
            target.execute(sa.update(run).where(this).values(state="done", **values))
        elif is_new and row["state"] == "failed":
            target.execute(sa.update(run).where(this).values(state="failed"))
        sums.write(target, "attempt", list(ids.values()))
        sums.write(target, "run", [row["id"]])
        refresh(target, [row["id"]], dependants=True)

    def _free_token(self, target: Connection, row: StoredRow) -> str:
        """The token of an attempt, or one made from its content where another attempt here has it already."""
        if target.execute(sa.select(attempt.c.id).where(attempt.c.token == row["token"])).first() is None:
            return str(row["token"])
        metrics = [list(of.values()) for of in self._source.rows(metric, metric.c.attempt_id == row["id"])]
        content = [row["run_id"], row["token"], row["started_at"], row["ended_at"], row["state"], metrics]
        return published(as_json(content))

    def _experiment(self, target: Connection, row: StoredRow, report: MergeReport, *, writes: bool) -> None:
        """Merges an experiment: a new one with all of its runs, else the runs that may join the one that is here."""
        members = self._source.members(row["id"], self._by_id)
        named = sa.select(experiment.c.id, experiment.c.fingerprint, experiment.c.called_at)
        versions = target.execute(named.where(experiment.c.name == row["name"])).all()
        here = next((version.id for version in versions if version.fingerprint == row["fingerprint"]), None)
        if here is None:
            report.experiments += 1
            if versions and row["called_at"] > max(version.called_at for version in versions):
                report.shown_instead.append(row["name"])
        else:
            members, apart = self._joining(target, here, row["fingerprint"], members)
            report.members += len(members)
            report.apart += Counter({row["name"]: apart})
        self.has_changes |= here is None or bool(members)
        if not writes:
            return
        here = self._new_experiment(target, row) if here is None else here
        for part in chunks([{**member, "experiment_id": here} for member in members]):
            insert_rows(target, self._store.insert_new(experiment_run), part)
            run_ids = [member["run_id"] for member in part]
            sums.write(target, "member", run_ids)
            refresh(target, run_ids)

    def _joining(
        self, target: Connection, here: int, fingerprint: str, members: Sequence[StoredRow]
    ) -> tuple[list[StoredRow], int]:
        """The members that are new to an experiment here and may join it, and how many may not.

        Where all planned runs of the experiment are here, which its fingerprint proves, only what was attached later
        can be missing: sets that were not planned. Another seed of a planned one would change its means.
        """
        columns = (experiment_run.c.run_id, experiment_run.c.model, run.c.kind, run.c.task)
        stored = sa.select(*columns).join_from(experiment_run, run).where(experiment_run.c.experiment_id == here)
        rows = target.execute(stored.order_by(experiment_run.c.position)).all()
        planned = {(row.kind, row.task) for row in rows[: _planned_runs(fingerprint, rows)]}
        present = {(row.run_id, row.model) for row in rows}
        new = [member for member in members if (member["run_id"], member["model"]) not in present]
        joining = [member for member in new if self._set_of(member) not in planned]
        return joining, len(new) - len(joining)

    def _set_of(self, member: StoredRow) -> tuple[str, str | None]:
        of = self._by_id[member["run_id"]]
        return of["kind"], of["task"]

    def _new_experiment(self, target: Connection, row: StoredRow) -> int:
        """Inserts an experiment; a time in the future becomes today: it would hide this database's experiments."""
        now = target.execute(sa.select(self._store.now)).scalar_one()
        times = {name: min(row[name], now) for name in ("created_at", "called_at")}
        values = {name: value for name, value in row.items() if name != "id"} | times
        number = target.execute(sa.insert(experiment).values(values).returning(experiment.c.id)).scalar_one()
        sums.write(target, "experiment", [number])
        return number


def _planned_runs(fingerprint: str, rows: Sequence[Any]) -> int:
    """How many of an experiment's first members are its planned runs; 0 where some of them are missing."""
    if fingerprint == COLLECTING:
        return 0
    so_far = hashlib.sha256(b"[")
    for number, row in enumerate(rows, start=1):
        so_far.update((b"," if number > 1 else b"") + as_json([row.model, row.run_id]).encode())
        whole = so_far.copy()
        whole.update(b"]")
        if whole.hexdigest() == fingerprint:
            return number
    return 0


def _stored(target: Connection, run_id: str) -> list[_Copy]:
    """The ended attempts at the run here."""
    ended = sa.and_(attempt.c.run_id == run_id, attempt.c.state != "running")
    rows = target.execute(sa.select(attempt).where(ended).order_by(attempt.c.id)).mappings().all()
    of = {row["id"]: sa.select(metric).where(metric.c.attempt_id == row["id"], COMPARED) for row in rows}
    return [_copy(row, target.execute(of[row["id"]]).mappings(), is_here=True) for row in rows]


def _arriving(source: CheckedDatabase, row: StoredRow) -> _Copy:
    """An ended attempt of the source."""
    return _copy(row, source.rows(metric, sa.and_(metric.c.attempt_id == row["id"], COMPARED)), is_here=False)


def _copy(row: RowMapping | StoredRow, metrics: Iterable[RowMapping | StoredRow], *, is_here: bool) -> _Copy:
    """An attempt with its metrics that should be equal in two copies of a run: all but times and curves of training."""
    key = ("split", "name", "step", "condition")
    numbers = {
        tuple(of[name] for name in key): of["value"]
        for of in metrics
        if of["split"] != CURVES and not of["name"].endswith(TIMED)
    }
    times = row["started_at"], row["ended_at"]
    return _Copy(row["id"], is_here, row["state"], row["token"], times, row["reason"], numbers)


def _differences(run_id: str, counted: Numbers, other: Numbers) -> Iterator[Difference]:
    measured = [{(split, name) for split, name, *_ in copy} for copy in (counted, other)]
    for key in sorted(counted.keys() | other.keys()):
        split, name, step, _ = key
        # What one copy did not measure at all is no difference: later versions measure more
        if all((split, name) in of for of in measured) and not _is_equal(counted.get(key), other.get(key)):
            yield Difference(run_id, split, name, step, counted.get(key), other.get(key))


def _is_equal(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    return abs(first - second) <= SAME * max(abs(first), abs(second))
