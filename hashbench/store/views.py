"""The views of `views.sql` in a database, created anew when their text has changed."""

from __future__ import annotations

import csv
import hashlib
import re
from importlib.resources import files

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from hashbench.store.schema import reading, setting

# Keys of the table `setting`: a fingerprint of the SQL that the database's views were created from, and the views'
# names, since another version of the program may have other views.
FINGERPRINT_SETTING, NAMES_SETTING = "views", "view_names"


def _text_of(name: str) -> str:
    return (files("hashbench.store") / name).read_text(encoding="utf-8")


def _views() -> dict[str, str]:
    """Texts of all views by name, in the order in which they can be created: comment and SELECT."""
    _head, *parts = re.split(r"^CREATE VIEW (\w+) AS\n", _text_of("views.sql"), flags=re.MULTILINE)
    return {name: text.strip().removesuffix(";") for name, text in zip(parts[::2], parts[1::2], strict=True)}


VIEWS = _views()


def of_version(sql: str, *views: str, where: str = "experiment_id = :experiment") -> str:
    """The query with these views, named from below to above, over a version of an experiment, be it the newest or not.

    A name of WITH hides the view of that name in the statement, but not in the SQL of other views. So every view that
    is read on the way has to be named. `where`: which finished runs.
    """
    texts = {"finished": f"SELECT * FROM finished_versions WHERE {where}", **{name: VIEWS[name] for name in views}}
    hidden = ", ".join(f"{name} AS NOT MATERIALIZED ({text})" for name, text in texts.items())
    begin, _, rest = sql.lstrip().partition(" ")
    return f"WITH {hidden}, {rest}" if begin == "WITH" else f"WITH {hidden} {sql.lstrip()}"


def readings() -> list[dict[str, str]]:
    """Rows (paper, task, metric, split) of readings.csv: which score a paper prints for a task."""
    return list(csv.DictReader(_text_of("readings.csv").splitlines()))


def fingerprint() -> str:
    """sha256 of the views and readings that `create` writes."""
    return hashlib.sha256(repr((VIEWS, readings())).encode()).hexdigest()


def are_current(connection: Connection) -> bool:
    """True where a database of this schema has the views of this program."""
    stored = connection.execute(sa.select(setting.c.value).where(setting.c.key == FINGERPRINT_SETTING)).scalar()
    return stored == fingerprint()


def create(connection: Connection) -> None:
    """Creates all views and the readings, and replaces what an earlier call or another version created."""
    drop(connection)
    connection.execute(sa.delete(reading))
    connection.execute(sa.insert(reading), readings())
    for name, text in VIEWS.items():
        # psycopg takes % for a placeholder
        sql = text.replace("%", "%%") if connection.dialect.name == "postgresql" else text
        connection.exec_driver_sql(f"CREATE VIEW {name} AS\n{sql}")
    settings = [{"key": FINGERPRINT_SETTING, "value": fingerprint()}, {"key": NAMES_SETTING, "value": ",".join(VIEWS)}]
    connection.execute(sa.insert(setting), settings)


def drop(connection: Connection) -> None:
    """Removes the views of this program, also of another version; user-defined views remain."""
    names = connection.execute(sa.select(setting.c.value).where(setting.c.key == NAMES_SETTING)).scalar()
    stored = names.split(",") if names else []
    # a view is read by later ones, and PostgreSQL drops none that is read
    for name in [*reversed(stored), *(name for name in reversed(VIEWS) if name not in stored)]:
        connection.exec_driver_sql(f"DROP VIEW IF EXISTS {name}")
    connection.execute(sa.delete(setting).where(setting.c.key.in_((FINGERPRINT_SETTING, NAMES_SETTING))))


def temporary() -> list[str]:
    """Statements that hide the views of a database behind temporary ones of this program, without changing the file."""
    statements = ["CREATE TEMP TABLE reading (paper TEXT, task TEXT, metric TEXT, split TEXT)"]
    for row in readings():
        values = ", ".join(f"'{value}'" for value in row.values())
        statements.append(f"INSERT INTO reading VALUES ({values})")
    return statements + [f"CREATE TEMP VIEW {name} AS\n{text}" for name, text in VIEWS.items()]
