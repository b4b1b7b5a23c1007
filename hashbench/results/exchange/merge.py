"""Bringing the runs of another database into this one, any number of times.

An attempt is known by its token, so a second merge of the same file finds everything there. Of two finished copies of
a run the one counts that was here, unless `prefer` says otherwise; both stay, and where they disagree the difference
is reported. Running attempts of the other database stay there, where their lease is.

Each row of the other database is checked on its way: SQLite stores a text in a column of numbers, a compressed array
may unfold to any size, and a path may lead anywhere.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, StatementError

from hashbench.common.errors import InputError, first_line
from hashbench.common.showing import without_passwords
from hashbench.store.engine import Store, insert_rows, open_results, parse
from hashbench.store.environment import Environment
from hashbench.store.free_runs import chunks, refresh
from hashbench.store.packing import check_packed
from hashbench.store.result import leads_outside
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

RESULTS = (metric, predictions, artifact)  # tables that refer to an attempt
# how names of metrics end that differ between two measurements
TIMED = ("_ms", "_ms_speedup_low", "_ms_speedup_high", "_ms_pairs", "_batch", "_bytes", "seconds", "_per_second")
REMEDY = "runs before it were merged, nothing of it was; ask who made it for a whole copy"
JSON_BLOCKS = {
    run.name: ("spec",),
    attempt.name: ("notes",),
    environment.name: ("packages", "hardware"),
    experiment.name: ("config",),
}
SAME = 1e-12  # relative; beyond it two copies of a score are different


@dataclass(frozen=True)
class Difference:
    """A metric on which two finished copies of a run disagree; None where a copy lacks it."""

    run_id: str
    split: str
    name: str
    step: int
    counted: float | None
    other: float | None


@dataclass
class MergeReport:
    """Counts of new experiments, runs and attempts and of runs that became finished, and the numbers that disagree."""

    experiments: int = 0
    runs: int = 0
    finished: int = 0
    attempts: int = 0
    differences: list[Difference] = field(default_factory=list)


def check_there(where: str | Path) -> None:
    """Raises InputError where the file of a database to merge does not exist."""
    url, name = parse(where)
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").exists():
        raise InputError(f"{name}: no such file; name the database whose results are to be taken over")


def merge(
    store: Store,
    where: str | Path,
    *,
    with_diffs: bool = False,
    prefer: Literal["ours", "theirs"] = "ours",
    identify: Callable[[Mapping[str, Any]], str] | None = None,
) -> MergeReport:
    """Copies into `store` the experiments, runs and attempts that only the database at `where` has.

    Of an uncommitted change of the code only the fact that there was one comes along, unless `with_diffs`. `prefer`:
    whose copy counts of a run that is finished here and there. `identify` gives the id that belongs to a spec; a run
    with another one is refused, before anything is written. Raises InputError for a malformed database.

    Every run is one transaction: workers of this database go on meanwhile, and a merge that was interrupted is
    completed by calling it again.
    """
    other = open_results(where)
    if _is_same(store, other):
        raise InputError(f"{other.name}: the same database; name another one to merge into {store.name}")
    report = MergeReport()
    try:
        with other.read() as connection, _malformed_as_input_error(other.name):
            source = _Source(connection)
            rows = source.rows(run, sa.true())
            _check_ids(rows, identify)
            for row in rows:
                with store.write() as target:
                    _RunMerge(store, source, target, row, with_diffs, prefer).into(report)
            report.experiments = _merge_experiments(store, source)
    finally:
        other.close()
    return report


@dataclass(frozen=True)
class _Source:
    """A database from elsewhere, whose rows are checked as they are read."""

    connection: Connection

    def rows(self, table: sa.Table, which: sa.ColumnElement[bool]) -> list[dict[str, Any]]:
        """The checked rows of a table, ordered by primary key. Raises ValueError for a value of a wrong type."""
        try:
            rows = self.connection.execute(sa.select(table).where(which).order_by(*table.primary_key)).mappings()
            return [_checked(table, row) for row in rows]
        except DBAPIError as error:
            raise ValueError(f"{table.name}: {first_line(error.orig or error)}") from error


def _check_ids(rows: Sequence[Mapping[str, Any]], identify: Callable[[Mapping[str, Any]], str] | None) -> None:
    if identify is None:
        return
    for row in rows:
        if (right := identify(json.loads(row["spec"]))) != row["id"]:
            raise ValueError(f"run {row['id'][:12]}: its spec is that of run {right[:12]}")


def copy_attempt(
    source: Connection,
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
    reading = _Source(source)
    for table in tables:
        rows = reading.rows(table, table.c.attempt_id == row["id"])
        insert_rows(target, sa.insert(table), ({**change(dict(copied)), "attempt_id": new_id} for copied in rows))
    return new_id


def _is_same(store: Store, other: Store) -> bool:
    if store.dialect == other.dialect == "sqlite":
        return Path(store.url.database or "").samefile(other.url.database or "")
    return store.url == other.url


@dataclass(frozen=True)
class _RunMerge:
    """The merge of one run of the source into the target, within one transaction."""

    store: Store
    source: _Source
    target: Connection
    incoming: Mapping[str, Any]  # the run as the source has it
    with_diffs: bool
    prefer: Literal["ours", "theirs"]

    def into(self, report: MergeReport) -> None:
        """Copies the run, its attempts and their results to the target, and counts them in the report."""
        here = self.target.execute(sa.select(run).where(run.c.id == self.incoming["id"])).mappings().first()
        if here is None:
            waiting = {"state": "planned", "finished_attempt": None, "finished_at": None}
            self.target.execute(sa.insert(run).values({**self.incoming, **waiting}))
        brought = self._bring_attempts()
        before = here["finished_attempt"] if here is not None and here["state"] == "done" else None
        counted = self._settle(before, new=here is None)
        refresh(self.target, [self.incoming["id"]], dependants=True)
        report.runs += here is None
        report.finished += counted is not None and (here is None or here["state"] != "done")
        report.attempts += brought
        if counted is not None and (brought or counted != before):
            report.differences += self._differences(counted)

    def _bring_attempts(self) -> int:
        """Copies ended attempts that the target lacks, voids those voided in the source; returns the number copied."""
        of_run = attempt.c.run_id == self.incoming["id"]
        states = sa.select(attempt.c.token, attempt.c.state).where(of_run)
        states_here = {token: state for token, state in self.target.execute(states)}
        brought = 0
        for row in self.source.rows(attempt, sa.and_(of_run, attempt.c.state != "running")):
            if row["token"] not in states_here:
                place = self._bring_environment(row["environment_id"])
                copy_attempt(self.source.connection, self.target, row, environment_id=place)
                brought += 1
            elif row["state"] == "void" and states_here[row["token"]] == "done":
                voided = sa.update(attempt).where(attempt.c.token == row["token"])
                self.target.execute(voided.values(state="void", reason=row["reason"]))
        return brought

    def _bring_environment(self, key: str | None) -> str | None:
        """Copies the environment of an attempt (code, packages, machine); returns its id in the target."""
        rows = self.source.rows(environment, environment.c.id == key)
        if not rows:
            return None
        row = rows[0]
        if row["git_diff"] and not self.with_diffs:
            row = Environment.of_row(row).without_diff().row()
        self.target.execute(self.store.insert_new(environment), row)
        return str(row["id"])

    def _settle(self, before: int | None, *, new: bool) -> int | None:
        """Sets the run's state by its attempts; returns the attempt whose results count. `before`: the one so far."""
        this, of_run = run.c.id == self.incoming["id"], attempt.c.run_id == self.incoming["id"]
        done = sa.select(attempt.c.id, attempt.c.ended_at).where(of_run, attempt.c.state == "done")
        wanted = (attempt.c.id == before, attempt.c.token == self._counted_there())
        first_wanted, then = wanted if self.prefer == "ours" else wanted[::-1]
        order = sa.case((first_wanted, 0), (then, 1), else_=2)
        # What decides between copies that count nowhere any more
        first = self.target.execute(done.order_by(order, attempt.c.ended_at, attempt.c.token).limit(1)).first()
        if first is not None:
            late = sa.update(attempt).where(of_run, attempt.c.state == "running")
            reason = "a merge brought a finished copy"
            self.target.execute(late.values(state="lost", ended_at=self.store.now, reason=reason))
            values = {"state": "done", "finished_attempt": first.id, "finished_at": first.ended_at, "void_reason": None}
            self.target.execute(sa.update(run).where(this).values(values))
            return first.id
        # Without a result: what was finished here has just been made void there, or the run is new here.
        voided = {"state": "void", "void_reason": self.incoming["void_reason"]}
        self.target.execute(sa.update(run).where(this, run.c.state == "done").values(voided))
        if new and self.incoming["state"] in ("failed", "void"):
            self.target.execute(sa.update(run).where(this).values(state=self.incoming["state"]))
        return None

    def _counted_there(self) -> str | None:
        """The token of the attempt whose results count in the source, or None."""
        number = self.incoming["finished_attempt"] if self.incoming["state"] == "done" else None
        rows = self.source.rows(attempt, attempt.c.id == number)
        return rows[0]["token"] if rows else None

    def _differences(self, counted: int) -> Iterator[Difference]:
        """Metrics on which other finished attempts of the run disagree with the attempt `counted`."""
        values = self._numbers(counted)
        others = sa.select(attempt.c.id).where(attempt.c.run_id == self.incoming["id"], attempt.c.state == "done")
        for other in self.target.execute(others.where(attempt.c.id != counted)).scalars().all():
            other_values = self._numbers(other)
            for key in sorted(values | other_values):
                if not _is_equal(values.get(key), other_values.get(key)):
                    split, name, step, _ = key
                    yield Difference(self.incoming["id"], split, name, step, values.get(key), other_values.get(key))

    def _numbers(self, attempt_id: int) -> dict[tuple[Any, ...], float | None]:
        """An attempt's metrics that should be equal in two copies of a run: all but times and curves of training."""
        columns = (metric.c.split, metric.c.name, metric.c.step, metric.c.condition, metric.c.value)
        rows = sa.select(*columns).where(metric.c.attempt_id == attempt_id, metric.c.split != "train")
        return {tuple(key): value for *key, value in self.target.execute(rows) if not key[1].endswith(TIMED)}


