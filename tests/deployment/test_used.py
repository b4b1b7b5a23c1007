"""An encoder of transformers from its folder to an exported model and a further set, as a user calls it."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import hashbench
from hashbench.cli.app import main
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.catalogue import find_task, load_task
from hashbench.store.engine import open_store
from hashbench.store.status import find_experiment, predictions, runs
from tests.published_library import saved_encoder

pytestmark = pytest.mark.usefixtures("warm_workers")

EXPERIMENT = """\
name: used
data: builtin
encoder: tiny
models: [{name: distil, use: "transformers:./weights"}]
baseline: distil
tasks: [mrpc]
seeds: [0]
floors: []
finetune: {steps: 4, batch_size: 16, max_length: 24, evaluations: 1}
keep_weights: best
threads: 1
"""


def command(*arguments: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert not ended.value.code


def test_an_exported_model_needs_neither_database_nor_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    saved_encoder("distilbert", tmp_path / "weights")
    Path("used.yaml").write_text(EXPERIMENT)
    command("sweep", "used.yaml")
    store = open_store("results.db", create=False, read_only=True)
    run_id = next(run.run_id for run in runs(store, find_experiment(store).id) if run.kind == "finetune")
    stored = predictions(store, run_id, "validation", "best")
    assert stored is not None
    command("export", "--run", run_id[:12], "out")
    Path("2024").mkdir()
    Path("2024/test.csv").write_text("sentence1,sentence2,label\na film,a film,1\na film,the sea,0\n")
    command("evaluate", run_id[:12], "--on", "2024")
    assert [run.kind for run in runs(store, find_experiment(store).id)] == ["finetune", "evaluation"]
    shutil.rmtree("weights")
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "empty"))
    texts = load_task(find_task("mrpc"), open_sources("builtin")).splits["validation"].texts
    found = hashbench.load("out").outputs(list(zip(*texts, strict=True)))
    np.testing.assert_allclose(found, stored.outputs, atol=1e-4)
    assert not Path("empty").exists()
