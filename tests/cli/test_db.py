"""`db merge`, `export`, `upgrade`, and `void`."""

from __future__ import annotations

import contextlib
import io
import json
import sqlite3
from pathlib import Path

import pytest

from hashbench.common.cache import mark
from hashbench.common.measured import MetricRow
from hashbench.running.experiment.identity import run_id
from hashbench.running.runs.artifacts import ArtifactFolder
from hashbench.store.engine import open_results, open_store
from hashbench.store.planning import Run, add_experiment
from hashbench.store.queue import claim
from hashbench.store.result import Artifact, Result, finish
from tests.cli.stores import SECOND


def test_void(command) -> None:
    store = open_store("results.db")
    held = claim(store, 1, worker="w", lease_s=60, max_attempts=1)
    assert held is not None and held.run_id == SECOND
    finish(store, held, Result())
    store.close()
    assert command("db", "void", "bbbb", "--reason", "wrong folder") == (0, f"void: {SECOND}\n", "")
    assert json.loads(command("status", "--format", "json")[1])["counts"]["void"] == 1


def test_only_a_finished_run_can_be_made_void(command) -> None:
    code, out, err = command("db", "void", "aaaa", "--reason", "wrong folder")
    assert (code, out) == (2, "") and "only a finished run can be made void" in err


def test_a_file_to_merge_that_is_missing_makes_no_store(command) -> None:
    code, out, err = command("db", "merge", "nosuch.db", "--db", "all.db")
    assert (code, out) == (2, "") and "nosuch.db: no such file; name the database whose results" in err
    assert not Path("all.db").exists()


def test_merge_twice_changes_nothing(command) -> None:
    spec = {"kind": "floor"}
    store = open_store("one.db")
    row = Run(id=run_id(spec), kind="floor", model="majority", encoder="tiny", spec=spec)
    add_experiment(store, "exp", {"name": "exp"}, [row], baseline="majority")
    store.close()
    first, again = (command("db", "merge", "one.db", "--db", "all.db") for _ in range(2))
    assert first[0] == again[0] == 0
    assert " 1 runs" in first[1] and " 0 runs" in again[1]


def test_export_of_an_example(command) -> None:
    code, out, _ = command("db", "export", "results.db.example")
    assert (code, out) == (0, "results.db -> results.db.example\n")
    assert Path("results.db.example").exists()


def test_publish(command) -> None:
    code, out, err = command(
        "db", "publish", "out", "--organisation", "my-lab", "--db", "example", "--experiment", "canine_tiny"
    )
    assert (code, out, err) == (0, "example -> out: 7 records\n", "")
    assert len(list(Path("out").glob("data/hashbench_canine_tiny/my-lab/*/*.json"))) == 7


def test_upgrade_of_a_current_store(command) -> None:
    code, out, _ = command("db", "upgrade")
    assert code == 0 and out.endswith("nothing to do\n")


def two_results() -> str:
    """Two databases in which one run has different scores; returns its id."""
    spec = {"kind": "floor", "seed": 1}
    for path, value in (("one.db", 0.5), ("two.db", 0.75)):
        store = open_store(path)
        row = Run(id=run_id(spec), kind="floor", model="majority", encoder="tiny", spec=spec, task="cola")
        number = add_experiment(store, "exp", {"name": "exp"}, [row], baseline="majority")
        held = claim(store, number, worker="w", lease_s=60, max_attempts=1)
        finish(store, held, Result([MetricRow("accuracy", value, "validation", 1)]))
        store.close()
    return run_id(spec)


def test_results_that_differ_end_with_1_and_ours_count(command) -> None:
    two_results()
    code, _, err = command("db", "merge", "two.db", "--db", "one.db")
    assert code == 1 and "counted 0.5, other copy 0.75" in err and "those of this store count" in err
    code, _, err = command("db", "merge", "two.db", "--db", "one.db", "--prefer", "theirs")
    assert code == 2 and "db merge --prefer is gone: " in err and err.count("\n") == 1


def test_a_dry_run_writes_nothing_and_a_merge_saves_a_copy(command) -> None:
    run = two_results()
    assert command("db", "merge", "two.db", "--db", "one.db", "--dry-run")[:2] == (
        1, "two.db -> one.db: would bring 0 experiments, 0 runs, 1 attempts\n"
    )  # fmt: skip
    assert not Path("one.db.saved-1").exists()
    code, _, err = command("db", "merge", "two.db", "--db", "one.db")
    assert code == 1 and "this store as it was before: one.db.saved-1\n" in err
    assert f"1 runs have a further result now; the results of this store count: {run[:8]}\n" in err


def test_voids_of_another_store_are_listed(command) -> None:
    run = two_results()
    assert command("db", "merge", "one.db", "--db", "copy.db")[0] == 0
    assert command("db", "void", run[:8], "--reason", "wrong labels", "--db", "copy.db")[0] == 0
    code, _, err = command("db", "merge", "copy.db", "--db", "one.db")
    assert code == 1 and f"void there: run {run[:8]}: wrong labels\n1 results are void there and count here; " in err
    code, _, err = command("db", "merge", "one.db", "--db", "copy.db")
    assert code == 0 and "1 runs are void here and finished there; they stay void" in err


def test_a_run_in_flight_here_is_named_and_left(command) -> None:
    run = two_results()
    store = open_store("mine.db")
    row = Run(id=run, kind="floor", model="majority", encoder="tiny", spec={"kind": "floor", "seed": 1}, task="cola")
    number = add_experiment(store, "exp", {"name": "exp"}, [row], baseline="majority")
    claim(store, number, worker="w", lease_s=60, max_attempts=1)
    store.close()
    code, out, err = command("db", "merge", "one.db", "--db", "mine.db")
    assert (code, out) == (0, "one.db -> mine.db: 0 experiments, 0 runs, 0 attempts\n")
    assert f"1 runs are in flight here and were left to their workers; merge again when they ended: {run[:8]}\n" in err


