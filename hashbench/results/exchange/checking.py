"""Looking for damage in a database: content and files against sums, ids against specs, scores against outputs.

A changed bit can leave a database that opens, in which a number is wrong. What is damaged is repaired only where the
result is proved: scores that are computed again from the outputs and then fit the stored sum. All else becomes void.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping
from sqlalchemy.exc import DBAPIError

from hashbench.common.errors import InputError, first_line
from hashbench.scores.registry import metrics
from hashbench.store import sums, views
from hashbench.store.engine import Store
from hashbench.store.environment import Environment
from hashbench.store.finishing import void
from hashbench.store.result import Predictions, leads_outside
from hashbench.store.schema import artifact, attempt, content_sum, environment, metric, predictions, reading, run

EQUAL = 1e-9  # a score computed again may differ by it, since libraries of other versions sum in another order
REASON = "its content is damaged"  # of a run that a repair makes void
REMEDY = "take a copy that is whole"
INVARIANTS = {
    "is done without the attempt that finished it": (
        "SELECT r.id FROM run r LEFT JOIN attempt a ON a.id = r.finished_attempt AND a.run_id = r.id "
        "AND a.state = 'done' WHERE r.state = 'done' AND a.id IS NULL"
    ),
    "has a finished attempt, and is not done": (
        "SELECT r.id FROM run r WHERE r.state <> 'done' "
        "AND EXISTS (SELECT 1 FROM attempt a WHERE a.run_id = r.id AND a.state = 'done')"
    ),
    "has an ended attempt without its end": (
        "SELECT run_id FROM attempt WHERE (state = 'running') <> (ended_at IS NULL)"
    ),
    "has results of an attempt without any": (
        "SELECT a.run_id FROM attempt a WHERE a.state NOT IN ('done', 'void') "
        "AND (EXISTS (SELECT 1 FROM metric m WHERE m.attempt_id = a.id) "
        "OR EXISTS (SELECT 1 FROM predictions p WHERE p.attempt_id = a.id))"
    ),
}  # fmt: skip

ResultRows = Sequence[Mapping[str, Any] | RowMapping]


@dataclass(frozen=True)
class Damage:
    """A place in a database whose content is not what it was, or not what other content says."""

    where: str  # "run 3fa2...", "experiment 4", "file"
    what: str
    run_id: str | None = None
    attempt_id: int | None = None

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


Check = Callable[[Store, Connection], Iterator[Damage]]


def has_sums(store: Store) -> bool:
    """True where the database has sums; one of an older schema gets them by an upgrade."""
    with store.read() as connection:
        return content_sum.name in sa.inspect(connection).get_table_names()


def find_damage(
    store: Store, *, identify: Callable[[Mapping[str, Any]], str], files: Path | None = None
) -> Iterator[Damage]:
    """Yields all damage that can be seen, in the order of the checks. `files`: folder of the artifacts that are here.

    Raises InputError where the file is so damaged that its rows cannot be read.
    """
    ids = partial(_ids, identify=identify)
    checks: list[Check] = [_structure, _sums, _environments, ids, _invariants, _views, _scores]
    for check in checks:
        try:
            with store.read() as connection:
                yield from dict.fromkeys(check(store, connection))
        except (DBAPIError, ValueError, TypeError, KeyError) as error:
            cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
            yield Damage("file", f"cannot be read: {first_line(cause)}")
    if files is not None:
        with store.read() as connection:
            yield from _files(connection, files)


def repair(store: Store, damage: Sequence[Damage]) -> Iterator[str]:
    """Repairs what can be proved right, makes void what cannot, and yields a line for each. Copy the database first."""
    done: set[int | str] = set()
    for item in damage:
        if item.attempt_id is not None and item.attempt_id not in done:
            done.add(item.attempt_id)
            yield f"{item.where}: {_repaired(store, item.attempt_id)}"
        elif item.attempt_id is None and item.run_id is not None and item.run_id not in done:
            done.add(item.run_id)
            try:
                yield f"{item.where}: void, with {len(void(store, item.run_id, REASON)) - 1} built on it"
            except InputError as error:
                yield f"{error}; {REMEDY}"


def _structure(store: Store, connection: Connection) -> Iterator[Damage]:
    """Damage of a SQLite file as SQLite itself finds it."""
    if store.dialect == "sqlite":
        for (line,) in connection.exec_driver_sql("PRAGMA integrity_check(20)").all():
            if line != "ok":
                yield Damage("file", str(line).splitlines()[0])
        for row in connection.exec_driver_sql("PRAGMA foreign_key_check").all():
            yield Damage("file", f"a row of table {row[0]} refers to a missing one of {row[2]}")


def _sums(store: Store, connection: Connection) -> Iterator[Damage]:
    """Attempts, runs and experiments that are not what they were when they were written."""
    if content_sum.name not in sa.inspect(connection).get_table_names():
        return
    of_attempt = {str(row.id): row for row in connection.execute(sa.select(attempt.c.id, attempt.c.run_id))}
    for number in sums.wrong(connection, "attempt"):
        row = of_attempt.get(number)
        where = f"run {row.run_id[:12]}" if row else f"attempt {number}"
        yield Damage(where, f"attempt {number} changed since it was stored", None, row.id if row else None)
    for run_id in sums.wrong(connection, "run"):
        yield Damage(f"run {run_id[:12]}", "changed since it was stored", run_id)
    for number in sums.wrong(connection, "experiment"):
        yield Damage(f"experiment {number}", f"changed since it was stored; {REMEDY}")
    for key in sums.wrong(connection, "member"):
        yield Damage(f"experiment {key.split()[0]}", f"a run of it changed since it was stored; {REMEDY}")


def _environments(_: Store, connection: Connection) -> Iterator[Damage]:
    for row in connection.execute(sa.select(environment)).mappings():
        if Environment.of_row(dict(row)).row()["id"] != row["id"]:
            yield Damage(f"environment {str(row['id'])[:12]}", "changed since it was stored")


def _ids(_: Store, connection: Connection, identify: Callable[[Mapping[str, Any]], str]) -> Iterator[Damage]:
    for row in connection.execute(sa.select(run.c.id, run.c.spec)):
        try:
            is_right = identify(json.loads(row.spec)) == row.id
        except (ValueError, TypeError, AttributeError, RecursionError):
            is_right = False
        if not is_right:
            yield Damage(f"run {row.id[:12]}", "its id is not that of its spec", row.id)


def _scores(_: Store, connection: Connection) -> Iterator[Damage]:
    """Scores that are not those of the outputs stored beside them."""
    with_outputs = sa.select(attempt.c.id).where(attempt.c.state == "done")
    with_outputs = with_outputs.where(attempt.c.id.in_(sa.select(predictions.c.attempt_id)))
    for number in connection.execute(with_outputs.order_by(attempt.c.id)).scalars().all():
        row = connection.execute(sa.select(attempt).where(attempt.c.id == number)).mappings().one()
        where = f"run {row['run_id'][:12]}"
        try:
            stored = _results(connection, number)
            again = _computed_again(stored)
        except (ValueError, TypeError, DBAPIError) as error:
            yield Damage(where, f"attempt {number} cannot be read: {first_line(error)}", None, number)
            continue
        for before, after in zip(stored[metric.name], again[metric.name], strict=True):
            if not _is_equal(before["value"], after["value"]):
                of = f"{before['split']} {before['name']} step {before['step']} {before['condition']}".strip()
                what = f"attempt {number}: {of} is {before['value']}, by its outputs {after['value']}"
                yield Damage(where, what, None, number)


def _invariants(_: Store, connection: Connection) -> Iterator[Damage]:
    for what, sql in INVARIANTS.items():
        for run_id in connection.execute(sa.text(sql)).scalars():
            yield Damage(f"run {str(run_id)[:12]}", what, None)


def _views(store: Store, connection: Connection) -> Iterator[Damage]:
    """Views and readings that are not those of this program, although the database says so."""
    if store.dialect != "sqlite" or not views.are_current(connection):
        return
    rows = connection.execute(sa.select(reading)).mappings()
    if sorted(map(str, map(dict, rows))) != sorted(map(str, views.readings())):
        yield Damage("table reading", f"changed since it was stored; {REMEDY}")
    texts = {
        name: text
        for name, text in connection.exec_driver_sql("SELECT name, sql FROM main.sqlite_master WHERE type = 'view'")
    }
    for name, text in views.VIEWS.items():
        if texts.get(name) != f"CREATE VIEW {name} AS\n{text}":
            yield Damage(f"view {name}", f"changed since it was stored; {REMEDY}")


def _files(connection: Connection, root: Path) -> Iterator[Damage]:
    """Files of finished runs that are here and not what their attempt stored."""
    rows = sa.select(artifact, attempt.c.run_id).join_from(artifact, attempt).where(attempt.c.state == "done")
    by_url: dict[str, list[Any]] = defaultdict(list)
    for row in connection.execute(rows):
        by_url[row.url].append(row)
    for url, stored in by_url.items():
        path = root / url
        if leads_outside(url) or not path.is_file():
            continue
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        if content not in {row.sha256 for row in stored}:
            yield Damage(f"run {stored[0].run_id[:12]}", f"{path} is not the file that it left; remove it")


def _results(connection: Connection, attempt_id: int) -> dict[str, ResultRows]:
    """An attempt's rows by table."""
    return {
        table.name: connection.execute(sa.select(table).where(table.c.attempt_id == attempt_id)).mappings().all()
        for table in sums.RESULTS
    }


