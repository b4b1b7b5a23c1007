"""Sums of stored content, by which a changed bit is found: of attempts with results, runs, experiments, their members.

Whoever writes such rows calls `write` in the same transaction. The row of an environment needs none, since its id is
its sum. A sum covers what reports read: of an attempt also its metrics, predictions and files, of a run whose results
count; not what a queue changes all the time (leases, tries, turns).
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

from hashbench.store.engine import Store
from hashbench.store.schema import (
    artifact,
    attempt,
    chunks,
    content_sum,
    dialect_insert,
    experiment,
    experiment_run,
    insert_rows,
    metric,
    predictions,
    run,
)

RESULTS = (metric, predictions, artifact)  # tables that refer to an attempt
WITH_RESULTS = ("done", "void")  # states of attempts
OF_QUEUE = {"heartbeat_at", "lease_until", "turn", "free_tries", "tries", "state", "void_reason"}
COUNTING = ("finished_attempt", "finished_at")  # columns of a run that count while it is done

Ids = Sequence[Any] | None  # None: all
AnyRow = Mapping[str, Any] | RowMapping


def write(connection: Connection, kind: str, ids: Iterable[Any]) -> None:
    """Writes the sums of a kind (a key of KINDS) anew: of attempts, runs or experiments, or of the members of runs."""
    for part in chunks(list(dict.fromkeys(ids))):
        rows = [{"kind": kind, "of": of, "sha256": value} for of, value in KINDS[kind](connection, part)]
        for old in chunks([*map(str, part), *(row["of"] for row in rows)]):
            connection.execute(sa.delete(content_sum).where(content_sum.c.kind == kind, content_sum.c.of.in_(old)))
        insert_rows(connection, _insert_or_replace(connection), rows)


def _insert_or_replace(connection: Connection) -> sa.Insert:
    """An INSERT of sums that replaces stored ones: on a server two sweeps may write the same sum at once."""
    values = dialect_insert(connection.dialect.name, content_sum)
    new: sa.Insert = values.on_conflict_do_update(
        index_elements=[content_sum.c.kind, content_sum.c.of], set_={"sha256": values.excluded.sha256}
    )
    return new


def write_all(connection: Connection) -> None:
    """Writes the sums of all that is stored, which is taken for right."""
    connection.execute(sa.delete(content_sum))
    for kind, sums in KINDS.items():
        rows = ({"kind": kind, "of": of, "sha256": value} for of, value in sums(connection, None))
        insert_rows(connection, sa.insert(content_sum), rows)


def wrong(connection: Connection, kind: str, ids: Sequence[Any] | None = None) -> list[str]:
    """Ids of attempts, runs or experiments, or keys of members, whose content does not have the stored sum; in order.

    `ids`: only of these attempts, runs or experiments, fewer than SQL takes at once.
    """
    rows = sa.select(content_sum.c.of, content_sum.c.sha256).where(content_sum.c.kind == kind)
    rows = rows if ids is None else rows.where(content_sum.c.of.in_([str(of) for of in ids]))
    stored = {of: value for of, value in connection.execute(rows)}
    now = dict(KINDS[kind](connection, ids))
    return sorted(of for of in stored.keys() | now.keys() if stored.get(of) != now.get(of))


def changed_results(store: Store, run_ids: Iterable[str]) -> list[str]:
    """The finished runs whose stored results are no longer what was written."""
    changed: list[str] = []
    with store.read() as connection:
        for part in chunks(sorted(run_ids)):
            counting = sa.select(run.c.finished_attempt, run.c.id).where(run.c.id.in_(part), run.c.state == "done")
            by_attempt = {str(row.finished_attempt): row.id for row in connection.execute(counting)}
            changed += [by_attempt[of] for of in wrong(connection, "attempt", [int(of) for of in by_attempt])]
    return changed


def of_attempt(row: AnyRow, results: Mapping[str, Sequence[AnyRow]]) -> str:
    """The sum of an attempt's row and of its rows in the tables of RESULTS, by their names."""
    parts = [sorted(_values(table, of, "attempt_id") for of in results[table.name]) for table in RESULTS]
    return _sum([_values(attempt, row, "id", "heartbeat_at", "lease_until"), *parts])


def member_key(row: AnyRow) -> str:
    """The key of a member's sum: the experiment, and a sum of run and label."""
    return f"{row['experiment_id']} {_sum([row['run_id'], row['model']])}"


def _attempts(connection: Connection, ids: Ids) -> Iterator[tuple[str, str]]:
    which = attempt.c.state.in_(WITH_RESULTS)
    rows = connection.execute(_some(attempt, attempt.c.id, ids).where(which)).mappings().all()
    results = {table.name: _by(connection, table, "attempt_id", ids) for table in RESULTS}
    for row in rows:
        of_row = {name: by_attempt.get(row["id"], ()) for name, by_attempt in results.items()}
        yield str(row["id"]), of_attempt(row, of_row)


def _runs(connection: Connection, ids: Ids) -> Iterator[tuple[str, str]]:
    for row in connection.execute(_some(run, run.c.id, ids)).mappings():
        hidden = OF_QUEUE if row["state"] == "done" else {*OF_QUEUE, *COUNTING}
        yield str(row["id"]), _sum([row["state"] == "done", _values(run, row, *hidden)])


def _experiments(connection: Connection, ids: Ids) -> Iterator[tuple[str, str]]:
    for row in connection.execute(_some(experiment, experiment.c.id, ids)).mappings():
        yield str(row["id"]), _sum([_values(experiment, row)])


def _members(connection: Connection, run_ids: Ids) -> Iterator[tuple[str, str]]:
    """Sums of the members of experiments, by their keys."""
    for row in connection.execute(_some(experiment_run, experiment_run.c.run_id, run_ids)).mappings():
        yield member_key(row), _sum([_values(experiment_run, row, *OF_QUEUE)])


KINDS: dict[str, Callable[[Connection, Ids], Iterator[tuple[str, str]]]] = {
    "attempt": _attempts,
    "run": _runs,
    "experiment": _experiments,
    "member": _members,
}


def _some(table: sa.Table, key: sa.Column[Any], ids: Ids) -> sa.Select[Any]:
    return sa.select(table) if ids is None else sa.select(table).where(key.in_(ids))


def _by(connection: Connection, table: sa.Table, key: str, ids: Ids) -> dict[Any, list[AnyRow]]:
    """The rows of a table by a column."""
    groups: dict[Any, list[AnyRow]] = defaultdict(list)
    for row in connection.execute(_some(table, table.c[key], ids)).mappings():
        groups[row[key]].append(row)
    return groups


def _values(table: sa.Table, row: AnyRow, *hidden: str) -> str:
    """The values of a row as JSON, bytes as their sum."""
    values = [row[column.name] for column in table.columns if column.name not in hidden]
    return json.dumps(values, default=lambda data: hashlib.sha256(bytes(data)).hexdigest())


def _sum(content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()