def test_a_run_that_is_not_what_its_spec_says_is_not_merged(command) -> None:
    code, out, err = command("db", "merge", "results.db", "--db", "all.db")
    assert (code, out) == (2, "") and "results.db: malformed: run aaaaaaaaaaaa: its spec is that of run" in err


def test_check_finds_damage_and_a_void_run_has_none(command) -> None:
    run = two_results()
    assert command("db", "check", "--db", "one.db") == (0, "one.db: no damage\n", "")
    with contextlib.closing(sqlite3.connect("one.db")) as connection:
        connection.execute("UPDATE metric SET value = 0.75")
        connection.commit()
    code, out, err = command("db", "check", "--db", "one.db")
    assert (code, out) == (1, f"run {run[:12]}: attempt 1 changed since it was stored\n")
    assert err.startswith("one.db: 1 places are damaged; take a whole copy, or hashbench db void RUN --reason damaged")
    assert command("db", "void", run[:12], "--reason", "damaged", "--db", "one.db")[0] == 0
    assert command("db", "check", "--db", "one.db")[0] == 0


def finished_with_weights(folder: Path) -> Path:
    """Finishes the planned run of results.db, and returns the file that it left in the cache."""
    store = open_store("results.db")
    held = claim(store, 1, worker="w", lease_s=60, max_attempts=1)
    assert held is not None
    weights = ArtifactFolder(folder).files(held.run_id).weights
    weights.parent.mkdir(parents=True)
    weights.write_bytes(b"12345")
    finish(store, held, Result(artifacts=[Artifact("weights", f"{held.run_id}/{weights.name}", 5, "00")]))
    store.close()
    return weights


def test_delete_prints_what_goes_copies_and_deletes(command, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    weights = finished_with_weights(tmp_path / "cache")
    code, out, err = command("db", "delete", "small", "--yes")
    goes = "small (results.db): 1 version, 2 runs, 2 attempts go; 1 files of 0.0 MB stay in the cache"
    assert (code, out) == (0, f"{goes}\ndeleted\n") and "as it was before: results.db.saved-1" in err
    assert "to remove weights that none has:\nhashbench cache clean --weights --db results.db (and" in err
    assert weights.exists() and "no experiment in it" in command("status")[2]
    assert "small" in command("list", "--db", "results.db.saved-1")[1]


@pytest.mark.parametrize("run", ["../../victim", "..", "{folder}/victim"])
def test_the_id_of_a_run_is_no_path(command, tmp_path: Path, monkeypatch, run: str) -> None:
    """Whatever a database from elsewhere has in its place."""
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    mark(tmp_path / "cache")
    weights = finished_with_weights(tmp_path / "cache")
    victim = tmp_path / "victim" / "weights.safetensors"
    victim.parent.mkdir()
    victim.write_bytes(b"thesis")
    run = run.format(folder=tmp_path)
    with contextlib.closing(sqlite3.connect("results.db")) as connection:
        for table, column in (("run", "id"), ("attempt", "run_id"), ("experiment_run", "run_id")):
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (run, SECOND))
        connection.execute("UPDATE artifact SET url = ?", (f"{run}/weights.safetensors",))
        connection.commit()
    code, out, err = command("export", "out", "--run", run.ljust(4, "/"))
    assert (code, out, err.count("\n")) == (2, "", 1) and not Path("out").exists()
    command("log", run)
    command("db", "void", run, "--reason", "x")
    assert command("db", "check")[0] == 1
    assert command("db", "delete", "small", "--yes")[0] == 0
    assert command("cache", "clean", "--weights", "--db", "results.db", "--older-than", "0")[0] == 0
    assert not weights.exists() and victim.read_bytes() == b"thesis"


@pytest.mark.parametrize("answer", ["y", "n"])
def test_delete_asks_on_a_terminal(command, monkeypatch, answer: str) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal(f"{answer}\n"))
    code, out, err = command("db", "delete", "small")
    assert "Delete it? [y/N]" in out
    assert (code, "deleted" in out, "nothing was deleted" in err) == (
        (0, True, False) if answer == "y" else (1, False, True)
    )
    assert Path("results.db.saved-1").exists() == (answer == "y")


def test_delete_without_a_terminal_needs_yes(command, monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    code, _, err = command("db", "delete", "small")
    assert (
        code == 2 and err == "hashbench: db delete: it asks before it deletes, and nobody can answer here; give --yes\n"
    )
    for words in (("delete", "small", "--earlier"), ("rename", "small", "big"), ("unvoid", "3fa2")):
        code, _, err = command("db", *words)
        assert code == 2 and " is gone: " in err and err.count("\n") == 1


def test_export_names_what_is_left_out(command, tmp_path: Path) -> None:
    code, out, err = command("db", "export", "copy.db", "--db", "example", "--experiment", "canine_tiny")
    assert (code, err) == (0, "")
    run = open_results(tmp_path / "copy.db").query("SELECT id FROM run WHERE kind = 'floor' LIMIT 1")[0]["id"]
    code, out, err = command(
        "db", "export", "less.db", "--db", "example", "--experiment", "canine_tiny", "--leave-out", run[:12]
    )
    assert (code, out, err) == (0, "example -> less.db\n", f"1 runs are left out: {run[:8]}\n")
    code, out, err = command("db", "export", "no.db", "--db", "example", "--leave-out", "zzzz")
    assert code == 2 and "zzzz" in err and not (tmp_path / "no.db").exists()
