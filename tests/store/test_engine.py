"""Opening a database: what is made, what is refused with which words, and what is left untouched."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
import sqlalchemy as sa

from hashbench.common.errors import InputError
from hashbench.store import views
from hashbench.store.engine import Store, open_store, parse
from hashbench.store.schema import SCHEMA, metadata, setting


def refusal(where: str | Path, **options: bool) -> str:
    with pytest.raises(InputError) as caught:
        open_store(where, **options).close()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_new_database_has_every_table_and_view(store: Store) -> None:
    with store.read() as connection:
        found = sa.inspect(connection)
        assert set(found.get_table_names()) == set(metadata.tables)
        assert set(found.get_view_names()) == set(views.VIEWS)


def test_opening_again_keeps_what_is_there(place: str) -> None:
    first = open_store(place)
    with first.write() as connection:
        connection.execute(sa.insert(setting).values(key="k", value="v"))
    first.close()
    again = open_store(place, create=False)
    assert [row["value"] for row in again.query("SELECT value FROM setting WHERE key = :key", key="k")] == ["v"]
    again.close()


def test_an_exception_takes_back_the_whole_transaction_tables_included(store: Store) -> None:
    with pytest.raises(RuntimeError), store.write() as connection:
        connection.exec_driver_sql("CREATE TABLE half (x INTEGER)")
        connection.execute(sa.insert(setting).values(key="k", value="v"))
        raise RuntimeError
    with store.read() as connection:
        assert not sa.inspect(connection).has_table("half")
    assert not store.query("SELECT 1 FROM setting WHERE key = 'k'")


def test_the_clock_is_the_databases_and_in_utc_seconds(store: Store) -> None:
    with store.read() as connection:
        now = connection.execute(sa.select(store.now)).scalar_one()
    assert abs(now - time.time()) < 5  # same machine


def test_sqlite_writes_ahead_and_readers_do_not_block_a_writer(tmp_path: Path) -> None:
    store = open_store(tmp_path / "results.db")
    with sqlite3.connect(tmp_path / "results.db") as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    with store.read() as reader:
        reader.execute(sa.select(setting)).all()
        with store.write() as writer:
            writer.execute(sa.insert(setting).values(key="k", value="v"))
        assert reader.execute(sa.select(setting.c.value).where(setting.c.key == "k")).scalar() is None  # one state
    store.close()


@pytest.mark.e2e
def test_many_processes_may_make_the_same_database_at_once(place: str) -> None:
    code = "import sys; from hashbench.store.engine import open_store; open_store(sys.argv[1]).close()"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code, place]
    makers = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) for _ in range(3)]
    errors = [maker.communicate(timeout=60)[1] for maker in makers]
    assert [maker.returncode for maker in makers] == [0, 0, 0], errors
    store = open_store(place)
    assert [row["version_num"] for row in store.query("SELECT version_num FROM alembic_version")] == [SCHEMA]
    store.close()


def test_views_of_another_text_are_made_anew(place: str) -> None:
    store = open_store(place)
    with store.write() as connection:
        connection.exec_driver_sql("DROP VIEW run_origins")
        connection.exec_driver_sql("CREATE VIEW run_origins AS SELECT 1 AS old")
        connection.execute(
            sa.update(setting).where(setting.c.key == views.FINGERPRINT_SETTING).values(value="an older text")
        )
    store.close()
    again = open_store(place)
    assert not again.query("SELECT experiment_id FROM run_origins")  # the column is there
    with again.read() as connection:
        assert views.are_current(connection)
    again.close()


def test_a_view_of_another_version_goes_and_a_user_defined_one_stays(place: str) -> None:
    store = open_store(place)
    with store.write() as connection:
        connection.exec_driver_sql("CREATE VIEW glue_scores AS SELECT * FROM scores")
        connection.exec_driver_sql("CREATE VIEW my_runs AS SELECT id FROM run")
        names = sa.update(setting).where(setting.c.key == views.NAMES_SETTING)
        connection.execute(names.values(value=",".join([*views.VIEWS, "glue_scores"])))
        connection.execute(
            sa.update(setting).where(setting.c.key == views.FINGERPRINT_SETTING).values(value="an older text")
        )
    store.close()
    again = open_store(place)
    with again.read() as connection:
        assert set(sa.inspect(connection).get_view_names()) == {*views.VIEWS, "my_runs"}
    again.close()


def test_views_that_are_current_are_not_made_again(tmp_path: Path) -> None:
    open_store(tmp_path / "results.db").close()
    with sqlite3.connect(tmp_path / "results.db") as connection:
        before = connection.execute("PRAGMA schema_version").fetchone()
    open_store(tmp_path / "results.db").close()
    with sqlite3.connect(tmp_path / "results.db") as connection:
        assert connection.execute("PRAGMA schema_version").fetchone() == before


def test_read_only_shows_todays_views_and_leaves_the_file_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "example.db"
    store = open_store(path)
    with store.write() as connection:
        connection.exec_driver_sql("DROP VIEW run_origins")
        connection.execute(sa.delete(sa.table("reading")))
        connection.execute(
            sa.update(setting).where(setting.c.key == views.FINGERPRINT_SETTING).values(value="an older text")
        )
    store.close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
    before = path.read_bytes()
    reader = open_store(path, read_only=True)
    assert reader.query("SELECT COUNT(*) AS n FROM run_origins")[0]["n"] == 0
    assert reader.query("SELECT COUNT(*) AS n FROM reading")[0]["n"] == len(views.readings())
    with pytest.raises(sa.exc.OperationalError, match="readonly"), reader.write() as connection:
        connection.execute(sa.delete(setting))
    reader.close()
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["example.db"]


def test_missing_folder(tmp_path: Path) -> None:
    assert re.fullmatch(r".*results.db: no folder '.*/no' for it; make .*", refusal(tmp_path / "no" / "results.db"))


def test_a_folder_for_a_database(tmp_path: Path) -> None:
    assert "a folder, not a database; name a file in it" in refusal(tmp_path)


def test_a_text_file_for_a_database(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("milk, bread")
    assert refusal(tmp_path / "notes.txt").endswith("notes.txt: not a database; name another database")
    assert (tmp_path / "notes.txt").read_text() == "milk, bread"


def test_a_file_that_only_begins_like_a_database(tmp_path: Path) -> None:
    (tmp_path / "cut.db").write_bytes(b"SQLite format 3\x00" + b"\xff" * 5000)
    assert "cut.db: not a database that can be read: " in refusal(tmp_path / "cut.db")


def test_a_missing_database_that_is_to_be_read(tmp_path: Path) -> None:
    assert "results.db: no such database; run hashbench sweep first" in refusal(tmp_path / "results.db", create=False)
    assert "no such database" in refusal(tmp_path / "results.db", read_only=True)
    assert not list(tmp_path.iterdir())


def test_an_empty_file_becomes_a_database_only_where_one_may_be_made(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    assert "empty.db: an empty database; run hashbench sweep first" in refusal(tmp_path / "empty.db", create=False)
    store = open_store(tmp_path / "empty.db")
    assert store.query("SELECT COUNT(*) AS n FROM run")[0]["n"] == 0
    store.close()


def test_somebody_elses_database_is_left_alone(place: str) -> None:
    url, _ = parse(place)
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE recipes (cake TEXT)")
    assert refusal(place).endswith("a database, but not one of hashbench; name another database")
    with engine.connect() as connection:
        assert sa.inspect(connection).get_table_names() == ["recipes"]
    engine.dispose()


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ("0007", ": schema 7, this program writes 6; install a newer hashbench"),
        ("0004", ": schema 4, this program writes 6 and reads none from before 0.1.0; run at commit 02e8f6c54bceadd"),
    ],
)
def test_a_database_of_another_schema(place: str, found: str, words: str) -> None:
    store = open_store(place)
    with store.write() as connection:
        connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{found}'")
    store.close()
    assert words in refusal(place)
    assert words in refusal(place, read_only=True)


def test_addresses_that_are_none(tmp_path: Path) -> None:
    assert "unknown database 'mysql'" in refusal("mysql://someone@somewhere/name")
    assert "not a database address" in refusal("://")


def test_a_server_without_its_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    said = "psycopg is not installed; run: pip install 'hashbench[postgres]'"
    assert refusal("postgresql://someone@somewhere/name") == said
    other = refusal("postgresql+nothing://someone@somewhere/name")
    assert other.startswith("postgresql+nothing://someone@somewhere/name: ") and "give postgresql://USER@" in other


def test_a_server_that_does_not_answer_and_a_password_that_stays_hidden(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    message = refusal(f"postgresql://me:secret@/name?host={tmp_path}")
    assert "cannot connect" in message
    assert "secret" not in message


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_database_that_cannot_be_written(tmp_path: Path) -> None:
    open_store(tmp_path / "results.db").close()
    (tmp_path / "results.db").chmod(0o444)
    assert "cannot be written" in refusal(tmp_path / "results.db")


@pytest.mark.e2e
def test_opening_is_quick_and_loads_neither_alembic_nor_torch(tmp_path: Path) -> None:
    path = tmp_path / "results.db"
    open_store(path).close()
    code = (
        "import sys; from hashbench.store.engine import open_store;"
        "import hashbench.store.queue, hashbench.store.result, hashbench.store.status;"
        "open_store(sys.argv[1]); print([m for m in ('alembic', 'torch', 'pandas') if m in sys.modules])"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    told = subprocess.run([sys.executable, "-c", code, str(path)], env=environment, capture_output=True, text=True)
    assert told.stdout == "[]\n", told.stderr
    times = []
    for _ in range(5):
        start = time.process_time()
        open_store(path).close()
        times.append(time.process_time() - start)
    assert min(times) < 0.05  # of CPU; measured: 4 ms


@pytest.mark.e2e
def test_a_program_that_ends_leaves_one_whole_file(tmp_path: Path) -> None:
    """What stands in the write-ahead log alone would be missing from a copy of the file."""
    program = (
        "from hashbench.store.engine import open_store\n"
        "import sqlalchemy as sa\n"
        "from hashbench.store.schema import setting\n"
        "store = open_store('r.db')\n"
        "with store.write() as connection:\n"
        "    connection.execute(sa.insert(setting), {'key': 'mine', 'value': 'kept'})\n"
        "store.query('SELECT 1')\n"
        "store.itself = store\n"  # nothing lets go of it by itself
        "import gc; gc.disable(); gc.freeze()\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    assert [path.name for path in tmp_path.iterdir()] == ["r.db"]
    with sqlite3.connect(tmp_path / "r.db") as connection:
        assert connection.execute("SELECT value FROM setting WHERE key = 'mine'").fetchone() == ("kept",)
