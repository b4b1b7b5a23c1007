"""Upgrades: every released schema becomes the newest, with its rows; the newest equals what schema.py creates."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy.engine.interfaces import ReflectedIndex

from hashbench.common.errors import InputError
from hashbench.results.exchange.merge import merge
from hashbench.store import migrate, sums, views
from hashbench.store.engine import Store, open_results, open_store, parse
from hashbench.store.schema import BEFORE_FIRST, SCHEMA, metadata
from hashbench.store.status import counts, find_experiment
from tests.store.noted import wrong_notes

EXAMPLE = Path(__file__).resolve().parents[2] / "results.db.example"
RELEASED = Path(__file__).parent / "released"  # one dump of a small database per released schema


def shape(url: sa.engine.URL) -> dict[str, object]:
    """All that makes the tables of a database: columns, keys, references, indexes, checks."""
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        found = sa.inspect(connection)
        tables = {
            name: {
                "columns": [
                    (column["name"], str(column["type"]), column["nullable"], column["default"])
                    for column in found.get_columns(name)
                ],
                "key": found.get_pk_constraint(name)["constrained_columns"],
                "references": sorted(
                    (item["constrained_columns"], item["referred_table"]) for item in found.get_foreign_keys(name)
                ),
                "indexes": sorted(
                    (item["name"], item["column_names"], bool(item["unique"]), _condition(item))
                    for item in found.get_indexes(name)
                ),
                "unique": sorted(item["column_names"] for item in found.get_unique_constraints(name)),
                "checks": sorted((item["name"], item["sqltext"]) for item in found.get_check_constraints(name)),
            }
            for name in found.get_table_names()
            if name != "alembic_version"  # alembic makes this one itself
        }
    engine.dispose()
    return tables


def _condition(index: ReflectedIndex) -> list[str]:
    """Of a partial index: which rows it holds."""
    return [str(value) for name, value in index["dialect_options"].items() if name.endswith("_where")]


def test_the_migrations_lead_to_the_schema_of_the_program() -> None:
    scripts = ScriptDirectory(str(Path(migrate.__file__).parent / "migrations"))
    assert scripts.get_heads() == [SCHEMA]
    assert [script.revision for script in scripts.walk_revisions()] == sorted(
        (script.revision for script in scripts.walk_revisions()), reverse=True
    )  # the guard compares them as text


def test_a_migrated_database_equals_a_new_one(place: str) -> None:
    url, _ = parse(place)
    config = Config()
    config.set_main_option("script_location", str(Path(migrate.__file__).parent / "migrations"))
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
    migrated = shape(url)
    with engine.begin() as connection:
        metadata.drop_all(connection)
    engine.dispose()
    open_store(place).close()
    assert set(migrated) == set(metadata.tables) - {"alembic_version"}
    assert migrated == shape(url)


@pytest.mark.parametrize("dump", sorted(RELEASED.glob("*.sql")), ids=lambda path: path.stem)
def test_a_database_of_a_released_schema_keeps_its_scores(dump: Path, tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(dump.read_text())
    before, after = migrate.upgrade(path)
    assert (before, after) == (int(dump.stem), int(SCHEMA))
    store = open_store(path)
    rows = store.query("SELECT model, task, value, n FROM paper_scores WHERE checkpoint = 'best' AND paper = 'own'")
    assert sorted(tuple(row.values()) for row in rows) == [("bert-mlm", "cola", 0.5, 2), ("mine", "cola", 0.25, 1)]
    found = find_experiment(store)
    assert (found.name, found.baseline, counts(store, found.id)["planned"]) == ("old", "bert-mlm", 1)
    assert not store.query("PRAGMA foreign_key_check") and wrong_notes(store) == []
    store.close()
    assert migrate.upgrade(path) == (int(SCHEMA), int(SCHEMA))  # any number of times


def rows_of(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """All rows of all tables, sorted; `setting` without the fingerprint and the names of the views."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in names}
    rows["setting"] = [row for row in rows["setting"] if row[0] not in (views.FINGERPRINT_SETTING, views.NAMES_SETTING)]
    return {name: sorted(of_table, key=repr) for name, of_table in rows.items()}


