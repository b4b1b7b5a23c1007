"""Results lean on their attempt alone, the condition of a score by that name, and runs of any kind."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

# SQLite drops neither a check nor a reference: these tables are made anew.
RUN = """
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
    CONSTRAINT state_known CHECK (state IN ('planned', 'running', 'done', 'failed', 'void')),
    CONSTRAINT done_has_results CHECK (state <> 'done' OR finished_attempt IS NOT NULL)
)
"""
RESULTS = {
    "metric": """
CREATE TABLE metric (
    attempt_id INTEGER NOT NULL,
    split TEXT NOT NULL,
    name TEXT NOT NULL,
    step INTEGER NOT NULL,
    condition TEXT NOT NULL,
    value DOUBLE,
    reason TEXT,
    PRIMARY KEY (attempt_id, split, name, step, condition),
    CONSTRAINT missing_has_reason CHECK (value IS NOT NULL OR reason IS NOT NULL),
    FOREIGN KEY(attempt_id) REFERENCES attempt (id)
) WITHOUT ROWID
""",
    "predictions": """
CREATE TABLE predictions (
    attempt_id INTEGER NOT NULL,
    split TEXT NOT NULL,
    checkpoint TEXT NOT NULL,
    outputs BLOB NOT NULL,
    targets BLOB NOT NULL,
    index_fingerprint TEXT NOT NULL,
    n INTEGER NOT NULL,
    condition TEXT DEFAULT '' NOT NULL,
    PRIMARY KEY (attempt_id, split, checkpoint, condition),
    CONSTRAINT checkpoint_known CHECK (checkpoint IN ('best', 'last')),
    FOREIGN KEY(attempt_id) REFERENCES attempt (id)
)
""",
    "artifact": """
CREATE TABLE artifact (
    attempt_id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    url TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    sha256 TEXT NOT NULL,
    PRIMARY KEY (attempt_id, kind),
    FOREIGN KEY(attempt_id) REFERENCES attempt (id)
)
""",
}
# Their columns in the order above, by the names of schema 2.
OLD_COLUMNS = {
    "metric": "attempt_id, split, name, step, perturbation, value, reason",
    "predictions": "attempt_id, split, checkpoint, outputs, targets, index_fingerprint, n, perturbation",
    "artifact": "attempt_id, kind, url, bytes, sha256",
}


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
    """A table of the same name is filled again for `run`, as in revision 0002 and for its reason."""
    op.execute("PRAGMA defer_foreign_keys = ON")
    op.execute("CREATE TEMP TABLE old_run AS SELECT * FROM run")
    op.drop_table("run")
    op.execute(RUN)
    op.execute("INSERT INTO run SELECT * FROM old_run")
    op.drop_table("old_run")
    for name, create in RESULTS.items():  # nothing refers to these three
        op.rename_table(name, f"old_{name}")
        op.execute(create)
        op.execute(f"INSERT INTO {name} SELECT {OLD_COLUMNS[name]} FROM old_{name} ORDER BY attempt_id")
        op.drop_table(f"old_{name}")
