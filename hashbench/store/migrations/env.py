"""alembic's entry: run the migrations on the connection, and within the transaction, that `migrate.upgrade` opened."""

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