def _is_equal(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    return abs(first - second) <= SAME * max(abs(first), abs(second))


def _merge_experiments(store: Store, source: _Source) -> int:
    """Copies new experiments, the runs attached to any and the dependencies of runs; returns the number of new ones."""
    new = 0
    for part in chunks(source.rows(dependency, sa.true())):
        with store.write() as target:
            insert_rows(target, store.insert_new(dependency), part)
    for row in source.rows(experiment, sa.true()):
        with store.write() as target:
            this = sa.and_(experiment.c.name == row["name"], experiment.c.fingerprint == row["fingerprint"])
            here = target.execute(sa.select(experiment.c.id).where(this)).scalar()
            if here is None:
                new += 1
                values = {name: value for name, value in row.items() if name != "id"}
                here = target.execute(sa.insert(experiment).values(values).returning(experiment.c.id)).scalar_one()
        # Of an experiment that is here only runs that were attached later are new.
        rows = source.rows(experiment_run, experiment_run.c.experiment_id == row["id"])
        for part in chunks([{**member, "experiment_id": here} for member in rows]):
            with store.write() as target:
                insert_rows(target, store.insert_new(experiment_run), part)
                refresh(target, [member["run_id"] for member in part])
    return new


def _checked(table: sa.Table, row: RowMapping | Mapping[str, Any]) -> dict[str, Any]:
    """The row without passwords. Raises ValueError for a value that does not fit its column."""
    values = dict(row)
    for column in table.columns:
        if column.name not in values:
            raise ValueError(f"{table.name}: no column {column.name}")
        value = values[column.name]
        if not _fits(column, value):
            raise ValueError(f"{table.name}.{column.name}: {type(value).__name__} where {column.type} belongs")
    for name in JSON_BLOCKS[table.name] if table.name in JSON_BLOCKS else ():
        if not isinstance(json.loads(values[name]), dict):
            raise ValueError(f"{table.name}.{name}: no block of JSON")
    if table is predictions:
        for name in ("outputs", "targets"):
            try:
                check_packed(values[name], values["n"])
            except ValueError as error:
                raise ValueError(f"predictions.{name}: {error}") from error
    if table is artifact and leads_outside(values["url"]):
        raise ValueError(f"artifact.url: {values['url']!r} leads out of its folder")
    if table is attempt and (values["ended_at"] is None) != (values["state"] == "running"):
        raise ValueError("attempt.ended_at: does not agree with its state")
    if table is experiment:
        values["command"] = without_passwords(values["command"])
    return values


def _fits(column: sa.Column[Any], value: object) -> bool:
    if value is None:
        return bool(column.nullable)
    if isinstance(column.type, sa.LargeBinary):
        return isinstance(value, bytes)
    if isinstance(column.type, sa.Integer):
        return isinstance(value, int) and -(2**63) <= value < 2**63
    if isinstance(column.type, sa.Float):
        return isinstance(value, int | float) and math.isfinite(value)
    return isinstance(value, str)


@contextmanager
def _malformed_as_input_error(name: str) -> Iterator[None]:
    """A context that turns errors from malformed rows into an InputError, but not an outage of either database."""
    try:
        yield
    except (StatementError, ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        if isinstance(error, DBAPIError) and not isinstance(error, IntegrityError | DataError):
            raise
        cause = error.orig if isinstance(error, StatementError) and error.orig is not None else error
        raise InputError(f"{name}: malformed: {first_line(cause)}; {REMEDY}") from error
