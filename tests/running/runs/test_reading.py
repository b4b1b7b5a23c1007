"""running/runs/finetuning.py: counts of texts are kept in the cache, and damaged ones are counted again."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.common.cache import entries
from hashbench.data.sources.fingerprints import cache_folder
from hashbench.running.runs.finetuning import KIND as FINETUNING
from hashbench.running.runs.finetuning import counted_before
from hashbench.running.runs.materials import Materials
from hashbench.running.sweep.measuring import count_texts
from hashbench.running.sweep.plan import plan

MODELS = "models: [{name: raw, like: hashformer-md-proj, objective: none}]\nbaseline: raw\nefficiency: false\n"


def test_a_damaged_record_is_set_aside_and_not_known(
    experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path))
    resolved = plan(experiment(MODELS)).resolved
    spec = FINETUNING.of(resolved, resolved.models["raw"], resolved.tasks[0], 0).spec
    assert counted_before(spec) is None
    count_texts(resolved, Materials(resolved.sources, cache_folder(), resolved.tasks))
    assert counted_before(spec) is not None
    assert "measured" in [entry.room for entry in entries(tmp_path)]
    for record in (tmp_path / "measured").iterdir():
        record.write_text(record.read_text().replace("1", "2"))
    assert counted_before(spec) is None
    assert "is damaged" in capsys.readouterr().err
