"""The tables. SQLite and PostgreSQL hold the same; `migrations/` makes old databases equal to this.

Times are seconds since 1970 UTC as float: one type that both databases compare and subtract in the same way, and that
no time zone of a driver can shift. They are always taken from the database's clock, never from a worker's.
"""

from __future__ import annotations

import sqlalchemy as sa

SCHEMA = "0003"  # the newest revision in migrations/versions; raised with every change of a table

metadata = sa.MetaData()


def _text(name: str, *, null: bool = False, default: str | None = None) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=null, server_default=default)


def _time(name: str, *, null: bool = False) -> sa.Column[float]:
    return sa.Column(name, sa.Double, nullable=null)


def _one_of(column: str, *words: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(f"{column} IN ({', '.join(repr(word) for word in words)})", name=f"{column}_known")


STATES = ("planned", "running", "done", "failed", "void")

# One row per distinct set of runs that a name stood for: editing a file or overriding a key makes a new row, so that
# two people who sweep variants of one file at the same time do not take runs out of each other's hands.
experiment = sa.Table(
    "experiment",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    _text("name"),
    _text("fingerprint"),  # sha256 of the labels and run ids, in order
    _text("baseline"),  # the model that ratios refer to; a column because views read no JSON
    _text("config"),  # JSON
    _text("command"),
    _time("created_at"),
    _time("called_at"),  # of the last sweep: `report` speaks of the experiment that was called last
    sa.UniqueConstraint("name", "fingerprint", name="experiment_once"),
)

run = sa.Table(
    "run",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),  # sha256 of the canonical spec
    _text("kind"),
    _text("model"),  # as labelled by the experiment that planned it first; experiment_run.model is what views show
    _text("task", null=True),
    sa.Column("seed", sa.Integer),
    _text("encoder"),
    _text("spec"),  # JSON
    _text("data_fingerprint", null=True),
    _text("state", default="planned"),
    sa.Column("tries", sa.Integer, nullable=False, server_default="0"),  # failed ones; interrupted ones do not count
    # No foreign key: run and attempt would need each other, and SQLite cannot add one of the two later.
    sa.Column("finished_attempt", sa.Integer),
    _text("void_reason", null=True),
    _time("created_at"),
    _time("finished_at", null=True),
    _one_of("state", *STATES),
    # "Done" exists only beside the attempt that holds its results.
    sa.CheckConstraint("state <> 'done' OR finished_attempt IS NOT NULL", name="done_has_results"),
)

experiment_run = sa.Table(
    "experiment_run",
    metadata,
    sa.Column("experiment_id", sa.ForeignKey("experiment.id"), primary_key=True),
    sa.Column("run_id", sa.ForeignKey("run.id"), primary_key=True),
    sa.Column("model", sa.Text, primary_key=True),  # two labels of one experiment may stand for the same run
    sa.Column("position", sa.Integer, nullable=False),
    _text("metric", null=True),  # what the experiment's own table reads for this run
    _text("split", null=True),
    sa.Index("experiment_run_by_run", "run_id"),
)

dependency = sa.Table(
    "dependency",
    metadata,
    sa.Column("run_id", sa.ForeignKey("run.id"), primary_key=True),
    sa.Column("needs_run_id", sa.ForeignKey("run.id"), primary_key=True),
    sa.Index("dependency_by_need", "needs_run_id"),
)

# Apart from attempt, because a hundred runs of one machine and one checkout would repeat the same packages and diff.
environment = sa.Table(
    "environment",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),  # sha256 of the row
    _text("host"),
    _text("git_commit"),
    _text("git_diff"),
    _text("packages"),  # JSON
    _text("hardware"),  # JSON
    _text("hardware_name"),
)

attempt = sa.Table(
    "attempt",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("run_id", sa.ForeignKey("run.id"), nullable=False),
    sa.Column("token", sa.Text, nullable=False, unique=True),  # fences off a worker whose lease was taken over
    _text("worker"),
    sa.Column("environment_id", sa.ForeignKey("environment.id")),
    _time("started_at"),
    _time("heartbeat_at"),
    _time("lease_until"),
    _time("ended_at", null=True),
    _text("state"),
    _text("reason", null=True),
    _text("log", default=""),
    _text("notes", default="{}"),  # JSON: what a table must say about this run
    sa.Column("seconds", sa.Double),
    _one_of("state", "running", "done", "failed", "lost", "interrupted", "void"),
    sa.Index("attempt_by_run", "run_id"),
    sa.Index("attempt_by_lease", "state", "lease_until"),
)
# A second guard behind the claim: no two attempts of one run are ever in flight.
sa.Index(
    "one_running_attempt",
    attempt.c.run_id,
    unique=True,
    sqlite_where=attempt.c.state == "running",
    postgresql_where=attempt.c.state == "running",
)

# Results hang on the attempt, not on the run alone: of two finished copies that a merge brings together both stay,
# and run.finished_attempt says which one counts.
metric = sa.Table(
    "metric",
    metadata,
    sa.Column("attempt_id", sa.ForeignKey("attempt.id"), primary_key=True),
    sa.Column("split", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("step", sa.Integer, primary_key=True),
    # Another way of evaluating: a beam width, noise in the texts ('swap=0.05'); "" for the plain one.
    sa.Column("condition", sa.Text, primary_key=True),
    sa.Column("value", sa.Double),
    _text("reason", null=True),
    # SQLite turns NaN into NULL without a word, so a missing value must say why it is missing.
    sa.CheckConstraint("value IS NOT NULL OR reason IS NOT NULL", name="missing_has_reason"),
    sqlite_with_rowid=False,  # sorted by its key: a table and an index of the same columns would be twice as large
)

predictions = sa.Table(
    "predictions",
    metadata,
    sa.Column("attempt_id", sa.ForeignKey("attempt.id"), primary_key=True),
    sa.Column("split", sa.Text, primary_key=True),
    sa.Column("checkpoint", sa.Text, primary_key=True),
    sa.Column("outputs", sa.LargeBinary, nullable=False),  # .npy in zlib
    sa.Column("targets", sa.LargeBinary, nullable=False),
    _text("index_fingerprint"),  # of the row ids: two arrays compare row by row only where it is equal
    sa.Column("n", sa.Integer, nullable=False),
    sa.Column("condition", sa.Text, primary_key=True, server_default=""),  # as in metric
    _one_of("checkpoint", "best", "last"),
)

artifact = sa.Table(
    "artifact",
    metadata,
    sa.Column("attempt_id", sa.ForeignKey("attempt.id"), primary_key=True),
    sa.Column("kind", sa.Text, primary_key=True),
    _text("url"),  # relative to the artifact root
    sa.Column("bytes", sa.BigInteger, nullable=False),
    _text("sha256"),
)

# Which metric and split a paper reads for a task; filled from readings.csv together with the views.
reading = sa.Table(
    "reading",
    metadata,
    sa.Column("paper", sa.Text, primary_key=True),
    sa.Column("task", sa.Text, primary_key=True),
    _text("metric"),
    _text("split"),
)

setting = sa.Table("setting", metadata, sa.Column("key", sa.Text, primary_key=True), _text("value"))

# alembic's own table, declared here so that a new database needs no import of alembic.
alembic_version = sa.Table("alembic_version", metadata, sa.Column("version_num", sa.String(32), primary_key=True))
