"""What the tables refuse, whatever program writes them."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from hashbench.store.engine import Store
from hashbench.store.schema import metadata

if TYPE_CHECKING:
    from tests.store.conftest import Lab


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE run SET state = 'finished'",  # no such state
        "UPDATE run SET state = 'done'",  # without the attempt that holds its results
        "UPDATE attempt SET state = 'dead'",
        "INSERT INTO dependency (run_id, needs_run_id) VALUES ('nobody', 'nobody')",
        "INSERT INTO metric (attempt_id, split, name, step, condition, value) VALUES (99, '', 'orphan', 0, '', 1)",
        "DELETE FROM run",  # something hangs on it
    ],
)
def test_what_is_refused(store: Store, lab: Lab, statement: str) -> None:
    lab.claim(store, lab.plan(store, lab.run("a")))
    with pytest.raises(sa.exc.IntegrityError), store.write() as connection:
        connection.exec_driver_sql(statement)


def test_times_keep_a_thousandth_of_a_second(store: Store, lab: Lab) -> None:
    lab.plan(store, lab.run("a"))
    with store.write() as connection:
        connection.exec_driver_sql("UPDATE run SET created_at = 1795268201.123")
    assert store.query("SELECT created_at FROM run")[0]["created_at"] == 1795268201.123


def test_names_of_columns_and_views_need_no_quoting(store: Store) -> None:
    with store.read() as connection:
        for table in metadata.tables.values():
            columns = ", ".join(column.name for column in table.columns)
            connection.exec_driver_sql(f"SELECT {columns} FROM {table.name}")


@pytest.mark.e2e
def test_tables_are_known_without_the_dialects_of_databases_that_are_not_in_use() -> None:
    code = "import hashbench.store.schema, sys; print('sqlalchemy.dialects.postgresql' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
