"""alembic's entry point, which runs the migrations within the connection and transaction of `migrate.upgrade`."""

from __future__ import annotations

from alembic import context

from hashbench.store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,  # SQLite changes a table by making a new one
)
with context.begin_transaction():
    context.run_migrations()
