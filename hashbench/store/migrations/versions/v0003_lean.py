"""Results lean on their attempt alone, the condition of a score by that name, and runs of any kind."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

RUN = (
    "id, kind, model, task, seed, encoder, spec, data_fingerprint, state, tries, finished_attempt, void_reason, "
    "created_at, finished_at"
)
METRIC = "attempt_id, split, name, step, condition, value, reason"
PREDICTIONS = "attempt_id, split, checkpoint, outputs, targets, index_fingerprint, n, condition"
ARTIFACT = "attempt_id, kind, url, bytes, sha256"


def upgrade() -> None:
    """Take the run id out of all results, rename `perturbation`, drop the list of kinds, and name runs on items."""
    if op.get_bind().dialect.name == "sqlite":
        _upgrade_sqlite()
    else:
        op.drop_constraint("kind_known", "run", type_="check")
        for table in ("metric", "predictions", "artifact"):
            op.drop_column(table, "run_id")  # its index and its reference go with it
        for table in ("metric", "predictions"):
            op.alter_column(table, "perturbation", new_column_name="condition")
    _name_runs_on_items()


def downgrade() -> None:
    """Not offered: results of new kinds of run would be lost."""
    raise NotImplementedError("a database is never taken back to an older schema; use a copy from before the upgrade")


def _name_runs_on_items() -> None:
    """A training on hidden items was stored as 'finetune' although its spec says 'entities'."""
    connection = op.get_bind()
    run = sa.table("run", sa.column("id"), sa.column("kind"), sa.column("spec"))
    rows = connection.execute(sa.select(run.c.id, run.c.spec).where(run.c.kind == "finetune")).all()
    items = [row.id for row in rows if json.loads(row.spec).get("kind") == "entities"]
    for run_id in items:
        connection.execute(sa.update(run).where(run.c.id == run_id).values(kind="entities"))


def _upgrade_sqlite() -> None:
    """SQLite drops neither a check nor a reference: the tables are made anew, as in revision 0002, and for its reason.

    Of `run` a table of the same name is filled again, with foreign keys put off to the end of the transaction.
    """
    op.execute("PRAGMA defer_foreign_keys = ON")
    op.execute("CREATE TEMP TABLE old_run AS SELECT * FROM run")
    op.drop_table("run")
    _make_run()
    op.execute(f"INSERT INTO run ({RUN}) SELECT {RUN} FROM old_run")
    op.execute("DROP TABLE old_run")
    for name, make, columns in (
        ("metric", _make_metric, METRIC),
        ("predictions", _make_predictions, PREDICTIONS),
        ("artifact", _make_artifact, ARTIFACT),
    ):
        op.rename_table(name, f"old_{name}")  # nothing refers to these three
        make()
        before = columns.replace("condition", "perturbation")
        op.execute(f"INSERT INTO {name} ({columns}) SELECT {before} FROM old_{name} ORDER BY attempt_id")
        op.drop_table(f"old_{name}")


def _make_run() -> None:
    op.create_table(
        "run",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("task", sa.Text()),
        sa.Column("seed", sa.Integer()),
        sa.Column("encoder", sa.Text(), nullable=False),
        sa.Column("spec", sa.Text(), nullable=False),
        sa.Column("data_fingerprint", sa.Text()),
        sa.Column("state", sa.Text(), nullable=False, server_default="planned"),
        sa.Column("tries", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("finished_attempt", sa.Integer()),
        sa.Column("void_reason", sa.Text()),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("finished_at", sa.Double()),
        sa.CheckConstraint("state IN ('planned', 'running', 'done', 'failed', 'void')", name="state_known"),
        sa.CheckConstraint("state <> 'done' OR finished_attempt IS NOT NULL", name="done_has_results"),
    )


def _key(name: str, default: str | None = None) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), primary_key=True, server_default=default)


def _attempt() -> sa.Column[int]:
    return sa.Column("attempt_id", sa.Integer(), sa.ForeignKey("attempt.id"), primary_key=True)


def _make_metric() -> None:
    op.create_table(
        "metric",
        _attempt(),
        _key("split"),
        _key("name"),
        sa.Column("step", sa.Integer(), primary_key=True),
        _key("condition"),
        sa.Column("value", sa.Double()),
        sa.Column("reason", sa.Text()),
        sa.CheckConstraint("value IS NOT NULL OR reason IS NOT NULL", name="missing_has_reason"),
        sqlite_with_rowid=False,
    )


def _make_predictions() -> None:
    op.create_table(
        "predictions",
        _attempt(),
        _key("split"),
        _key("checkpoint"),
        sa.Column("outputs", sa.LargeBinary(), nullable=False),
        sa.Column("targets", sa.LargeBinary(), nullable=False),
        sa.Column("index_fingerprint", sa.Text(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        _key("condition", default=""),
        sa.CheckConstraint("checkpoint IN ('best', 'last')", name="checkpoint_known"),
    )


def _make_artifact() -> None:
    op.create_table(
        "artifact",
        _attempt(),
        _key("kind"),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
    )
