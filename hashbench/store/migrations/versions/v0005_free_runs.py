"""Which members of an experiment are free to be claimed, and in which order: a claim reads one row of an index.

Passwords of databases leave the stored commands.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from hashbench.common.showing import without_passwords

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
    _hide_passwords()
    where = sa.text("free_tries IS NOT NULL")
    op.create_index(
        "experiment_run_free",
        "experiment_run",
        ["experiment_id", "turn", "free_tries"],
        sqlite_where=where,
        postgresql_where=where,
    )


def _hide_passwords() -> None:
    connection = op.get_bind()
    experiment = sa.table("experiment", sa.column("id"), sa.column("command"))
    for row in connection.execute(sa.select(experiment.c.id, experiment.c.command)).all():
        if (command := without_passwords(row.command)) != row.command:
            connection.execute(sa.update(experiment).where(experiment.c.id == row.id).values(command=command))


def downgrade() -> None:
    """Not offered: an older program would not keep the columns right."""
    raise NotImplementedError("a database is never taken back to an older schema; use a copy from before the upgrade")
