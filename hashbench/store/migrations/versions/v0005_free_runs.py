"""Which members of an experiment are free to be claimed, and in which order: a claim reads one row of an index."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

FREE = """
UPDATE experiment_run SET turn = position, free_tries = (
    SELECT CASE WHEN NOT EXISTS (
        SELECT 1 FROM dependency d JOIN run need ON need.id = d.needs_run_id
        WHERE d.run_id = r.id AND need.state <> 'done'
    ) THEN CASE r.state WHEN 'planned' THEN 0 WHEN 'failed' THEN r.tries END END
    FROM run r WHERE r.id = experiment_run.run_id
)
"""


def upgrade() -> None:
    """Add the columns and their index, and fill them. Runs are claimed in the order in which they stand in tables."""
    op.add_column("experiment_run", sa.Column("turn", sa.Integer, nullable=False, server_default="0"))
    op.add_column("experiment_run", sa.Column("free_tries", sa.Integer, nullable=True))
    op.execute(FREE)
    where = sa.text("free_tries IS NOT NULL")
    op.create_index(
        "experiment_run_free",
        "experiment_run",
        ["experiment_id", "turn", "free_tries"],
        sqlite_where=where,
        postgresql_where=where,
    )


def downgrade() -> None:
    """Not offered: an older program would not keep the columns right."""
    raise NotImplementedError("a database is never taken back to an older schema; use a copy from before the upgrade")
