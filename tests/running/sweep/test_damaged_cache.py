"""A sweep whose whole cache was damaged gives the scores of one whose cache is right, and names what it found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hashbench.common.cache import MARK
from hashbench.store.packing import unpack
from tests.damage import DAMAGES
from tests.running.sweep.test_needed_files import Machines

pytestmark = pytest.mark.slow
OUTPUTS = """
SELECT r.task, p.split, p.checkpoint, p.outputs FROM predictions p JOIN run r ON r.finished_attempt = p.attempt_id
ORDER BY r.task, p.split, p.checkpoint
"""


def outputs(machines: Machines) -> list[np.ndarray]:
    return [unpack(row["outputs"]) for row in machines.store.query(OUTPUTS)]


def made_files(cache: Path) -> list[Path]:
    """All but locks and what was set aside."""
    files = (path for path in sorted(cache.rglob("*")) if path.is_file() and path.suffix != ".lock")
    return [path for path in files if not any(part.endswith(".bad") for part in path.parts)]


def test_no_score_changes_and_every_kind_of_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    machines = Machines(tmp_path, monkeypatch)
    machines.sweep("a", "mrpc")
    right, cache = outputs(machines), tmp_path / "a"
    assert len(right) > 1
    for name, damage in DAMAGES.items():
        for path in made_files(cache):
            damage(path)
        kinds = {path.relative_to(cache).parts[0] for path in made_files(cache)}
        capfd.readouterr()
        machines.db = str(tmp_path / f"{name}.db")
        assert [state for _, state in machines.sweep("a", "mrpc")] == ["done", "done"]
        said = capfd.readouterr().err
        # A new training writes its weights without a look at the old ones, and a mark is written again
        assert [kind for kind in sorted(kinds - {"artifacts", MARK}) if str(cache / kind) not in said] == []
        assert all(np.array_equal(one, other) for one, other in zip(right, outputs(machines), strict=True))
        # Weights are read by the fine-tuning of another task
        weights = machines.weights("a")
        whole = weights.read_bytes()
        damage(weights)
        assert [state for _, state in machines.sweep("a", "mrpc, rte")] == ["done"]
        assert str(weights) in capfd.readouterr().err and weights.read_bytes() == whole
