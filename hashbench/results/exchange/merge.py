"""Bringing the runs of another database into this one, any number of times.

No row of the other database changes a result here. What is missing or void here may be filled; a finished copy of a run
that is finished here stays beside the one that counts. What would change a result is listed: numbers that differ, and
results that are void there. Only `prefer` and `take_voids` take them, and `keep` records that they are not to be listed
again. Attempts in flight there stay there, where their lease is, and a run in flight here is left to its worker.

An attempt is known by its token, by the one derived from it that a published copy has, or by its times and numbers.
A token alone is not believed: with other numbers it is another attempt.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

from hashbench.results.exchange.foreign import CheckedDatabase, StoredRow, opened
from hashbench.store import sums
from hashbench.store.attaching import COLLECTING
from hashbench.store.engine import Store
from hashbench.store.environment import as_json
from hashbench.store.free_runs import refresh
from hashbench.store.kinds import KEY
from hashbench.store.queue import published
from hashbench.store.schema import (
    attempt,
    dependency,
    environment,
    experiment,
    experiment_run,
    metric,
    run,
    setting,
)
from hashbench.store.statements import chunks, insert_rows
from hashbench.store.sums import RESULTS, WITH_RESULTS

# how names of metrics end that differ between two measurements
TIMED = ("_ms", "_ms_speedup_low", "_ms_speedup_high", "_ms_pairs", "_batch", "_bytes", "seconds", "_per_second")
CURVES = "train"  # the split of curves
COMPARED = metric.c.split != CURVES
SAME = 1e-12  # relative; beyond it two copies of a score are different
ANSWER = "merge: ours kept "  # begins the key of an answer in the table `setting`

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
    differences: list[Difference] = field(default_factory=list)  # of copies that came now, or that count from now on
    open_differences: list[Difference] = field(default_factory=list)  # of copies that came earlier, not yet answered
    voids: list[Void] = field(default_factory=list)  # neither taken nor answered
    taken_voids: list[str] = field(default_factory=list)  # ids of runs whose results became void
    answered: int = 0  # differences and voids that were answered before
    beside: list[str] = field(default_factory=list)  # ids of runs with a further finished copy, which does not count
    void_here: list[str] = field(default_factory=list)  # ids of runs that are void here and finished there
    in_flight: list[str] = field(default_factory=list)  # ids of runs in flight here, whose copies there did not come
    apart: Counter[str] = field(default_factory=Counter)  # runs that do not belong to a complete experiment, by name
    shown_instead: list[str] = field(default_factory=list)  # names of experiments whose newest version comes from there
    copy: Path | None = None  # of this database as it was before

    @property
    def is_open(self) -> bool:
        """True where something is to be decided."""
        return bool(self.differences or self.open_differences or self.voids)


@dataclass(frozen=True)
class _Choices:
    """The options of a merge."""

    with_diffs: bool
    prefer: Literal["ours", "theirs"]
    take_voids: bool


def merge(
    store: Store,
    where: str | Path,
    *,
    with_diffs: bool = False,
    prefer: Literal["ours", "theirs"] = "ours",
    take_voids: bool = False,
    keep: Literal["ours"] | None = None,
    dry_run: bool = False,
    identify: Callable[[Mapping[str, Any]], str] | None = None,
) -> MergeReport:
    """Copies into `store` the experiments, runs and attempts that only the database at `where` has.

    Of an uncommitted change of the code only the fact that there was one comes along, unless `with_diffs`. `prefer`:
    whose copy counts of a run that is finished here and there. `take_voids`: what is void there becomes void here.
    `keep`: differences and voids of this merge are not reported again. `dry_run` writes nothing. `identify` gives the
    id that belongs to a spec; a database that has a run with another one is refused.

    All rows are checked before anything is written. A SQLite database is copied first, if anything is to be written.
    Every run is one transaction: workers of this database go on meanwhile, and a merge that was interrupted is
    completed by calling it again. Raises InputError for a malformed database.
    """
    with opened(where, store) as source:
        task = _Merge(store, source, source.runs(identify), _Choices(with_diffs, prefer, take_voids))
        with store.read() as target:
            report = task.look(target)
        if not dry_run:
            if task.has_changes:
                copy = store.copy_first()
                report = task.carry_out()
                report.copy = copy
            if keep == "ours":
                task.record_answers(report)
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


@dataclass
class _Plan:
    """The rows that the merge of one run writes, and the differences and voids that it lists."""

    run_id: str
    is_new: bool = False
    is_finished: bool = False  # was not before
    brought: list[StoredRow] = field(default_factory=list)
    voided: dict[int, str | None] = field(default_factory=dict)  # reasons by id of attempts here
    counted: _Copy | None = None  # whose results count from now on; None: nothing changes
    state: str | None = None  # of a run without results; None: as it was
    differences: list[Difference] = field(default_factory=list)
    open_differences: list[Difference] = field(default_factory=list)
    voids: list[Void] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)  # keys under which its differences and voids may be answered
    answered: int = 0
    is_beside: bool = False
    is_void_here: bool = False
    is_in_flight: bool = False

    @property
    def writes(self) -> bool:
        """True where the database changes."""
        return bool(self.is_new or self.brought or self.voided or self.counted)

    def count(self, report: MergeReport) -> None:
        """Adds the plan to a report."""
        report.runs += self.is_new
        report.finished += self.is_finished
        report.attempts += len(self.brought)
        report.differences += self.differences
        report.open_differences += self.open_differences
        report.voids += self.voids
        report.answered += self.answered
        report.beside += [self.run_id] * self.is_beside
        report.void_here += [self.run_id] * self.is_void_here
        report.in_flight += [self.run_id] * self.is_in_flight
        report.taken_voids += [self.run_id] * bool(self.voided)


class _Merge:
    """The merge of a source into a database."""

    def __init__(self, store: Store, source: CheckedDatabase, rows: Sequence[StoredRow], choices: _Choices) -> None:
        self._store, self._source, self._choices = store, source, choices
        self._rows = rows
        self._by_id = {row["id"]: row for row in rows}
        self._plans: dict[str, _Plan] = {}
        self._answered: frozenset[str] = frozenset()  # keys of recorded answers
        self._members: dict[int, list[StoredRow]] = {}  # by id of the experiment there: those to be added
        self.has_changes = False

    def look(self, target: Connection) -> MergeReport:
        """The report of the merge as it would be; reads and checks all that it would copy."""
        report = MergeReport()
        answers = sa.select(setting.c.key).where(setting.c.key.startswith(ANSWER))
        self._answered = frozenset(target.execute(answers).scalars())
        for row in self._rows:
            plan = self._plans[row["id"]] = self._planned(target, row)
            for brought in plan.brought:  # checks them
                self._source.environment(brought["environment_id"], with_diff=True)
                for table in RESULTS:
                    self._source.rows(table, table.c.attempt_id == brought["id"])
            plan.count(report)
            self.has_changes |= plan.writes
        for row in self._source.rows(experiment):
            self._experiment(target, row, report)
        self.has_changes |= bool(report.experiments or report.members)
        return report

    def carry_out(self) -> MergeReport:
        """Merges all runs that the look found something new of, then the experiments."""
        report = MergeReport()
        of_kinds = self._source.rows(setting, setting.c.key.startswith(KEY))
        if of_kinds:
            with self._store.write() as target:
                insert_rows(target, self._store.insert_new(setting), [dict(row) for row in of_kinds])
        for row in self._rows:
            if self._plans[row["id"]].writes:
                with self._store.write() as target:
                    plan = self._plans[row["id"]] = self._planned(target, row, lock=True)
                    if plan.writes:
                        self._write_run(target, row, plan)
            self._plans[row["id"]].count(report)
        for row in self._source.rows(experiment):
            with self._store.write() as target:
                here = self._experiment(target, row, report)
                if here is None:
                    here = self._new_experiment(target, row)
            for part in chunks([{**member, "experiment_id": here} for member in self._members[row["id"]]]):
                with self._store.write() as target:
                    insert_rows(target, self._store.insert_new(experiment_run), part)
                    run_ids = [member["run_id"] for member in part]
                    sums.write(target, "member", run_ids)
                    refresh(target, run_ids)
        return report

    def record_answers(self, report: MergeReport) -> None:
        """Records that the differences and voids of the report are not to be reported again, and takes them out."""
        keys = [key for plan in self._plans.values() for key in plan.answers]
        with self._store.write() as target:
            insert_rows(target, self._store.insert_new(setting), ({"key": key, "value": "kept"} for key in keys))
        report.answered += len(report.differences) + len(report.open_differences) + len(report.voids)
        report.differences, report.open_differences, report.voids = [], [], []

    def _planned(self, target: Connection, row: StoredRow, *, lock: bool = False) -> _Plan:
        return _RunMerge(self._source, target, row, self._choices, self._answered).plan(lock=lock)

    def _write_run(self, target: Connection, row: StoredRow, plan: _Plan) -> None:
        """Writes what was planned for a run, within the transaction in which it was planned."""
        this = run.c.id == plan.run_id
        if plan.is_new:
            waiting = {"state": "planned", "finished_attempt": None, "finished_at": None, "void_reason": None}
            values = {column.name: row[column.name] for column in run.columns}
            target.execute(sa.insert(run).values({**values, **waiting}))
            needs = ({"run_id": plan.run_id, "needs_run_id": need} for need in row["needs"])
            insert_rows(target, self._store.insert_new(dependency), needs)
        ids: dict[int, int] = {}
        for brought in plan.brought:
            place = self._source.environment(brought["environment_id"], with_diff=self._choices.with_diffs)
            if place is not None:
                target.execute(self._store.insert_new(environment), place)
            token = self._free_token(target, brought)
            ids[brought["id"]] = copy_attempt(
                self._source, target, {**brought, "token": token}, environment_id=None if place is None else place["id"]
            )
        for attempt_id, reason in plan.voided.items():
            target.execute(sa.update(attempt).where(attempt.c.id == attempt_id).values(state="void", reason=reason))
        if plan.counted is not None:
            counts = plan.counted.id if plan.counted.is_here else ids[plan.counted.id]
            values = {"finished_attempt": counts, "finished_at": plan.counted.times[1], "void_reason": None}
            target.execute(sa.update(run).where(this).values(state="done", **values))
            late = sa.update(attempt).where(attempt.c.run_id == plan.run_id, attempt.c.state == "running")
            reason = "a merge took another result (--prefer theirs)"
            target.execute(late.values(state="lost", ended_at=self._store.now, reason=reason))
        elif plan.state is not None:
            reason = row["void_reason"] if plan.state == "void" else None
            target.execute(sa.update(run).where(this).values(state=plan.state, void_reason=reason))
        sums.write(target, "attempt", [*ids.values(), *plan.voided])
        sums.write(target, "run", [plan.run_id])
        refresh(target, [plan.run_id], dependants=True)

    def _free_token(self, target: Connection, row: StoredRow) -> str:
        """The token of an attempt, or one made from its content where another attempt here has it already."""
        if target.execute(sa.select(attempt.c.id).where(attempt.c.token == row["token"])).first() is None:
            return str(row["token"])
        metrics = [list(of.values()) for of in self._source.rows(metric, metric.c.attempt_id == row["id"])]
        content = [row["run_id"], row["token"], row["started_at"], row["ended_at"], row["state"], metrics]
        return published(as_json(content))

    def _experiment(self, target: Connection, row: StoredRow, report: MergeReport) -> int | None:
        """The id of an experiment here, None where it is new; counts it, and notes the members that are to be added."""
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
        self._members[row["id"]] = members
        return here

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
        """Inserts an experiment, at the latest as one of today: a later time would hide those of this database."""
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


@dataclass(frozen=True)
class _RunMerge:
    """The planning of the merge of one run."""

    source: CheckedDatabase
    target: Connection
    incoming: StoredRow  # the run as the source has it
    choices: _Choices
    answered: frozenset[str]

    def plan(self, *, lock: bool) -> _Plan:
        """The plan of the run. `lock`: the run here stays as it is until the end of the transaction."""
        of_run = sa.select(run).where(run.c.id == self.incoming["id"])
        here = self.target.execute(of_run.with_for_update() if lock else of_run).mappings().first()
        state, counting = (here["state"], here["finished_attempt"]) if here is not None else (None, None)
        plan = _Plan(self.incoming["id"], is_new=here is None)
        stored, rows = self._stored(), {row["id"]: row for row in self.source.attempts(self.incoming)}
        arriving = [self._arriving(row) for row in rows.values()]
        twins = {copy.id: next((here_copy for here_copy in stored if here_copy.is_of(copy)), None) for copy in arriving}
        unknown = [copy for copy in arriving if twins[copy.id] is None]
        new = [copy for copy in unknown if self._comes(copy, state)]
        plan.brought = [rows[copy.id] for copy in new]
        for copy in arriving:
            twin = twins[copy.id]
            if twin is not None and copy.state == "void" and twin.state == "done":
                self._void(plan, twin, copy)
        done = [
            copy for copy in (*stored, *new) if copy.state == "done" and not (copy.is_here and copy.id in plan.voided)
        ]
        before = next((copy for copy in stored if state == "done" and copy.id == counting), None)
        there = [twins[copy.id] or copy for copy in arriving if copy.state == "done"]
        counted_there = self.incoming["finished_attempt"] if self.incoming["state"] == "done" else None
        favoured = [twins[copy.id] or copy for copy in arriving if copy.id == counted_there]
        final = self._settle(plan, state, before, done, favoured)
        if final is not None:
            others = [copy for copy in (*there, *([before] if before else ())) if copy in done and copy != final]
            self._compare(plan, final, list({id(copy): copy for copy in others}.values()))
        plan.is_finished = final is not None and state != "done"
        plan.is_beside = state == "done" and any(copy.state == "done" and copy != final for copy in new)
        plan.is_void_here = final is None and any(copy.state == "void" for copy in there)
        plan.is_in_flight = final is None and state == "running" and any(copy.state == "done" for copy in unknown)
        return plan

    def _comes(self, copy: _Copy, state: str | None) -> bool:
        """True where an attempt that is not known here is to be copied; `state`: of the run here."""
        if copy.state == "void":
            return self.choices.take_voids
        if state == "running" and self.choices.prefer == "ours":  # its worker would lose what it does
            return False
        return copy.state == "done" or state is None  # what failed there says nothing about a run that is here

    def _void(self, plan: _Plan, twin: _Copy, copy: _Copy) -> None:
        """Plans what becomes of a result here that is void there."""
        key = _answer("void", plan.run_id, twin.token)
        if self.choices.take_voids:
            plan.voided[twin.id] = copy.reason
        elif key in self.answered:
            plan.answered += 1
        else:
            plan.answers.append(key)
            plan.voids.append(Void(plan.run_id, copy.reason))

    def _settle(
        self, plan: _Plan, state: str | None, before: _Copy | None, done: Sequence[_Copy], favoured: Sequence[_Copy]
    ) -> _Copy | None:
        """Plans whose results count, or the state of a run without any; returns what counts in the end.

        `before`: what counted so far; `favoured`: what counts in the source.
        """
        wanted = [*([before] if before else ()), *favoured]
        order = wanted if self.choices.prefer == "ours" else wanted[::-1]

        def rank(copy: _Copy) -> tuple[int, float, str]:
            return order.index(copy) if copy in order else len(order), copy.times[1], copy.token

        if done:
            final = min(done, key=rank)
            plan.counted = final if final != before else None
            return final
        if state == "done":
            plan.state = "void"
        elif state is None and (
            self.incoming["state"] == "failed" or (self.incoming["state"] == "void" and self.choices.take_voids)
        ):
            plan.state = self.incoming["state"]
        return None

    def _compare(self, plan: _Plan, final: _Copy, others: Sequence[_Copy]) -> None:
        """Lists the numbers on which other copies disagree with the one that counts."""
        for other in others:
            if not other.numbers:  # it made files again
                continue
            differences = list(_differences(plan.run_id, final.numbers, other.numbers))
            key = _answer(plan.run_id, *(sorted(copy.numbers.items()) for copy in (final, other)))
            if plan.counted is None and key in self.answered:
                plan.answered += len(differences)
                continue
            listed = plan.differences if plan.counted is not None or not other.is_here else plan.open_differences
            listed += differences
            plan.answers += [key] * bool(differences)

    def _stored(self) -> list[_Copy]:
        """The ended attempts at the run here."""
        ended = sa.and_(attempt.c.run_id == self.incoming["id"], attempt.c.state != "running")
        rows = self.target.execute(sa.select(attempt).where(ended).order_by(attempt.c.id)).mappings().all()
        of = {row["id"]: sa.select(metric).where(metric.c.attempt_id == row["id"], COMPARED) for row in rows}
        return [_copy(row, self.target.execute(of[row["id"]]).mappings(), is_here=True) for row in rows]

    def _arriving(self, row: StoredRow) -> _Copy:
        """An ended attempt of the source."""
        return _copy(row, self.source.rows(metric, sa.and_(metric.c.attempt_id == row["id"], COMPARED)), is_here=False)


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
    for key in sorted(counted.keys() | other.keys()):
        if not _is_equal(counted.get(key), other.get(key)):
            split, name, step, _ = key
            yield Difference(run_id, split, name, step, counted.get(key), other.get(key))


def _is_equal(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    return abs(first - second) <= SAME * max(abs(first), abs(second))


def _answer(*content: object) -> str:
    """The key of the recorded answer to a difference or a void."""
    return ANSWER + hashlib.sha256(as_json(content).encode()).hexdigest()
