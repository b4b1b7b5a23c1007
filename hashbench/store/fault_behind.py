"""The row of an open database that an error in reading comes from.

No database is gone through before it is read. When a read fails, all rows are, one by one, for the one to name.
"""

from __future__ import annotations

import json
import sqlite3
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

from hashbench.common.errors import InputError
from hashbench.store import sums
from hashbench.store.engine import Store
from hashbench.store.malformed import REMEDY, Fault, faults, owner_of
from hashbench.store.schema import content_sum, experiment, run

READERS = ("/hashbench/store/", "/hashbench/results/", "/hashbench/cli/status.py")


def fault_behind(
    error: Exception, stores: Iterable[Store], *, identify: Callable[[Mapping[str, Any]], str] | None = None
) -> str:
    """A line on the malformed row of an open database that an error in reading comes from, '' if there is none.

    Of a database that may be written, only for an error of the code that reads it: a sweep has other errors too.
    """
    files = {frame.filename for frame in traceback.extract_tb(error.__traceback__)}
    is_of_reading = any(place in file.replace("\\", "/") for file in files for place in READERS)
    for store in stores:
        if not (store.read_only or is_of_reading):
            continue
        with suppress(DBAPIError, sqlite3.Error, InputError), store.read() as connection:
            every = chain(
                faults(connection),
                _keyless(connection, error),
                _of_other_ids(connection, identify),
                _changed(connection),
            )
            first = next(every, None)
            if first is not None:
                return f"{store.name}: {first}; {REMEDY}"
    return ""


def _keyless(connection: Connection, error: Exception) -> Iterator[Fault]:
    """Yields the first run, else experiment, whose block of JSON lacks the key that a reader has missed."""
    if not isinstance(error, KeyError) or not error.args or not isinstance(error.args[0], str):
        return
    key = error.args[0]
    for table, column in ((run, run.c.spec), (experiment, experiment.c.config)):
        blocks = [(row, json.loads(row[column.name])) for row in connection.execute(sa.select(table)).mappings()]
        having = [_has_key(block, key) for _, block in blocks]
        for (row, _), has in zip(blocks, having, strict=True):
            if any(having) and not has:
                owner = owner_of(table.name, row, lambda _: None)
                yield Fault(owner, f"{table.name}.{column.name}", f"no key {key!r}")


def _of_other_ids(connection: Connection, identify: Callable[[Mapping[str, Any]], str] | None) -> Iterator[Fault]:
    """Yields the runs whose ids are not those of their specs, unless all have ids of another kind.

    `identify` gives the id that belongs to the spec of a run.
    """
    others, n = [], 0
    for row in connection.execute(sa.select(run.c.id, run.c.spec)) if identify is not None else ():
        n += 1
        try:
            is_right = identify is not None and identify(json.loads(row.spec)) == row.id
        except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
            is_right = False
        others += [] if is_right else [row.id]
    for run_id in others if len(others) < n else ():
        yield Fault(f"run {run_id[:12]}", "run.spec", "its id is not that of its spec")


def _has_key(block: object, key: str) -> bool:
    parts = block.values() if isinstance(block, dict) else block if isinstance(block, list) else ()
    return (isinstance(block, dict) and key in block) or any(_has_key(part, key) for part in parts)


def _changed(connection: Connection) -> Iterator[Fault]:
    """Yields what is not what was stored, by its sum; the column is not known then."""
    if content_sum.name not in sa.inspect(connection).get_table_names():
        return
    for kind in ("run", "experiment", "attempt"):
        for of in sums.wrong(connection, kind):
            yield Fault(f"{kind} {of[:12]}", "", "changed since it was stored")
