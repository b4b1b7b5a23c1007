"""`status`: for people, for programs, of one run, and watching."""

from __future__ import annotations

import json

import pytest

from hashbench.store.engine import Store, open_store
from hashbench.store.planning import RunRow, add_experiment
from hashbench.store.queue import claim, fail
from tests.cli.stores import FIRST, SPEC


def test_status_for_programs(command) -> None:
    code, out, err = command("status", "--format", "json")
    found = json.loads(out)
    assert (code, err, found["version"], found["experiment"]) == (0, "", 1, "small")
    assert found["counts"] == {"planned": 1, "running": 0, "done": 0, "failed": 1, "void": 0}
    first = found["runs"][0]
    assert {key: first[key] for key in ("run_id", "kind", "model", "task", "seed", "state", "reason")} == {
        "run_id": FIRST, "kind": "finetune", "model": "bert-mlm", "task": "cola", "seed": 0, "state": "failed",
        "reason": "out of memory",
    }  # fmt: skip


def test_status_for_people(command) -> None:
    code, out, _ = command("status", "small")
    assert out.splitlines()[0] == "small (results.db): 0 of 2 runs done, 1 planned, 1 failed"
    assert out.splitlines()[2].split()[:6] == ["aaaaaaaa", "finetune", "bert-mlm", "cola", "0", "failed"]


def test_watching_ends_where_a_failure_leaves_others_waiting(command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pre-training that failed as often as it may; the fine-tuning that waits for it stays planned for ever."""
    rows = [
        RunRow(id="c" * 64, kind="pretrain", model="bert-mlm", encoder="tiny", spec=SPEC),
        RunRow(id="d" * 64, kind="finetune", model="bert-mlm", encoder="tiny", spec=SPEC, needs=("c" * 64,)),
    ]
    store = open_store("results.db")
    number = add_experiment(store, "stuck", {"name": "stuck", "retries": 1}, rows, baseline="bert-mlm")

    def fail_once(*_: object) -> None:
        held = claim(store, number, worker="w", lease_s=60, max_attempts=2)
        assert held is not None  # had watching gone on after the second failure, nothing would be left to claim
        fail(store, held, "out of memory")

    fail_once()
    monkeypatch.setattr("hashbench.cli.status.time.sleep", fail_once)
    code, out, _ = command("status", "stuck", "--watch")
    store.close()
    assert (code, out) == (0, "stuck (results.db): 0 of 2 runs done, 1 planned, 1 failed\n")


def test_status_never_changes_the_store(command, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[dict[str, bool]] = []

    def opening(db: str, **how: bool) -> Store:
        opened.append(how)
        return open_store(db, **how)

    monkeypatch.setattr("hashbench.store.engine.open_store", opening)
    assert command("status")[0] == 0
    assert opened == [{"create": False, "read_only": True}]


def test_status_of_one_run_shows_its_attempts(command) -> None:
    code, out, _ = command("status", "--run", "aaaa")
    assert code == 0 and f"run {FIRST}" in out and "reason: out of memory" in out and "some log" in out


def test_status_of_an_unknown_experiment(command) -> None:
    code, out, err = command("status", "smal")
    assert (code, out) == (2, "") and "did you mean 'small'" in err


def test_the_database_may_come_from_the_environment(command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HASHBENCH_DB", "other.db")
    assert command("status")[2].startswith("hashbench: other.db: no such database")
