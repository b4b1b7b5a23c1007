"""The tables of version 0.1.0, where the migrations begin: written out, since a released schema never changes.

New databases are created from schema.py. Its number is that of the last schema before 0.1.0, whose tables are equal.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = None
branch_labels = None
depends_on = None


def _column(kind: Any, name: str, to: str = "", *, null: bool = False, default: str | None = None,
            key: bool = False) -> sa.Column[Any]:  # fmt: skip
    """A column; `to`: the column of another table that it refers to."""
    references = [sa.ForeignKey(to)] if to else []
    return sa.Column(name, kind, *references, nullable=null, server_default=default, primary_key=key)


_text, _integer, _real = partial(_column, sa.Text), partial(_column, sa.Integer), partial(_column, sa.Double)
_binary = partial(_column, sa.LargeBinary)


def upgrade() -> None:
    """Creates the tables in an empty database."""
    _plans()
    _attempts()
    _results()


def downgrade() -> None:
    """Raises NotImplementedError, since there is nothing before the first schema."""
    raise NotImplementedError("a database is never taken back to no schema; delete the file instead")


def _plans() -> None:
    op.create_table(
        "experiment", _integer("id", key=True), _text("name"), _text("fingerprint"), _text("baseline"), _text("config"),
        _text("command"), _real("created_at"), _real("called_at"),
        sa.UniqueConstraint("name", "fingerprint", name="experiment_once"),
    )  # fmt: skip
    op.create_table(
        "run", _text("id", key=True), _text("kind"), _text("model"), _text("task", null=True),
        _integer("seed", null=True), _text("encoder"), _text("spec"), _text("data_fingerprint", null=True),
        _text("state", default="planned"), _integer("tries", default="0"), _integer("finished_attempt", null=True),
        _text("void_reason", null=True), _real("created_at"), _real("finished_at", null=True),
        sa.CheckConstraint("state IN ('planned', 'running', 'done', 'failed', 'void')", name="state_known"),
        sa.CheckConstraint("state <> 'done' OR finished_attempt IS NOT NULL", name="done_has_results"),
    )  # fmt: skip
    op.create_table(
        "experiment_run", _integer("experiment_id", "experiment.id", key=True),
        _text("run_id", "run.id", key=True), _text("model", key=True), _integer("position"),
        _text("metric", null=True), _text("split", null=True), _integer("turn", default="0"),
        _integer("free_tries", null=True),
    )  # fmt: skip
    op.create_index("experiment_run_by_run", "experiment_run", ["run_id"])
    _partial_index("experiment_run_free", "experiment_run", "free_tries IS NOT NULL",
                   "experiment_id", "turn", "free_tries")  # fmt: skip
    op.create_table("dependency", _text("run_id", "run.id", key=True), _text("needs_run_id", "run.id", key=True))
    op.create_index("dependency_by_need", "dependency", ["needs_run_id"])


def _attempts() -> None:
    op.create_table(
        "environment", _text("id", key=True), _text("host"), _text("git_commit"), _text("git_diff"), _text("packages"),
        _text("hardware"), _text("hardware_name"), _text("git_tree", default=""),
    )  # fmt: skip
    op.create_table(
        "attempt", _integer("id", key=True), _text("run_id", "run.id"),
        sa.Column("token", sa.Text, nullable=False, unique=True), _text("worker"),
        _text("environment_id", "environment.id", null=True), _real("started_at"), _real("heartbeat_at"),
        _real("lease_until"), _real("ended_at", null=True), _text("state"), _text("reason", null=True),
        _text("log", default=""), _text("notes", default="{}"), _real("seconds", null=True),
        sa.CheckConstraint(
            "state IN ('running', 'done', 'failed', 'lost', 'interrupted', 'void')", name="state_known"
        ),
    )  # fmt: skip
    op.create_index("attempt_by_run", "attempt", ["run_id"])
    op.create_index("attempt_by_lease", "attempt", ["state", "lease_until"])
    _partial_index("one_running_attempt", "attempt", "state = 'running'", "run_id", unique=True)


def _results() -> None:
    op.create_table(
        "metric", _integer("attempt_id", "attempt.id", key=True), _text("split", key=True), _text("name", key=True),
        _integer("step", key=True), _text("condition", key=True), _real("value", null=True), _text("reason", null=True),
        sa.CheckConstraint("value IS NOT NULL OR reason IS NOT NULL", name="missing_has_reason"),
        sqlite_with_rowid=False,
    )  # fmt: skip
    op.create_table(
        "predictions", _integer("attempt_id", "attempt.id", key=True), _text("split", key=True),
        _text("checkpoint", key=True), _binary("outputs"), _binary("targets"), _text("index_fingerprint"),
        _integer("n"), _text("condition", key=True, default=""),
        sa.CheckConstraint("checkpoint IN ('best', 'last')", name="checkpoint_known"),
    )  # fmt: skip
    op.create_table(
        "artifact", _integer("attempt_id", "attempt.id", key=True), _text("kind", key=True), _text("url"),
        _column(sa.BigInteger, "bytes"), _text("sha256"),
    )  # fmt: skip
    op.create_table("reading", _text("paper", key=True), _text("task", key=True), _text("metric"), _text("split"))
    op.create_table("setting", _text("key", key=True), _text("value"))


def _partial_index(name: str, table: str, rows: str, *columns: str, unique: bool = False) -> None:
    where = sa.text(rows)
    op.create_index(name, table, list(columns), unique=unique, sqlite_where=where, postgresql_where=where)
