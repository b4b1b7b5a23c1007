"""A value that cannot be, in any column of a database: no command shows a traceback or lets it steer a terminal.

Each reading command prints what can be printed, or one line with the run and the column and exit code 2.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import zlib
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hashbench.store.engine import Store
from hashbench.store.schema import alembic_version, metadata
from tests.commands import Outcome, call

TEXTS = [
    "\x1b[2J\x1b]0;x\x07", "a\0b", b"\xff\xfe", b"\x00", 5, None, "[]", "{}", "{", "[" * 100_000, "null", '"x"',
    '{"model": 5, "finetune": [], "provenance": 7, "models": 3}', '{"a": "\\ud800\\u001b[2J"}', "x" * 100_000,
    "\u202eabc", "<script>", '{"provenance": {"tasks": {"cola": {"rows": 3, "notes": 4}}}}', '{"kind": {}}',
]  # fmt: skip
NUMBERS = [float("inf"), 1e308, -1.0, 1e18, "text", b"\x00", None, 2**62, -5]
BYTES = [b"", "text", zlib.compress(b"\0" * 10), None, 5]
VALUES = {"TEXT": TEXTS, "INTEGER": NUMBERS, "DOUBLE": NUMBERS, "BIGINT": NUMBERS, "BLOB": BYTES}
COLUMNS = [column for table in metadata.tables.values() if table is not alembic_version for column in table.columns]
COMMANDS = [
    "list", "status", "status --all", "status --format json", "log RUN", "log RUN --all", "report",
    "report --format json", "report --format csv", "report robustness", "report claims",
    "report --format html -o page.html",
    "compare bert-mlm hashformer-lsh-proj", "plot pareto -o figures", "db export out.db --replace", "db check",
    "db merge results.db --db here.db", "db merge here.db --db results.db --dry-run", "db void RUN --reason x",
]  # fmt: skip
SHORT = ["list", "status", "log RUN --all", "report --format csv", "db export out.db --replace", "db check"]
CONTROLS = "\x1b\x07\0\x9b\u202e"


@pytest.fixture(scope="module")
def whole(small_store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "results.db"
    shutil.copy(small_store.path, path)
    return path


def damaged(whole: Path, folder: Path, column, value: object, at: int) -> bool:
    """True after one row of a copy has the value in the column, against all constraints."""
    table = column.table.name
    shutil.copy(whole, folder / "results.db")
    shutil.copy(whole, folder / "here.db")
    with sqlite3.connect(folder / "results.db") as connection:
        connection.executescript("PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF")
        n = connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]
        keys = [key.name for key in column.table.primary_key]
        rows = connection.execute(f"SELECT {', '.join(keys)} FROM {table} LIMIT 1 OFFSET {at % max(n, 1)}").fetchall()
        place = "CAST(? AS TEXT)" if value == b"\xff\xfe" else "?"
        of_row = " AND ".join(f"{key} = ?" for key in keys)
        try:
            for row in rows:
                connection.execute(f"UPDATE {table} SET {column.name} = {place} WHERE {of_row}", (value, *row))
        except (sqlite3.Error, OverflowError):
            return False
    return bool(rows)


def outcome(folder: Path, command: str) -> Outcome:
    """A command on the database results.db of a folder, if it names no other."""
    with sqlite3.connect(folder / "here.db") as connection:
        run_id = connection.execute("SELECT id FROM run WHERE state = 'done'").fetchone()[0]
    words = [run_id[:12] if word == "RUN" else word for word in command.split()]
    return call(*words, *(() if "--db" in words else ("--db", "results.db")), cwd=folder)


def check(folder: Path, command: str) -> None:
    ended = outcome(folder, command)
    assert ended.code in (0, 1, 2), (command, ended)
    assert not any(character in ended.out + ended.err for character in CONTROLS), command
    assert "Traceback" not in ended.err
    if ended.code == 2:
        assert ended.err.strip().splitlines()[-1].startswith("hashbench: "), (command, ended.err)


def values_of(column) -> list[object]:
    """What is put into a column of this type."""
    return VALUES[str(column.type).partition("(")[0].replace("VARCHAR", "TEXT")]


A_VALUE = st.sampled_from(COLUMNS).flatmap(
    lambda column: st.tuples(st.just(column), st.sampled_from(values_of(column)))
)
SOME_COMMANDS = st.lists(st.sampled_from(SHORT), min_size=1, max_size=2)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(place=A_VALUE, at=st.integers(0, 1000), commands=SOME_COMMANDS)
def test_any_value_in_any_column(whole: Path, tmp_path: Path, place, at: int, commands: list[str]) -> None:
    # A folder for each example: SQLite would read the -wal that a command of the last one left into the new file.
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    if damaged(whole, folder, *place, at):
        for command in commands:
            check(folder, command)


CASES = {
    "run.spec: no JSON": ("run", "spec", "{", "report --format csv"),
    "run.spec: JSON that is nested too deep": ("run", "spec", "[" * 100_000, "log RUN --all"),
    "run.spec: a list, where a block belongs": ("run", "spec", "[]", "report --format csv"),
    "changed since it was stored": ("run", "spec", "{}", "report"),
    "experiment.config: no JSON": ("experiment", "config", "nothing", "status"),
    "experiment.config: a list, where a block belongs": ("experiment", "config", "[]", "report --format csv"),
    "experiment.config: a number at 'provenance'": ("experiment", "config", '{"provenance": 7}', "report"),
    "experiment.called_at: no value where a time belongs": ("experiment", "called_at", 1e300, "list"),
    "attempt.notes: no JSON": ("attempt", "notes", "{", "status --format json"),
    "attempt.started_at": ("attempt", "started_at", 1e300, "log RUN --all"),
    "experiment_run.model: not UTF-8": ("experiment_run", "model", b"\xff\xfe", "list"),
    "metric.value: no value where a number belongs": ("metric", "value", float("inf"), "report --format csv"),
    "run.seed: no value where a whole number belongs": ("run", "seed", "text", "compare bert-mlm hashformer-lsh-proj"),
    "attempt.seconds: no value where a number belongs": ("attempt", "seconds", "text", "db export out.db"),
    "environment.packages: a list, where a block belongs": ("environment", "packages", "[]", "report"),
}


@pytest.mark.parametrize("line", CASES)
def test_the_line_names_run_and_column(whole: Path, tmp_path: Path, line: str) -> None:
    table, name, value, command = CASES[line]
    column = next(column for column in COLUMNS if (column.table.name, column.name) == (table, name))
    with sqlite3.connect(whole) as connection:  # of the run that `log` shows
        done = connection.execute("SELECT id FROM run WHERE state = 'done'").fetchone()[0]
        ids = [row[0] for row in connection.execute(f"SELECT rowid FROM {table}")] if table != "metric" else [0]
        at = [row[0] for row in connection.execute("SELECT id FROM run")].index(done) if table == "run" else 0
        if table == "attempt":
            of_run = connection.execute("SELECT finished_attempt FROM run WHERE id = ?", (done,)).fetchone()[0]
            at = ids.index(of_run)
    assert damaged(whole, tmp_path, column, value, at)
    ended = outcome(tmp_path, command)
    assert ended.code == 2 and line in ended.err, ended
    assert ended.err.strip().splitlines()[-1].startswith("hashbench: results.db: ")
    if table in ("run", "experiment_run", "attempt", "metric"):
        assert "results.db: run " in ended.err
    elif table == "experiment":
        assert "results.db: experiment " in ended.err


@pytest.mark.parametrize("command", ["list", "report", "db export out.db", "db void RUN --reason x"])
def test_a_table_that_is_none_is_not_read(whole: Path, tmp_path: Path, command: str) -> None:
    """A view may never end."""
    endless = "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT * FROM n"
    for sql, lines in (
        (f"CREATE VIEW experiment_run AS {endless}", ["experiment_run: a view where a table belongs"]),
        ("SELECT 1", ["experiment_run: no such table"]),
        ("CREATE TABLE experiment_run (experiment_id, run_id)", ["experiment_run: no such column: free_tries"]),
    ):
        for name in ("results.db", "here.db"):
            shutil.copy(whole, tmp_path / name)
        with closing(sqlite3.connect(tmp_path / "results.db")) as connection, connection:
            for (view,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall():
                connection.execute(f"DROP VIEW {view}")
            connection.executescript(f"DROP TABLE experiment_run; {sql}")
        ended = outcome(tmp_path, command)
        assert ended.code == 2 and ended.err.count("hashbench: ") == 1, ended
        assert any(line in ended.err for line in lines), ended


@pytest.mark.parametrize(
    "command", ["list", "status --all", "report", "report --format html -o page.html", "plot pareto"]
)
def test_names_steer_no_terminal_and_break_no_figure(whole: Path, tmp_path: Path, command: str) -> None:
    shutil.copy(whole, tmp_path / "results.db")
    shutil.copy(whole, tmp_path / "here.db")
    with sqlite3.connect(tmp_path / "results.db") as connection:
        name = "\x1b[2J\x1b]0;x\x07bert"
        connection.execute("UPDATE experiment_run SET model = ? WHERE model = 'bert-mlm'", (name,))
        connection.execute("UPDATE experiment SET name = ?", (name,))
    ended = outcome(tmp_path, command)
    assert ended.code == 0, ended.err
    assert not any(character in ended.out + ended.err for character in CONTROLS)
    if "page.html" in command:
        page = (tmp_path / "page.html").read_text()
        assert not any(character in page for character in CONTROLS) and "\\u001b[2J" in page
