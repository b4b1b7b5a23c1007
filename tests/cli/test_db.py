"""`db merge`, `export`, `upgrade` and `void`."""

from __future__ import annotations

import json
from pathlib import Path

from hashbench.store.engine import open_store
from hashbench.store.finishing import finish
from hashbench.store.queue import claim
from hashbench.store.result import Result
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


def test_merge_twice_changes_nothing(command) -> None:
    first, again = (command("db", "merge", "results.db", "--db", "all.db") for _ in range(2))
    assert first[0] == again[0] == 0
    assert " 0 runs" in again[1]


def test_export_of_an_example(command) -> None:
    code, out, _ = command("db", "export", "--example", "results.db.example")
    assert (code, out) == (0, "results.db -> results.db.example\n")
    assert Path("results.db.example").exists()


def test_upgrade_of_a_current_store(command) -> None:
    code, out, _ = command("db", "upgrade")
    assert code == 0 and out.endswith("nothing to do\n")
