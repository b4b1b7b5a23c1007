"""A working folder with a small experiment in it, for the tests of commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.cli.app import main
from tests.cli.commands import Run
from tests.cli.stores import make_store
from tests.commands import Outcome

SMALL = """
name: small
data: builtin
encoder: tiny
models: [hashformer-md-proj]
tasks: [cola]
seeds: [0]
pretrain: {corpora: [builtin], steps: 2, batch_size: 2, sequence_length: 16}
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A function from arguments to the outcome, in a working folder of its own with small.yaml in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HASHBENCH_DB", raising=False)
    Path("small.yaml").write_text(SMALL)

    def command(*arguments: str) -> Outcome:
        with pytest.raises(SystemExit) as left:
            main(list(arguments))
        out, err = capsys.readouterr()
        return Outcome(int(left.value.code or 0), out, err)

    return command


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A function from arguments to (exit code, stdout, stderr), beside a store with one failed and one planned run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HASHBENCH_DB", raising=False)
    make_store("results.db")

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            main(list(arguments))
        out, err = capsys.readouterr()
        return int(left.value.code or 0), out, err

    return run
