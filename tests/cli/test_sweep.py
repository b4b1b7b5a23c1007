"""`sweep`: dry runs, executors, exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.cli import sweep as sweep_command
from tests.cli.commands import Run, fails


def test_a_dry_run_starts_nothing(run: Run) -> None:
    outcome = run("sweep", "small.yaml", "--dry-run")
    assert outcome.code == 0 and "hashformer-md-proj cola seed 0" in outcome.out
    assert not Path("results.db").exists()


def test_sweep_names_the_executor(run: Run) -> None:
    fails(run("sweep", "small.yaml", "--executor", "slurm"), "see: hashbench sweep --help")


def test_the_exit_code_of_a_sweep_is_the_programs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """1 where some runs failed; the table is printed all the same."""
    import hashbench.sweep.runner

    printed: list[str] = []
    monkeypatch.setattr(hashbench.sweep.runner, "sweep", lambda loaded, **options: 1)
    monkeypatch.setattr(sweep_command, "_print_own_table", lambda db, name: printed.append(name))
    assert run("sweep", "small.yaml").code == 1
    assert printed == ["small"]
