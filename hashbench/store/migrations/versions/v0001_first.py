"""The first schema. Written out, not taken from schema.py: what a released database looks like must not move."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    _what_to_do()
    _who_does_it()
    _what_came_out()


def downgrade() -> None:
    """There is nothing before the first schema."""
    raise NotImplementedError("a database is never taken back to no schema; delete the file instead")


def _text(name: str, null: bool = False, default: str | None = None) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=null, server_default=default)


def _double(name: str, null: bool = False) -> sa.Column[float]:
    return sa.Column(name, sa.Double(), nullable=null)


def _reference(name: str, target: str, null: bool = False, key: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), sa.ForeignKey(target), nullable=null, primary_key=key)


def _key(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), primary_key=True)


def _check(rule: str, name: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(rule, name=name)


def _what_to_do() -> None:
    op.create_table(
        "experiment",
        sa.Column("id", sa.Integer(), primary_key=True),
        *(_text(name) for name in ("name", "fingerprint", "baseline", "config", "command")),
        _double("created_at"),
        _double("called_at"),
        sa.UniqueConstraint("name", "fingerprint", name="experiment_once"),
    )
    op.create_table(
        "run",
        _key("id"),
        _text("kind"),
        _text("model"),
        _text("task", null=True),
        sa.Column("seed", sa.Integer()),
        _text("encoder"),
        _text("spec"),
        _text("data_fingerprint", null=True),
        _text("state", default="planned"),
        sa.Column("tries", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("finished_attempt", sa.Integer()),
        _text("void_reason", null=True),
        _double("created_at"),
        _double("finished_at", null=True),
        _check("kind IN ('pretrain', 'finetune', 'floor', 'efficiency')", "kind_known"),
        _check("state IN ('planned', 'running', 'done', 'failed', 'void')", "state_known"),
        _check("state <> 'done' OR finished_attempt IS NOT NULL", "done_has_results"),
    )
    op.create_table(
        "experiment_run",
        sa.Column("experiment_id", sa.Integer(), sa.ForeignKey("experiment.id"), primary_key=True),
        _reference("run_id", "run.id", key=True),
        _key("model"),
        sa.Column("position", sa.Integer(), nullable=False),
        _text("metric", null=True),
        _text("split", null=True),
    )
    op.create_index("experiment_run_by_run", "experiment_run", ["run_id"])
    op.create_table(
        "dependency",
        _reference("run_id", "run.id", key=True),
        _reference("needs_run_id", "run.id", key=True),
    )
    op.create_index("dependency_by_need", "dependency", ["needs_run_id"])


def _who_does_it() -> None:
    op.create_table(
        "environment",
        _key("id"),
        *(_text(name) for name in ("host", "git_commit", "git_diff", "packages", "hardware", "hardware_name")),
    )
    op.create_table(
        "attempt",
        sa.Column("id", sa.Integer(), primary_key=True),
        _reference("run_id", "run.id"),
        sa.Column("token", sa.Text(), nullable=False, unique=True),
        _text("worker"),
        _reference("environment_id", "environment.id", null=True),
        *(_double(name) for name in ("started_at", "heartbeat_at", "lease_until")),
        _double("ended_at", null=True),
        _text("state"),
        _text("reason", null=True),
        _text("log", default=""),
        _text("notes", default="{}"),
        _double("seconds", null=True),
        _check("state IN ('running', 'done', 'failed', 'lost', 'interrupted', 'void')", "state_known"),
    )
    op.create_index("attempt_by_run", "attempt", ["run_id"])
    op.create_index("attempt_by_lease", "attempt", ["state", "lease_until"])
    running = sa.text("state = 'running'")
    op.create_index(
        "one_running_attempt", "attempt", ["run_id"], unique=True, sqlite_where=running, postgresql_where=running
    )


def _what_came_out() -> None:
    op.create_table(
        "metric",
        sa.Column("attempt_id", sa.Integer(), sa.ForeignKey("attempt.id"), primary_key=True),
        _key("split"),
        _key("name"),
        sa.Column("step", sa.Integer(), primary_key=True),
        _key("perturbation"),
        _reference("run_id", "run.id"),
        _double("value", null=True),
        _text("reason", null=True),
        _check("value IS NOT NULL OR reason IS NOT NULL", "missing_has_reason"),
    )
    op.create_index("metric_by_run", "metric", ["run_id"])
    op.create_table(
        "predictions",
        sa.Column("attempt_id", sa.Integer(), sa.ForeignKey("attempt.id"), primary_key=True),
        _key("split"),
        _key("checkpoint"),
        _reference("run_id", "run.id"),
        sa.Column("outputs", sa.LargeBinary(), nullable=False),
        sa.Column("targets", sa.LargeBinary(), nullable=False),
        _text("index_fingerprint"),
        sa.Column("n", sa.Integer(), nullable=False),
        _check("checkpoint IN ('best', 'last')", "checkpoint_known"),
    )
    op.create_table(
        "artifact",
        sa.Column("attempt_id", sa.Integer(), sa.ForeignKey("attempt.id"), primary_key=True),
        _key("kind"),
        _reference("run_id", "run.id"),
        _text("url"),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        _text("sha256"),
    )
    op.create_table("reading", _key("paper"), _key("task"), _text("metric"), _text("split"))
    op.create_table("setting", _key("key"), _text("value"))
