"""`sweep`: dry runs, executors, exit codes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TextIO

import pytest
from sqlalchemy.exc import OperationalError

from hashbench.cli import sweep as sweep_command
from tests.cli.commands import Run, fails


def test_a_dry_run_starts_nothing(run: Run) -> None:
    outcome = run("sweep", "small.yaml", "--dry-run")
    assert outcome.code == 0 and "hashformer-md-proj cola seed 0" in outcome.out
    assert not Path("results.db").exists()


@pytest.mark.parametrize("options", [["--dry-run"], []])
def test_a_database_that_cannot_be_made_is_told_before_anything_is_planned(run: Run, options: list[str]) -> None:
    outcome = run("sweep", "small.yaml", *options, "--db", "gone/results.db")
    fails(outcome, "gone/results.db: no folder 'gone' for it; make that folder, or name another database")


def test_sweep_names_the_executor(run: Run) -> None:
    fails(
        run("sweep", "small.yaml", "executor=rai"),
        "override executor=rai: executor: must be 'local', 'ray' or 'slurm', not 'rai'; did you mean 'ray'?",
    )
    gone = "sweep --executor is gone: write executor=NAME behind the file, or in it"
    fails(run("sweep", "small.yaml", "--executor", "ray"), gone)


def test_a_cluster_in_the_environment_alone_hinders_no_local_sweep(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:6379")
    assert run("sweep", "small.yaml", "--dry-run").code == 0


def test_the_exit_code_of_a_sweep_is_the_programs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """1 where some runs failed; the table is printed all the same."""
    import hashbench.running.sweep.runner

    printed: list[str] = []
    monkeypatch.setattr(hashbench.running.sweep.runner, "sweep", lambda loaded, **options: 1)
    monkeypatch.setattr(sweep_command, "print_own_table", lambda db, loaded: printed.append(loaded.experiment.name))
    assert run("sweep", "small.yaml").code == 1
    assert printed == ["small"]


def test_the_table_waits_for_a_database_that_went_away_at_the_end(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import hashbench.cli.report
    import hashbench.running.sweep.runner

    calls: list[object] = []

    def report(*arguments: object) -> None:
        calls.append(arguments)
        if len(calls) == 1:
            raise OperationalError("SELECT", {}, Exception("the server closed the connection"))

    monkeypatch.setattr(hashbench.running.sweep.runner, "sweep", lambda loaded, **options: 0)
    monkeypatch.setattr(hashbench.cli.report, "print_report", report)
    monkeypatch.setattr(sweep_command, "_tell_of_the_best", lambda db, experiment: None)
    assert run("sweep", "small.yaml").code == 0
    assert len(calls) == 2


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_terminal_is_told_at_once_that_a_sweep_plans(
    run: Run, monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    """Elsewhere a refusal stays one line, however long it takes."""
    monkeypatch.setattr(sweep_command.sys, "stderr", Terminal(sys.stderr, is_terminal))
    outcome = run("sweep", "small.yaml", "tasks=[wnli]")
    assert outcome.code == 2
    first = ["small: reads its data and plans its runs; results go to results.db"] if is_terminal else []
    assert outcome.err.splitlines()[:-1] == first


class Terminal:
    """A stream that says whether it is a terminal."""

    def __init__(self, stream: TextIO, is_terminal: bool) -> None:
        self._stream, self.isatty = stream, lambda: is_terminal

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)
