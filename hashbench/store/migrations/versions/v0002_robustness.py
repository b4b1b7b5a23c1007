"""Runs of kind robustness, and predictions under a perturbation of the texts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

KINDS = "kind IN ('pretrain', 'finetune', 'floor', 'efficiency', 'robustness')"
RUN = "id, kind, model, task, seed, encoder, spec, data_fingerprint, state, tries, finished_attempt, void_reason"
TIMES = "created_at, finished_at"
PREDICTIONS = "attempt_id, split, checkpoint, run_id, outputs, targets, index_fingerprint, n"


def upgrade() -> None:
    """Widen the check of run.kind, and the key of predictions by the perturbation ("" for all that are there)."""
    if op.get_bind().dialect.name == "sqlite":
        _upgrade_sqlite()
        return
    op.drop_constraint("kind_known", "run", type_="check")
    op.create_check_constraint("kind_known", "run", KINDS)
    op.add_column("predictions", sa.Column("perturbation", sa.Text(), nullable=False, server_default=""))
    op.drop_constraint("predictions_pkey", "predictions", type_="primary")
    op.create_primary_key("predictions_pkey", "predictions", ["attempt_id", "split", "checkpoint", "perturbation"])


def downgrade() -> None:
    """Not offered: results of the new kind would be lost."""
    raise NotImplementedError("a database is never taken back to an older schema; use a copy from before the upgrade")


def _upgrade_sqlite() -> None:
    """SQLite changes neither a check nor a key: both tables are made anew.

    Rows elsewhere refer to `run`, and foreign keys cannot be switched off within a transaction. Put off to its end
    they are counted as broken when the table goes and as whole again when its rows come back, so that the rows must
    be inserted into a table of the same name: a renamed copy would leave them counted as broken.
    """
    op.execute("PRAGMA defer_foreign_keys = ON")
    op.execute("CREATE TEMP TABLE old_predictions AS SELECT * FROM predictions")
    op.drop_table("predictions")
    op.execute("CREATE TEMP TABLE old_run AS SELECT * FROM run")
    op.drop_table("run")
    _make_run()
    op.execute(f"INSERT INTO run ({RUN}, {TIMES}) SELECT {RUN}, {TIMES} FROM old_run")
    _make_predictions()
    op.execute(f"INSERT INTO predictions ({PREDICTIONS}) SELECT {PREDICTIONS} FROM old_predictions")
    op.execute("DROP TABLE old_run")
    op.execute("DROP TABLE old_predictions")


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
        sa.CheckConstraint(KINDS, name="kind_known"),
        sa.CheckConstraint("state IN ('planned', 'running', 'done', 'failed', 'void')", name="state_known"),
        sa.CheckConstraint("state <> 'done' OR finished_attempt IS NOT NULL", name="done_has_results"),
    )


def _make_predictions() -> None:
    op.create_table(
        "predictions",
        sa.Column("attempt_id", sa.Integer(), sa.ForeignKey("attempt.id"), primary_key=True),
        sa.Column("split", sa.Text(), primary_key=True),
        sa.Column("checkpoint", sa.Text(), primary_key=True),
        sa.Column("run_id", sa.Text(), sa.ForeignKey("run.id"), nullable=False),
        sa.Column("outputs", sa.LargeBinary(), nullable=False),
        sa.Column("targets", sa.LargeBinary(), nullable=False),
        sa.Column("index_fingerprint", sa.Text(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        # last in the table, since an upgraded PostgreSQL adds it there
        sa.Column("perturbation", sa.Text(), primary_key=True, server_default=""),
        sa.CheckConstraint("checkpoint IN ('best', 'last')", name="checkpoint_known"),
    )
