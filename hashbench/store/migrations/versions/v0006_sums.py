"""A table of sums, by which damaged content is found. `migrate.upgrade` fills it with the sums of what is stored."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Creates the table."""
    op.create_table(
        "content_sum",
        sa.Column("kind", sa.Text, primary_key=True, nullable=False),
        sa.Column("of", sa.Text, primary_key=True, nullable=False),
        sa.Column("sha256", sa.Text, nullable=False),
    )


def downgrade() -> None:
    """Removes the table."""
    op.drop_table("content_sum")
