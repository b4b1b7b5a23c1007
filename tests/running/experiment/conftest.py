"""An experiment file in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hashbench.running.experiment.load import Loaded, load_experiment

BUILTIN = """
name: small
data: builtin
encoder: tiny
tasks: [cola, stsb]
seeds: [0, 1]
pretrain: {corpora: [builtin], steps: 10, batch_size: 4, sequence_length: 32, vocabulary_size: 500}
"""
Load = Callable[..., Loaded]


@pytest.fixture
def experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """A function from lines of YAML, put behind a small built-in experiment, to a loaded one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))

    def load(lines: str, *overrides: str) -> Loaded:
        Path("a.yaml").write_text(BUILTIN + lines)
        return load_experiment("a.yaml", overrides)

    return load