def _computed_again(results: Mapping[str, ResultRows]) -> dict[str, ResultRows]:
    """An attempt's rows with the scores of its stored outputs in place of those that were stored."""
    known_metrics = metrics()
    values = {
        tuple(row[name] for name in ("split", "name", "step", "condition")): row["value"] for row in results["metric"]
    }
    outputs: dict[tuple[str, int, str], Predictions] = {}
    for row in results[predictions.name]:
        step = values.get(("", f"{row['checkpoint']}_step", 0, ""))
        if step is not None:
            outputs[row["split"], int(step), row["condition"]] = Predictions.of_row(row)  # type: ignore[arg-type]
    again: list[Mapping[str, Any] | RowMapping] = []
    for row in results[metric.name]:
        of = outputs.get((row["split"], row["step"], row["condition"]))
        if of is None or row["name"] not in known_metrics:
            again.append(row)
        else:
            again.append({**row, "value": known_metrics[row["name"]].scored(of.targets, of.outputs).value})
    return {**results, metric.name: again}


def _repaired(store: Store, attempt_id: int) -> str:
    """Repairs an attempt or makes it void; returns a phrase on which."""
    with store.write() as connection:
        row = connection.execute(sa.select(attempt).where(attempt.c.id == attempt_id)).mappings().one()
        kept = sa.select(content_sum.c.sha256).where(
            content_sum.c.kind == "attempt", content_sum.c.of == str(attempt_id)
        )
        right = connection.execute(kept).scalar()
        try:
            stored = _results(connection, attempt_id)
            again = _computed_again(stored)
        except (ValueError, TypeError, DBAPIError):
            stored = again = {}
        if again and sums.of_attempt(row, again) == right:
            for before, after in zip(stored[metric.name], again[metric.name], strict=True):
                key = [metric.c[column.name] == before[column.name] for column in metric.primary_key]
                connection.execute(sa.update(metric).where(*key).values(value=after["value"]))
            return f"the scores of attempt {attempt_id} were computed again from its outputs, and fit their sum"
        counting = sa.select(run.c.id).where(run.c.finished_attempt == attempt_id, run.c.state == "done")
        run_id = connection.execute(counting).scalar()
        if run_id is None:
            connection.execute(sa.update(attempt).where(attempt.c.id == attempt_id).values(state="void", reason=REASON))
            sums.write(connection, "attempt", [attempt_id])
            return f"attempt {attempt_id}, which did not count, is void"
    return f"void, with {len(void(store, run_id, REASON)) - 1} built on it"


def _is_equal(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    return abs(first - second) <= EQUAL
