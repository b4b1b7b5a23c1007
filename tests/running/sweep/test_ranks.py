"""Runs on several devices: two processes on the CPU that train together."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from hashbench.store.engine import open_store
from hashbench.store.status import predictions, runs

NOTES = "SELECT r.kind, a.notes FROM attempt a JOIN run r ON r.id = a.run_id"


@pytest.mark.slow
def test_two_devices_train_together_and_predict_every_row_once(tmp_path, small_experiment):
    text = small_experiment.replace("models: [hashformer-md-proj, hashformer-md-add]", "models: [hashformer-md-proj]")
    text = text.replace("baseline: hashformer-md-add", "baseline: hashformer-md-proj").replace("[mrpc, cola]", "[mrpc]")
    (tmp_path / "small.yaml").write_text(text + "devices: 2\ndevice: cpu\n")
    parts = "finetune.micro_batch_size=3"  # of the rows of a device
    done = subprocess.run(
        [sys.executable, "-m", "hashbench", "sweep", "small.yaml", parts, "--db", "r.db"],
        cwd=tmp_path,
        env=os.environ | {"HASHBENCH_CACHE": str(tmp_path / "c"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr
    store = open_store(tmp_path / "r.db")
    by_kind = {run.kind: run for run in runs(store, 1)}
    assert set(by_kind) == {"pretrain", "finetune", "floor"}
    assert {run.state for run in by_kind.values()} == {"done"}
    kept = predictions(store, by_kind["finetune"].run_id, "validation", "last")
    floor = predictions(store, by_kind["floor"].run_id, "validation", "last")
    assert kept.outputs.shape == (len(floor.targets), 2) and np.isfinite(kept.outputs).all()
    assert kept.index_fingerprint == floor.index_fingerprint
    losses = store.query("SELECT step, value FROM metric WHERE split = 'train' AND name = 'loss' ORDER BY step")
    assert len(losses) > 12 and all(row["value"] is not None for row in losses)
    notes = {row["kind"]: json.loads(row["notes"]) for row in store.query(NOTES)}
    assert notes["pretrain"]["devices"] == "2" and "micro_batch_size" not in notes["pretrain"]
    assert notes["finetune"]["micro_batch_size"] == "3"
