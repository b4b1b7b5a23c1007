"""Upgrades: every released schema comes to today's, with its data; the newest equals what schema.py makes."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy.engine.interfaces import ReflectedIndex

from hashbench.common.errors import InputError
from hashbench.results.exchange.merge import merge
from hashbench.store import migrate, views
from hashbench.store.engine import Store, open_store, parse
from hashbench.store.schema import SCHEMA, metadata
from hashbench.store.status import counts, find_experiment, predictions
from tests.store.noted import wrong_notes

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
    store.close()
    assert migrate.upgrade(path) == (int(SCHEMA), int(SCHEMA))  # any number of times


def old_database(path: Path, change: str = "") -> Path:
    """A database of schema 2, with one change made to it by the program of its time."""
    with sqlite3.connect(path) as connection:
        connection.executescript((RELEASED / "0002.sql").read_text() + change)
    return path


def test_schema_3_renames_a_column_and_names_runs_on_items(tmp_path: Path) -> None:
    spec = json.dumps({"kind": "entities", "task": {"kind": "entities"}}, sort_keys=True)
    other = json.dumps({"kind": "finetune", "notes": "entities"})
    path = old_database(
        tmp_path / "old.db",
        f"UPDATE run SET spec = '{spec}' WHERE id LIKE 'c%'; UPDATE run SET spec = '{other}' WHERE id LIKE 'a%';"
        "INSERT INTO metric SELECT attempt_id, split, name, step, 'beam=5', run_id, 0.125, NULL FROM metric "
        "WHERE attempt_id = 3 AND split <> '';"
        "UPDATE predictions SET perturbation = 'swap=0.1' WHERE attempt_id = 3;",
    )
    before = {
        row[0]: row[1:] for row in sqlite3.connect(path).execute("SELECT id, model, spec, state, created_at FROM run")
    }
    migrate.upgrade(path)
    store = open_store(path)
    kinds = {row["id"][0]: row["kind"] for row in store.query("SELECT id, kind FROM run")}
    assert kinds == {"a": "finetune", "b": "finetune", "c": "entities", "d": "finetune"}
    after = store.query("SELECT id, model, spec, state, created_at FROM run")
    assert {row["id"]: tuple(row.values())[1:] for row in after} == before  # ids and all else stay
    rows = store.query("SELECT kind, metric, condition, value FROM scores_by_condition")
    assert [tuple(row.values()) for row in rows] == [("entities", "matthews", "beam=5", 0.125)]
    assert {row["kind"] for row in store.query("SELECT kind FROM scores WHERE model = 'mine'")} == {"entities"}
    kept = predictions(store, "c".ljust(64, "0"), "validation", "best", "swap=0.1")
    assert kept is not None and len(kept.targets) == len(kept.outputs)
    assert not store.query("PRAGMA foreign_key_check")
    store.close()


def test_an_older_database_is_merged_after_its_upgrade(store: Store, tmp_path: Path) -> None:
    old = old_database(tmp_path / "old.db")
    with pytest.raises(InputError, match="schema 2, this program writes 5; run: hashbench db upgrade --db .*old.db"):
        merge(store, old)
    migrate.upgrade(old)
    assert merge(store, old).finished == 3


def test_schema_4_keeps_places_and_knows_no_tree_of_them(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with sqlite3.connect(path) as connection:
        connection.executescript((RELEASED / "0003.sql").read_text())
        before = connection.execute("SELECT id, git_commit, packages FROM environment ORDER BY id").fetchall()
    migrate.upgrade(path)
    after = sqlite3.connect(path).execute("SELECT id, git_commit, packages, git_tree FROM environment ORDER BY id")
    assert before and after.fetchall() == [(*row, "") for row in before]


def schema_4(path: Path, change: str = "") -> Path:
    with sqlite3.connect(path) as connection:
        connection.executescript((RELEASED / "0004.sql").read_text() + change)
    return path


def test_schema_5_knows_which_runs_are_free(tmp_path: Path) -> None:
    run = "INSERT INTO run SELECT '{0}', kind, model, task, seed, encoder, spec, data_fingerprint, '{1}', {2}, NULL, "
    run += "NULL, created_at, NULL FROM run WHERE id LIKE 'd%'; INSERT INTO experiment_run VALUES (1, '{0}', 'm', {3}, "
    run += "NULL, NULL);"
    path = schema_4(
        tmp_path / "old.db",
        run.format("f" * 64, "failed", 2, 9) + run.format("w" * 64, "planned", 0, 4)
        + f"INSERT INTO dependency VALUES ('{'w' * 64}', '{'f' * 64}');",
    )  # fmt: skip
    migrate.upgrade(path)
    store = open_store(path)
    rows = store.query("SELECT run_id, turn, free_tries FROM experiment_run ORDER BY position")
    assert [(row["run_id"][0], row["turn"], row["free_tries"]) for row in rows] == [
        ("a", 0, None), ("b", 1, None), ("c", 2, None), ("d", 3, 0), ("w", 4, None), ("f", 9, 2),
    ]  # fmt: skip
    assert wrong_notes(store) == []
    store.close()


def test_schema_5_forgets_passwords_of_commands(tmp_path: Path) -> None:
    path = schema_4(
        tmp_path / "old.db", "UPDATE experiment SET command = 'sweep a.yaml --db postgresql://me:pw@box/r';"
    )
    shown = "sweep a.yaml --db postgresql://me:***@box/r"
    store = open_store(path, create=False, read_only=True)
    assert find_experiment(store).command == shown  # what is only read hides it as well
    store.close()
    migrate.upgrade(path)
    assert sqlite3.connect(path).execute("SELECT command FROM experiment").fetchall() == [(shown,)]


def test_a_database_of_schema_4_can_be_read_as_it_is(tmp_path: Path) -> None:
    path = schema_4(tmp_path / "old.db")
    before = path.read_bytes()
    store = open_store(path, create=False, read_only=True)
    rows = store.query("SELECT model, value FROM paper_scores WHERE checkpoint = 'best' AND paper = 'own'")
    assert sorted(tuple(row.values()) for row in rows) == [("bert-mlm", 0.5), ("mine", 0.25)]
    with pytest.raises(InputError, match="schema 4, this program writes 5; run: hashbench db upgrade --db .*old.db"):
        store.check_current()
    store.close()
    assert path.read_bytes() == before
    with pytest.raises(InputError, match="schema 4, this program writes 5"):
        open_store(path)
    with pytest.raises(InputError, match="schema 4, this program writes 5"):
        merge(open_store(tmp_path / "new.db"), path)


def test_an_upgrade_gives_the_room_of_the_old_tables_back(tmp_path: Path) -> None:
    path = old_database(tmp_path / "old.db")
    migrate.upgrade(path)
    assert sqlite3.connect(path).execute("PRAGMA freelist_count").fetchone() == (0,)


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
    with pytest.raises(InputError, match="schema 9, this program writes 5; install a newer hashbench"):
        migrate.upgrade(place)
    assert [row["version_num"] for row in store.query("SELECT version_num FROM alembic_version")] == ["0009"]


def test_what_is_no_database_of_ours(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none.db: no such database"):
        migrate.upgrade(tmp_path / "none.db")
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE cake (x)")
    with pytest.raises(InputError, match="other.db: no database of hashbench"):
        migrate.upgrade(tmp_path / "other.db")
