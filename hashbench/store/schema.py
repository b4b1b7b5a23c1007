"""The tables of the database, equal in SQLite and PostgreSQL; `migrations/` brings old databases to this schema.

Times are seconds since 1970 UTC as float: one type that both databases compare and subtract in the same way, and that
no time zone of a driver can shift. They are always taken from the database's clock, never from a worker's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

SCHEMA = "0006"  # the newest revision in migrations/versions; raised with every change of a table
FIRST_SCHEMA = "0005"  # the schema of version 0.1.0, the oldest that `db upgrade` knows
# the last commit with the migrations of older schemas, which all lead to FIRST_SCHEMA
BEFORE_FIRST = "02e8f6c54bceaddd8edd777b9d36e6aec3cd6457"

metadata = sa.MetaData()


def _column(
    kind: Any, name: str, *, null: bool = False, default: str | None = None, key: bool = False
) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=null, server_default=default, primary_key=key)


_text, _integer, _real = partial(_column, sa.Text), partial(_column, sa.Integer), partial(_column, sa.Double)


def _reference(name: str, target: str, *, null: bool = False, key: bool = False) -> sa.Column[Any]:
    return _column(sa.ForeignKey(target), name, null=null, key=key)


def _one_of(column: str, *words: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(f"{column} IN ({', '.join(repr(word) for word in words)})", name=f"{column}_known")


def _partial(index: sa.Index, rows: sa.ColumnElement[bool]) -> None:
    """Limits an index to some rows, when its table is created.

    With sqlite_where and postgresql_where, SQLAlchemy would load the dialects of both databases to check these words,
    for every command that reads one.
    """

    @sa.event.listens_for(index.table, "before_create")
    def limit(_: sa.Table, connection: Connection, **__: Any) -> None:
        index.dialect_options[connection.dialect.name]["where"] = rows


STATES = ("planned", "running", "done", "failed", "void")  # of runs
ATTEMPT_STATES = ("running", "done", "failed", "lost", "interrupted", "void")
CHECKPOINTS = ("best", "last")

# One row per distinct set of runs under a name: editing a file or overriding a key makes a new row, so that
# two people who sweep variants of one file at the same time do not take runs out of each other's hands.
experiment = sa.Table(
    "experiment",
    metadata,
    _integer("id", key=True),
    _text("name"),
    _text("fingerprint"),  # sha256 of the labels and run ids, in order
    _text("baseline"),  # the model that ratios refer to; a column because views read no JSON
    _text("config"),  # JSON
    _text("command"),
    _real("created_at"),
    _real("called_at"),  # of the last sweep: `report` speaks of the experiment that was called last
    sa.UniqueConstraint("name", "fingerprint", name="experiment_once"),
)

run = sa.Table(
    "run",
    metadata,
    _text("id", key=True),  # sha256 of the canonical spec
    _text("kind"),
    # as labelled by the experiment that planned it first; experiment_run.model is what views show
    _text("model"),
    _text("task", null=True),
    _integer("seed", null=True),
    _text("encoder"),
    _text("spec"),  # JSON
    _text("data_fingerprint", null=True),
    _text("state", default="planned"),
    _integer("tries", default="0"),  # failed ones; interrupted ones do not count
    # No foreign key: run and attempt would need each other, and SQLite cannot add one of the two later.
    _integer("finished_attempt", null=True),
    _text("void_reason", null=True),
    _real("created_at"),
    _real("finished_at", null=True),
    _one_of("state", *STATES),
    # "Done" exists only beside the attempt that holds its results.
    sa.CheckConstraint("state <> 'done' OR finished_attempt IS NOT NULL", name="done_has_results"),
)

experiment_run = sa.Table(
    "experiment_run",
    metadata,
    _reference("experiment_id", "experiment.id", key=True),
    _reference("run_id", "run.id", key=True),
    _text("model", key=True),  # two labels of one experiment may belong to the same run
    _integer("position"),  # in tables
    _text("metric", null=True),  # what the experiment's own table reads for this run
    _text("split", null=True),
    _integer("turn", default="0"),  # in which runs are claimed
    _integer("free_tries", null=True),  # failed tries of a run that can be claimed; NULL: it cannot (`free_runs.py`)
    sa.Index("experiment_run_by_run", "run_id"),
)
# Partial index over claimable runs only, so that a claim reads one entry.
_partial(
    sa.Index("experiment_run_free", experiment_run.c.experiment_id, experiment_run.c.turn, experiment_run.c.free_tries),
    experiment_run.c.free_tries.is_not(None),
)

dependency = sa.Table(
    "dependency",
    metadata,
    _reference("run_id", "run.id", key=True),
    _reference("needs_run_id", "run.id", key=True),
    sa.Index("dependency_by_need", "needs_run_id"),
)

# Apart from attempt, because a hundred runs of one machine and one checkout would repeat the same packages and diff.
environment = sa.Table(
    "environment",
    metadata,
    _text("id", key=True),  # sha256 of the row
    _text("host"),
    _text("git_commit"),
    _text("git_diff"),
    _text("packages"),  # JSON
    _text("hardware"),  # JSON
    _text("hardware_name"),
    _text("git_tree", default=""),  # of the package in that commit; the same after a rebase
)

attempt = sa.Table(
    "attempt",
    metadata,
    _integer("id", key=True),
    _reference("run_id", "run.id"),
    # fences off a worker whose lease was taken over
    sa.Column("token", sa.Text, nullable=False, unique=True),
    _text("worker"),
    _reference("environment_id", "environment.id", null=True),
    _real("started_at"),
    _real("heartbeat_at"),
    _real("lease_until"),
    _real("ended_at", null=True),
    _text("state"),
    _text("reason", null=True),
    _text("log", default=""),
    _text("notes", default="{}"),  # JSON: what a table must say about this run
    _real("seconds", null=True),
    _one_of("state", *ATTEMPT_STATES),
    sa.Index("attempt_by_run", "run_id"),
    sa.Index("attempt_by_lease", "state", "lease_until"),
)
# Behind the claim, which is careful by itself: the database refuses a second running attempt of a run.
_partial(sa.Index("one_running_attempt", attempt.c.run_id, unique=True), attempt.c.state == "running")

# Results hang on the attempt, not on the run alone: of two finished copies that a merge brings together both stay,
# and run.finished_attempt says which one counts.
metric = sa.Table(
    "metric",
    metadata,
    _reference("attempt_id", "attempt.id", key=True),
    _text("split", key=True),
    _text("name", key=True),
    _integer("step", key=True),
    # Another way of evaluating: a beam width, noise in the texts ('swap=0.05'); "" for the plain one.
    _text("condition", key=True),
    _real("value", null=True),
    _text("reason", null=True),
    # SQLite turns NaN into NULL without a word, so a missing value must say why it is missing.
    sa.CheckConstraint("value IS NOT NULL OR reason IS NOT NULL", name="missing_has_reason"),
    # sorted by its key: a table and an index of the same columns would be twice as large
    sqlite_with_rowid=False,
)

predictions = sa.Table(
    "predictions",
    metadata,
    _reference("attempt_id", "attempt.id", key=True),
    _text("split", key=True),
    _text("checkpoint", key=True),
    sa.Column("outputs", sa.LargeBinary, nullable=False),  # .npy in zlib
    sa.Column("targets", sa.LargeBinary, nullable=False),
    # of the row ids: two arrays compare row by row only where it is equal
    _text("index_fingerprint"),
    _integer("n"),
    _text("condition", key=True, default=""),  # as in metric
    _one_of("checkpoint", *CHECKPOINTS),
)

artifact = sa.Table(
    "artifact",
    metadata,
    _reference("attempt_id", "attempt.id", key=True),
    _text("kind", key=True),
    _text("url"),  # relative to the artifact root
    sa.Column("bytes", sa.BigInteger, nullable=False),
    _text("sha256"),
)

# Which metric and split a paper reads for a task; filled from readings.csv together with the views.
reading = sa.Table(
    "reading",
    metadata,
    _text("paper", key=True),
    _text("task", key=True),
    _text("metric"),
    _text("split"),
)

# What attempts with results, runs and experiments contain, so that a changed bit is found (sums.py)
content_sum = sa.Table("content_sum", metadata, _text("kind", key=True), _text("of", key=True), _text("sha256"))

setting = sa.Table("setting", metadata, _text("key", key=True), _text("value"))

# alembic's own table, declared here so that a new database needs no import of alembic.
alembic_version = sa.Table("alembic_version", metadata, sa.Column("version_num", sa.String(32), primary_key=True))


Item = TypeVar("Item")
CHUNK = 500  # ids an IN clause; SQLite's oldest limit is 999 parameters


def chunks(rows: Sequence[Item], size: int = CHUNK) -> Iterator[Sequence[Item]]:
    """The rows in parts of at most `size`, small enough for one SQL statement."""
    return (rows[start : start + size] for start in range(0, len(rows), size))


def dialect_insert(dialect: str, table: sa.Table) -> Any:
    """The INSERT of a dialect, which can say what happens to rows whose key is there already."""
    if dialect == "sqlite":
        from sqlalchemy.dialects.sqlite import insert as sqlite_insert

        return sqlite_insert(table)
    from sqlalchemy.dialects.postgresql import insert  # loads all its drivers, which takes a while

    return insert(table)


def insert_rows(connection: Connection, insert: sa.Insert, rows: Iterable[Mapping[str, Any] | RowMapping]) -> None:
    """Inserts any number of rows; an empty list inserts nothing, where SQLAlchemy would insert a row of defaults."""
    values = [dict(row) for row in rows]
    if values:
        connection.execute(insert, values)
