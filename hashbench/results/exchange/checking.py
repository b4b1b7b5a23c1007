"""Looking for damage in a database: content and files against sums, ids against specs, scores against outputs.

A changed bit can leave a database that opens, in which a number is wrong. Nothing is repaired: whoever finds damage
takes a whole copy, or makes the run void and lets the next sweep do it again.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

from hashbench.common.errors import InputError, first_line
from hashbench.scores.base import metrics
from hashbench.store import malformed, sums, views
from hashbench.store.engine import Store
from hashbench.store.environment import Environment
from hashbench.store.malformed import Fault, faults
from hashbench.store.result import Predictions, leads_outside
from hashbench.store.schema import artifact, attempt, content_sum, environment, metric, predictions, reading, run

EQUAL = 1e-9  # a score computed again may differ by it, since libraries of other versions sum in another order
COPY_REMEDY = "take a copy that is whole"
READERS = ("/hashbench/store/", "/hashbench/results/", "/hashbench/cli/status.py")
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

Check = Callable[[Store, Connection], Iterator[Fault]]


def has_sums(store: Store) -> bool:
    """True where the database has sums; one of an older schema gets them by an upgrade."""
    with store.read() as connection:
        return content_sum.name in sa.inspect(connection).get_table_names()


def find_damage(
    store: Store, *, identify: Callable[[Mapping[str, Any]], str], files: Path | None = None
) -> Iterator[Fault]:
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
            yield Fault("file", "", f"cannot be read: {first_line(cause)}")
    if files is not None:
        with store.read() as connection:
            yield from _files(connection, files)


def fault_behind(
    error: Exception, stores: Iterable[Store], *, identify: Callable[[Mapping[str, Any]], str] | None = None
) -> str:
    """A line on the malformed row of an open database that an error in reading comes from, '' if there is none.

    No database is gone through before it is read. Of one that may be written, only an error of the code that reads it
    comes from its rows: a sweep has other errors too.
    """
    files = {frame.filename for frame in traceback.extract_tb(error.__traceback__)}
    is_of_reading = any(place in file.replace("\\", "/") for file in files for place in READERS)
    for store in stores:
        if not (store.read_only or is_of_reading):
            continue
        with suppress(DBAPIError, sqlite3.Error, InputError), store.read() as connection:
            ids = [] if identify is None else list(_ids(store, connection, identify))
            if len(ids) == connection.execute(sa.select(sa.func.count()).select_from(run)).scalar():
                ids = []  # all are ids of another kind
            first = next(chain(faults(connection), ids, _sums(store, connection)), None)
            if first is not None:
                return f"{store.name}: {first}; {malformed.DAMAGE_REMEDY}"
    return ""


def _structure(store: Store, connection: Connection) -> Iterator[Fault]:
    """Damage of a SQLite file as SQLite itself finds it."""
    if store.dialect == "sqlite":
        for (line,) in connection.exec_driver_sql("PRAGMA integrity_check(20)").all():
            if line != "ok":
                yield Fault("file", "", str(line).splitlines()[0])
        for row in connection.exec_driver_sql("PRAGMA foreign_key_check").all():
            yield Fault("file", "", f"a row of table {row[0]} refers to a missing one of {row[2]}")


def _sums(store: Store, connection: Connection) -> Iterator[Fault]:
    """Attempts, runs and experiments that are not what they were when they were written."""
    if content_sum.name not in sa.inspect(connection).get_table_names():
        return
    runs = {str(row.id): row.run_id for row in connection.execute(sa.select(attempt.c.id, attempt.c.run_id))}
    for number in sums.wrong(connection, "attempt"):
        where = f"run {runs[number][:12]}" if number in runs else f"attempt {number}"
        yield Fault(where, "", f"attempt {number} changed since it was stored")
    for run_id in sums.wrong(connection, "run"):
        yield Fault(f"run {run_id[:12]}", "", "changed since it was stored")
    for number in sums.wrong(connection, "experiment"):
        yield Fault(f"experiment {number}", "", "changed since it was stored")
    for key in sums.wrong(connection, "member"):
        yield Fault(f"experiment {key.split()[0]}", "", "a run of it changed since it was stored")


def _environments(_: Store, connection: Connection) -> Iterator[Fault]:
    for row in connection.execute(sa.select(environment)).mappings():
        if Environment.of_row(dict(row)).row()["id"] != row["id"]:
            yield Fault(f"environment {str(row['id'])[:12]}", "", "changed since it was stored")


def _ids(_: Store, connection: Connection, identify: Callable[[Mapping[str, Any]], str]) -> Iterator[Fault]:
    for row in connection.execute(sa.select(run.c.id, run.c.spec)):
        try:
            is_right = identify(json.loads(row.spec)) == row.id
        except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
            is_right = False
        if not is_right:
            yield Fault(f"run {row.id[:12]}", "run.spec", "its id is not that of its spec")


def _scores(_: Store, connection: Connection) -> Iterator[Fault]:
    """Scores that do not follow from the outputs stored beside them."""
    with_outputs = sa.select(attempt.c.id, attempt.c.run_id).where(attempt.c.state == "done")
    with_outputs = with_outputs.where(attempt.c.id.in_(sa.select(predictions.c.attempt_id)))
    for number, run_id in connection.execute(with_outputs.order_by(attempt.c.id)).all():
        try:
            wrong = list(_wrong_scores(connection, number))
        except (ValueError, TypeError, DBAPIError) as error:
            wrong = [f"attempt {number} cannot be read: {first_line(error)}"]
        for what in wrong:
            yield Fault(f"run {run_id[:12]}", "", what)


def _wrong_scores(connection: Connection, attempt_id: int) -> Iterator[str]:
    """The scores of an attempt that do not follow from its outputs, in words."""
    of_metrics = sa.select(metric).where(metric.c.attempt_id == attempt_id)
    scores = connection.execute(of_metrics).mappings().all()
    steps = {row["name"]: row["value"] for row in scores if (row["split"], row["condition"]) == ("", "")}
    outputs: dict[tuple[str, int, str], Predictions] = {}
    for row in connection.execute(sa.select(predictions).where(predictions.c.attempt_id == attempt_id)).mappings():
        if (step := steps.get(f"{row['checkpoint']}_step")) is not None:
            outputs[row["split"], int(step), row["condition"]] = Predictions.of_row(row)
    known_metrics = metrics()
    for row in scores:
        stored = outputs.get((row["split"], row["step"], row["condition"]))
        if stored is None or row["name"] not in known_metrics:
            continue
        again = known_metrics[row["name"]].scored(stored.targets, stored.outputs).value
        if not _is_equal(row["value"], again):
            score = f"{row['split']} {row['name']} step {row['step']} {row['condition']}".strip()
            yield f"attempt {attempt_id}: {score} is {row['value']}, by its outputs {again}"


def _invariants(_: Store, connection: Connection) -> Iterator[Fault]:
    for what, sql in INVARIANTS.items():
        for run_id in connection.execute(sa.text(sql)).scalars():
            yield Fault(f"run {str(run_id)[:12]}", "", what)


def _views(store: Store, connection: Connection) -> Iterator[Fault]:
    """Views and readings that differ from this program's, although the database says that they are."""
    if store.dialect != "sqlite" or not views.are_current(connection):
        return
    rows = connection.execute(sa.select(reading)).mappings()
    if sorted(map(str, map(dict, rows))) != sorted(map(str, views.readings())):
        yield Fault("table reading", "", f"changed since it was stored; {COPY_REMEDY}")
    texts = {
        name: text
        for name, text in connection.exec_driver_sql("SELECT name, sql FROM main.sqlite_master WHERE type = 'view'")
    }
    for name, text in views.VIEWS.items():
        if texts.get(name) != f"CREATE VIEW {name} AS\n{text}":
            yield Fault(f"view {name}", "", f"changed since it was stored; {COPY_REMEDY}")


def _files(connection: Connection, root: Path) -> Iterator[Fault]:
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
            yield Fault(f"run {stored[0].run_id[:12]}", "", f"{path} is not the file that it left; remove it")


def _is_equal(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    return abs(first - second) <= EQUAL
