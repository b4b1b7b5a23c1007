"""Stored values that cannot be: one rule, in one line with the run and the column."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from hashbench.common.errors import InputError
from hashbench.results.exchange.checking import fault_behind
from hashbench.results.read import queries
from hashbench.store.engine import Store, open_results, open_store
from hashbench.store.environment import Environment
from hashbench.store.malformed import complaint, faults, tables_in
from hashbench.store.queue import claim
from hashbench.store.result import Artifact, Predictions, Result, finish
from hashbench.store.schema import attempt, environment, experiment, metadata, metric, run
from hashbench.store.views import VIEWS
from tests.store.conftest import Lab

RUN = "a00000000000"
WRONG = {
    "INTEGER": ["text", b"bytes", 1.5],
    "BIGINT": ["text", b"bytes", 1.5],
    "DOUBLE": ["text", b"bytes", float("inf"), 1e300],
    "TEXT": [b"bytes", b"\xff\xfe", "a\0b"],
    "BLOB": ["text", 5],
}
SAID = {
    run.c.spec: ["[]", "{", "[" * 50_000, '{"model": 5}', '{"model": {"encoder": []}}', '{"corpus": {"corpora": 1}}'],
    attempt.c.notes: ["null", '{"a": 1}', '{"a": "\\ud800"}'],
    environment.c.packages: ["5", '{"torch": []}'],
    environment.c.hardware: ['{"memory": NaN}', '{"memory": 1e999}', '{"cpu": "\\udc9b"}'],
    experiment.c.config: ['"x"', '{"provenance": []}', '{"provenance": {"tasks": {"cola": 5}}}', '{"models": 3}'],
}
RIGHT = {
    run.c.spec: ["{}", '{"kind": "finetune", "model": {"encoder": {"kind": "bert"}, "objective": null}, "seed": null}'],
    attempt.c.notes: ["{}", '{"data": "some"}'],
    experiment.c.config: ["{}", '{"models": "all", "provenance": {"tasks": {"cola": {"rows": {"train": 5}}}}}'],
}


@pytest.mark.parametrize("column", SAID, ids=str)
def test_a_block_of_json_has_the_form_that_readers_rely_on(column) -> None:
    for text in SAID[column]:
        assert complaint(column, text), text
    for text in RIGHT.get(column, ()):
        assert not complaint(column, text), text


def test_times_are_dates_and_numbers_are_finite() -> None:
    for value in (-1.0, 1e12, float("nan"), "1", True):
        assert complaint(attempt.c.started_at, value) or value is True
    assert not complaint(attempt.c.started_at, 0) and not complaint(attempt.c.seconds, -3599.9)
    assert complaint(metric.c.value, float("inf")) == "float (inf) where a number belongs"
    assert complaint(metric.c.value, None) == "" and complaint(metric.c.step, None) == "nothing, where a value belongs"
    assert complaint(metric.c.step, 2**40, largest=2**31) == "int where a whole number belongs"


KEYS = st.sampled_from(["model", "encoder", "kind", "provenance", "tasks", "rows", "pretrain", "seeds", "models"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda part: st.lists(part) | st.dictionaries(KEYS, part)
)


@given(JSON)
def test_any_json_is_said_to_be_right_or_wrong(value: object) -> None:
    for column in SAID:
        assert isinstance(complaint(column, json.dumps(value)), str)


def test_the_tables_of_a_query_are_those_of_its_views_too() -> None:
    assert tables_in("SELECT state FROM run") == ("run",)
    assert {"metric", "run", "experiment_run"} <= set(tables_in("SELECT * FROM scores"))
    assert tables_in("SELECT metric FROM reading WHERE paper = 'a'") == ("reading",)  # the table `metric` is not read


def test_every_table_that_sqlite_reads_is_named(path: Path) -> None:
    of_reports = [text for text in vars(queries).values() if isinstance(text, str) and "{" not in text]
    statements = [text for text in of_reports if text.split(None, 1)[:1] in (["SELECT"], ["WITH"])]
    assert len(statements) > 20
    with sqlite3.connect(path) as connection:
        for sql in [*statements, *(f"SELECT * FROM {name}" for name in VIEWS)]:
            read: set[str] = set()

            def note(action: int, table: str | None, *_: object, read: set[str] = read) -> int:
                if action == sqlite3.SQLITE_READ and table in metadata.tables:
                    read.add(table)
                return sqlite3.SQLITE_OK

            connection.set_authorizer(note)
            connection.execute(sql, dict.fromkeys(re.findall(r":(\w+)", sql)))
            assert read, sql
            assert read <= set(tables_in(sql)), sql


@pytest.fixture
def path(lab: Lab, tmp_path: Path) -> Path:
    """A database with two experiments of one finished run each, `own` of RUN and `other`; closed."""
    store = open_store(tmp_path / "results.db")
    for name, letter in (("own", "a"), ("other", "b")):
        number = lab.plan(store, lab.run(letter, needs=["a"] if letter == "b" else []), name=name)
        held = claim(store, number, worker="w", lease_s=60, max_attempts=1, environment=Environment(host="h"))
        assert held is not None
        array = np.array([0, 1])
        outputs = [Predictions("validation", "best", array, array, "rows")]
        finish(store, held, Result(lab.score("matthews", 0.5), outputs, [Artifact("weights", "ab/w", 1, "ab")]))
    store.close()
    return tmp_path / "results.db"


def columns() -> list[tuple[str, str]]:
    return [(table.name, column.name) for table in [*metadata.tables.values()][:9] for column in table.columns]


def damage(path: Path, table: str, column: str, value: object) -> bool:
    """True after a value was put into each row of a column, against all constraints."""
    with sqlite3.connect(path) as connection:
        connection.executescript("PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF")
        place = "CAST(? AS TEXT)" if value == b"\xff\xfe" else "?"
        try:
            return connection.execute(f"UPDATE {table} SET {column} = {place}", (value,)).rowcount > 0
        except sqlite3.IntegrityError:  # a key that is there twice then
            return False


@pytest.mark.parametrize(("table", "column"), columns())
def test_wrong_values_of_every_column_are_found(path: Path, table: str, column: str) -> None:
    of = metadata.tables[table].c[column]
    whole = path.read_bytes()
    for value in WRONG[str(of.type)]:
        path.write_bytes(whole)
        if not damage(path, table, column, value):
            continue
        with open_results(path).read() as connection:
            found = [str(fault) for fault in faults(connection)]
        mine = [line for line in found if f"{table}.{column}: " in line]
        assert mine, (value, found)
        if "run_id" in metadata.tables[table].c or "attempt_id" in metadata.tables[table].c or table == "run":
            assert mine[0].startswith("run "), mine


def test_a_text_among_scores_is_no_zero_in_their_mean(path: Path) -> None:
    """SQLite's AVG takes it for 0, without a word."""
    damage(path, "metric", "value", "high")
    with pytest.raises(InputError, match=f"run {RUN}: metric.value: no value where a number belongs; take a whole"):
        open_results(path).query("SELECT AVG(value) FROM scores")


