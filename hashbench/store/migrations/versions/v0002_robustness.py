"""Runs of kind robustness, and predictions under a perturbation of the texts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

KINDS = "kind IN ('pretrain', 'finetune', 'floor', 'efficiency', 'robustness')"
RUN = f"""
CREATE TABLE run (
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    model TEXT NOT NULL,
    task TEXT,
    seed INTEGER,
    encoder TEXT NOT NULL,
    spec TEXT NOT NULL,
    data_fingerprint TEXT,
    state TEXT DEFAULT 'planned' NOT NULL,
    tries INTEGER DEFAULT '0' NOT NULL,
    finished_attempt INTEGER,
    void_reason TEXT,
    created_at DOUBLE NOT NULL,
    finished_at DOUBLE,
    PRIMARY KEY (id),
    CONSTRAINT kind_known CHECK ({KINDS}),
    CONSTRAINT state_known CHECK (state IN ('planned', 'running', 'done', 'failed', 'void')),
    CONSTRAINT done_has_results CHECK (state <> 'done' OR finished_attempt IS NOT NULL)
)
"""
# The new column is the last one, since PostgreSQL adds it there.
PREDICTIONS = """
CREATE TABLE predictions (
    attempt_id INTEGER NOT NULL,
    split TEXT NOT NULL,
    checkpoint TEXT NOT NULL,
    run_id TEXT NOT NULL,
    outputs BLOB NOT NULL,
    targets BLOB NOT NULL,
    index_fingerprint TEXT NOT NULL,
    n INTEGER NOT NULL,
    perturbation TEXT DEFAULT '' NOT NULL,
    PRIMARY KEY (attempt_id, split, checkpoint, perturbation),
    CONSTRAINT checkpoint_known CHECK (checkpoint IN ('best', 'last')),
    FOREIGN KEY(attempt_id) REFERENCES attempt (id),
    FOREIGN KEY(run_id) REFERENCES run (id)
)
"""


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
    for name in ("predictions", "run"):
        op.execute(f"CREATE TEMP TABLE old_{name} AS SELECT * FROM {name}")
        op.drop_table(name)
    op.execute(RUN)
    op.execute("INSERT INTO run SELECT * FROM old_run")
    op.execute(PREDICTIONS)
    op.execute("INSERT INTO predictions SELECT *, '' FROM old_predictions")
    op.execute("DROP TABLE old_run")
    op.execute("DROP TABLE old_predictions")
