"""`status`: for people, for programs, of one run, and watching."""

from __future__ import annotations

import contextlib
import io
import json

import pytest

from hashbench.cli.status import _Screen
from hashbench.common.measured import MetricRow
from hashbench.store.engine import Store, open_store
from hashbench.store.environment import Environment
from hashbench.store.planning import Run, add_experiment
from hashbench.store.queue import claim, fail
from hashbench.store.result import Result, finish
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
        Run(id="c" * 64, kind="pretrain", model="bert-mlm", encoder="tiny", spec=SPEC),
        Run(id="d" * 64, kind="finetune", model="bert-mlm", encoder="tiny", spec=SPEC, needs=("c" * 64,)),
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
    assert (code, out.splitlines()) == (
        0,
        [
            "stuck (results.db): 0 of 2 runs done, 1 planned, 1 failed",
            "failed: 1 run: out of memory (pretrain bert-mlm; hashbench log cccccccccccc)",
            "attempts without a result: 1 failed",
            "attempts without a result: 2 failed",
        ],
    )


def test_status_never_changes_the_store(command, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[dict[str, bool]] = []

    def opening(db: str, **how: bool) -> Store:
        opened.append(how)
        return open_store(db, **how)

    monkeypatch.setattr("hashbench.store.engine.open_store", opening)
    assert command("status")[0] == 0
    assert opened == [{"create": False, "read_only": True}]


def test_the_log_of_a_run_for_programs_and_with_all(command) -> None:
    read = json.loads(command("log", "aaaa", "--format", "json")[1])
    assert (read["version"], read["run"], read["attempts"][-1]["reason"]) == (1, FIRST, "out of memory")
    out = command("log", "aaaa", "--all")[1]
    assert all(text in out for text in (f"run {FIRST}", '"kind": ', "reason: out of memory", "some log"))


def test_the_log_of_a_failed_run_is_its_last_attempt_with_what_it_is(command) -> None:
    code, out, _ = command("log", "aaaa")
    lines = out.splitlines()
    assert code == 0 and lines[:3] == [f"run {FIRST}", "bert-mlm cola finetune seed 0: finetune, encoder tiny, failed",
                                       "experiment small"]  # fmt: skip
    assert lines[-2:] == ["reason: out of memory", "some log"]


def test_the_log_of_a_finished_run_has_scores_and_a_thinned_curve(command) -> None:
    store = open_store("results.db")
    rows = [Run(id="e" * 64, kind="finetune", model="m", encoder="tiny", spec=SPEC, task="cola", seed=0)]
    held = claim(store, add_experiment(store, "whole", {}, rows, baseline="m"), worker="w", lease_s=60, max_attempts=1)
    assert held is not None
    losses = [MetricRow("loss", 1 / step, "train", step) for step in range(1, 101)]
    scores = [MetricRow("matthews", 0.125, "validation", 50), MetricRow("best_step", 50), MetricRow("last_step", 50)]
    finish(store, held, Result([*losses, *scores]))
    store.close()
    code, out, _ = command("log", "eeee")
    assert code == 0 and "matthews on validation: 12.5" in out and "it printed nothing" in out
    table = [line.split() for line in out.splitlines() if line.strip()[:1].isdigit()]
    assert (table[0], table[-1], len(table)) == (["1", "1.0"], ["100", "0.01"], 13)  # 12 losses, and the evaluation
    assert "(87 further points: --all)" in out
    assert sum(line.strip()[:1].isdigit() for line in command("log", "eeee", "--all")[1].splitlines()) == 100
    for words, message in ((("log", "ffff"), "no run 'ffff'"), (("log", "ee"), "give at least 4 letters")):
        code, out, err = command(*words)
        assert (code, out, err.count("\n")) == (2, "", 1) and message in err


def test_status_of_an_unknown_experiment(command) -> None:
    code, out, err = command("status", "smal")
    assert (code, out) == (2, "") and "did you mean 'small'" in err


def test_the_database_may_come_from_the_environment(command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HASHBENCH_DB", "other.db")
    assert command("status")[2].startswith("hashbench: other.db: no such database")


def test_control_characters_of_a_database_reach_no_terminal(command) -> None:
    store = open_store("results.db")
    rows = [Run(id="e" * 64, kind="finetune", model="\x1b[2Jcleared", encoder="tiny", spec=SPEC)]
    number = add_experiment(store, "hostile\x9b5A", {"name": "x", "retries": 0}, rows, baseline="\x1b]0;title\x07")
    held = claim(store, number, worker="\x1b[1Aw", lease_s=60, max_attempts=1)
    fail(store, held, "\x1b[31mred\r", log="\x1b[8mhidden")
    store.close()
    for words in (
        ["status"],
        ["log", "eeee", "--all"],
        ["log", "eeee"],
        ["status", "--format", "json"],
        ["status", "--watch"],
    ):
        code, out, err = command(*words)
        assert code == 0 and out
        assert not set(out + err) & {"\x1b", "\x9b", "\x07", "\r"}, words
    for words in (["report"], ["report", "--format", "csv"], ["status", "other"]):
        _, out, err = command(*words)
        assert not set(out + err) & {"\x1b", "\x9b", "\x07", "\r"}, words


def test_many_runs_fit_a_screen(command) -> None:
    store = open_store("results.db")
    rows = [
        Run(id=f"{n:064x}", kind="finetune", model="bert-mlm", encoder="tiny", spec=SPEC, task="cola", seed=n)
        for n in range(200)
    ]
    number = add_experiment(store, "large", {"name": "large"}, rows, baseline="bert-mlm")
    for n in range(60):
        held = claim(store, number, worker=f"w{n}", lease_s=60, max_attempts=1, environment=Environment(f"box{n % 2}"))
        assert held is not None
        if n < 20:
            fail(store, held, f"reason {n % 10}\nwith more", log="long")
        elif n < 30:
            finish(store, held, Result())
    store.close()
    out = command("status")[1].splitlines()
    assert len(out) <= 40
    assert out[0] == "large (results.db): 10 of 200 runs done, 140 planned, 30 running, 20 failed"
    assert out[2].split() == ["finetune", "140", "30", "10", "20"]
    assert out[3] == "30 workers on 2 machines, 60 runs an hour: about 2 h 50 min left at the rate so far"
    assert out[4:6] == ["box0:", "  finetune bert-mlm cola seed 30, for 0.0 s"] or out[5].startswith("  finetune")
    assert "and 18 more" in out and "and 2 further reasons" in out and "attempts without a result: 20 failed" in out
    assert sum(line.startswith("failed: 2 runs: reason ") and " with more (finetune" in line for line in out) == 8
    assert out[-1] == "every run: hashbench status --all"
    assert len(command("status", "--all")[1].splitlines()) == 202


def test_a_terminal_is_drawn_over_and_never_wider_than_it_is(command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("LINES", "4")
    screen = _Screen()
    with contextlib.redirect_stdout(io.StringIO()) as text:
        screen.draw(["a" * 50, "", "\x1b[2J", "c", "d", "e"])
        screen.draw(["b"])
    assert text.getvalue() == f"{'a' * 29}\n\\u001b[2J\nc\n\x1b[3F\x1b[Jb\n"