def test_numbers_of_another_experiment_are_not_looked_at(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE metric SET value = 9e999 WHERE attempt_id = 2")
    store = open_results(path)
    assert len(store.query("SELECT value FROM scores WHERE experiment_id = :experiment", experiment=1)) == 2
    with pytest.raises(InputError, match="run b00000000000: metric.value"):
        store.query("SELECT value FROM scores WHERE experiment_id = :experiment", experiment=2)
    with pytest.raises(InputError, match="run b00000000000: metric.value"):
        store.query("SELECT value FROM scores")


def test_what_is_no_table_is_not_read(path: Path) -> None:
    endless = "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT * FROM n"
    store = open_results(path)  # before it is so: nobody opens such a database
    with sqlite3.connect(path) as connection:
        connection.executescript(f"DROP TABLE artifact; CREATE VIEW artifact AS {endless}; DROP TABLE reading")
    with store.read() as connection:
        found = [str(fault) for fault in faults(connection)]
    with pytest.raises(InputError, match="results.db: malformed: artifact: a view where a table belongs; take a whole"):
        open_results(path)
    assert "artifact: a view where a table belongs" in found and "reading: no such table" in found


def test_both_databases_find_what_is_no_number(store: Store, lab: Lab) -> None:
    """PostgreSQL has types, and yet NaN, infinity and times that are no dates."""
    number = lab.plan(store, lab.run("a"))
    held = lab.claim(store, number)
    assert held is not None
    finish(store, held, Result(lab.score("matthews", 0.5)))
    reader = open_results(store.url.render_as_string(hide_password=False) if store.dialect != "sqlite" else store.path)
    assert reader.query("SELECT value FROM scores WHERE experiment_id = :experiment", experiment=number)
    with store.write() as connection:
        connection.execute(sa.update(metric).values(value=float("inf")))
        connection.execute(sa.update(run).values(created_at=1e300))
    reader = open_results(store.url.render_as_string(hide_password=False) if store.dialect != "sqlite" else store.path)
    with pytest.raises(InputError, match=f"run {RUN}: (metric.value|run.created_at): no value where a (number|time)"):
        reader.query("SELECT value FROM scores WHERE experiment_id = :experiment", experiment=number)
    with reader.read() as connection:
        found = [str(fault) for fault in faults(connection)]
    assert f"run {RUN}: run.created_at: float (1e+300) where a time belongs" in found
    assert f"run {RUN}: metric.value: float (inf) where a number belongs" in found


def test_an_error_in_reading_names_the_row_behind_it(path: Path) -> None:
    store = open_results(path)
    assert fault_behind(KeyError("corpus"), [store]) == ""  # of a database that is right
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE run SET spec = '{}' WHERE id LIKE 'b%'")
    identify = lambda spec: {"a": "a", "b": "b"}[spec["run"]].ljust(64, "0")  # noqa: E731
    line = fault_behind(KeyError("corpus"), [store], identify=identify)
    assert line.startswith(f"{path}: run b00000000000: run.spec: its id is not that of its spec; take a whole copy")
    assert "run b00000000000: changed since it was stored" in fault_behind(ValueError("x"), [store])


def test_a_sweeps_own_errors_stay_what_they_are(path: Path) -> None:
    """Of a database that is written, only an error of the code that reads it comes from its rows."""
    damage(path, "attempt", "notes", "{")
    store = open_store(path)
    assert fault_behind(ValueError("of a training"), [store]) == ""
    try:
        store.query("SELECT nothing FROM nowhere")
    except Exception as error:
        assert "attempt.notes: no JSON" in fault_behind(error, [store])
