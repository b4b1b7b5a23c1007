"""The tree of the code beside the commit: a rebase changes the one and not the other."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; what was stored before has no tree."""
    op.add_column("environment", sa.Column("git_tree", sa.Text, nullable=False, server_default=""))


def downgrade() -> None:
    """Not offered: the trees would be lost."""
    raise NotImplementedError("a database is never taken back to an older schema; use a copy from before the upgrade")