@pytest.mark.e2e
def test_the_example_equals_itself_after_an_upgrade(tmp_path: Path) -> None:
    path = Path(shutil.copy(EXAMPLE, tmp_path / "example.db"))
    before = rows_of(path)
    assert migrate.upgrade(path)[1] == int(SCHEMA)
    after = rows_of(path)
    versions, n_sums = after.pop("alembic_version"), len(after.pop("content_sum"))
    assert versions == [(SCHEMA,)] and n_sums == sum(
        len(after[name]) for name in ("attempt", "run", "experiment", "experiment_run")
    )
    assert len(before["metric"]) > 100_000 and after == {name: before[name] for name in after}
    store = open_store(path, create=False)
    with store.read() as connection:
        assert [sums.wrong(connection, kind) for kind in sums.KINDS] == [[]] * 4
    assert set(sa.inspect(store._reader).get_view_names()) == set(views.VIEWS)
    assert not store.query("PRAGMA foreign_key_check") and wrong_notes(store) == []
    store.close()


def before_first(path: Path) -> Path:
    """A database with the number of a schema from before version 0.1.0."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript((RELEASED / "0005.sql").read_text())
        connection.executescript("UPDATE alembic_version SET version_num = '0002'")
    return path


def test_a_database_from_before_the_first_schema_names_the_commit_that_upgrades_it(tmp_path: Path) -> None:
    path = before_first(tmp_path / "old.db")
    before = path.read_bytes()
    line = rf"^{path}: schema 2, this program writes {int(SCHEMA)} and reads none from before 0\.1\.0; run at commit "
    line += rf"{BEFORE_FIRST}: hashbench db upgrade --db {path}$"
    new = open_store(tmp_path / "new.db")
    for call in (open_store, open_results, migrate.upgrade, partial(merge, new)):
        with pytest.raises(InputError, match=line):
            call(path)
    new.close()
    assert path.read_bytes() == before
    assert BEFORE_FIRST in (EXAMPLE.parent / "docs" / "database.md").read_text()


def test_there_is_a_dump_of_every_released_schema() -> None:
    scripts = ScriptDirectory(str(Path(migrate.__file__).parent / "migrations"))
    assert {path.stem for path in RELEASED.glob("*.sql")} == {script.revision for script in scripts.walk_revisions()}


def test_upgrading_brings_todays_views(store: Store, place: str) -> None:
    with store.write() as connection:
        connection.exec_driver_sql("DROP VIEW run_origins")
    migrate.upgrade(place)
    with store.read() as connection:
        assert set(sa.inspect(connection).get_view_names()) == set(views.VIEWS)


def test_a_newer_database_is_left_alone(store: Store, place: str) -> None:
    with store.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0009'")
    with pytest.raises(InputError, match="schema 9, this program writes 6; install a newer hashbench"):
        migrate.upgrade(place)
    assert [row["version_num"] for row in store.query("SELECT version_num FROM alembic_version")] == ["0009"]


def test_what_is_no_database_of_ours(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none.db: no such database"):
        migrate.upgrade(tmp_path / "none.db")
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE cake (x)")
    with pytest.raises(InputError, match="other.db: no database of hashbench"):
        migrate.upgrade(tmp_path / "other.db")


def test_an_older_schema_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript((RELEASED / "0005.sql").read_text())
    before = path.read_bytes()
    store = open_results(path)
    assert counts(store, find_experiment(store).id)["planned"] == 1
    store.close()
    new = open_store(tmp_path / "new.db")
    assert merge(new, path).experiments == 1
    new.close()
    assert path.read_bytes() == before
    with pytest.raises(InputError, match="schema 5, this program writes 6; run: hashbench db upgrade"):
        open_store(path)
