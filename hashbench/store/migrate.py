"""Bringing an older database to the schema of this program. The only file that loads alembic."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config

from hashbench.common.errors import InputError
from hashbench.store import sums, views
from hashbench.store.engine import Store, check_place, schema_error, schema_of
from hashbench.store.schema import FIRST_SCHEMA, SCHEMA


def upgrade(where: str | Path) -> tuple[int, int]:
    """Brings the database at a path or URL to the newest schema; returns (schema before, schema after).

    Tables and views change in one transaction: a failure leaves the database as it was. Raises InputError for a
    database that is newer than this program or older than version 0.1.0.
    """
    url, name = check_place(where, create=False, read_only=False)
    store = Store(url, name)
    try:
        with store.write() as connection:
            before = schema_of(connection)
            if before is None:
                raise InputError(f"{name}: no database of hashbench; name another database")
            if not FIRST_SCHEMA <= before <= SCHEMA:
                raise schema_error(name, before)
            views.drop(connection)  # a table that a view reads cannot change
            config = Config()
            config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            views.create(connection)
            if before != SCHEMA:
                sums.write_all(connection)
    finally:
        store.close()
    return int(before), int(SCHEMA)
