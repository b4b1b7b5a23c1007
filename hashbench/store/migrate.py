"""Bringing an older database to the schema of this program. The only file that loads alembic."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from alembic import command
from alembic.config import Config

from hashbench.common.errors import InputError
from hashbench.store import views
from hashbench.store.engine import Store, parse, schema_of
from hashbench.store.schema import SCHEMA
from hashbench.store.sqlite import check_file


def upgrade(where: str | Path) -> tuple[int, int]:
    """Bring the database at a path or URL to the newest schema; (schema before, schema after).

    Tables and views change in one transaction: a failure leaves the database as it was. The room that old tables took
    in a file is given back afterwards.
    """
    url, name = parse(where)
    if url.get_backend_name() == "sqlite":
        check_file(Path(url.database or ""), name, create=False, read_only=False)
    store = Store(url, name)
    try:
        with store.write() as connection:
            before = schema_of(connection)
            if before is None:
                raise InputError(f"{name}: no database of hashbench; give another --db")
            if before > SCHEMA:
                raise InputError(
                    f"{name}: schema {int(before)}, this program writes {int(SCHEMA)}; install a newer hashbench"
                )
            views.drop(connection)  # a table that a view reads cannot change
            config = Config()
            config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            views.create(connection)
    finally:
        store.close()
    if before != SCHEMA and store.dialect == "sqlite":
        # others read it, or the disk is full: it only stays larger
        with contextlib.suppress(sqlite3.OperationalError):
            sqlite3.connect(url.database or "").execute("VACUUM")
    return int(before), int(SCHEMA)
