"""One, two and three processes train the same: each takes its rows of the same batches, weighted by their labels."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.running.training.on_devices import CASES, RESUMED, STEPS

ROOT = Path(__file__).parents[3]
TOLERANCE = {"32": 1e-5, "64": 1e-9}


@pytest.fixture(scope="module")
def losses(tmp_path_factory) -> list[dict[str, list[float]]]:
    """What each of three processes saw."""
    folder = tmp_path_factory.mktemp("devices")
    ports = []
    for _ in range(2):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            ports.append(str(probe.getsockname()[1]))
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.running.training.on_devices", str(folder), str(rank), *ports],
            env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(3)
    ]
    for process in processes:
        _, err = process.communicate(timeout=900)
        assert process.returncode == 0, err
    return [json.loads((folder / f"losses-{rank}.json").read_text()) for rank in range(3)]


@pytest.mark.slow
@pytest.mark.parametrize("devices", [2, 3])
@pytest.mark.parametrize("case", CASES)
def test_several_devices_train_what_one_trains(losses, case, devices):
    """Dropout is off. The loss of a batch is the mean of what the processes have, as is its gradient."""
    alone = losses[0][f"{case} 1"]
    together = np.mean([losses[rank][f"{case} {devices}"] for rank in range(devices)], axis=0)
    assert len(alone) == len(together) == STEPS and len(set(alone)) == STEPS
    np.testing.assert_allclose(together, alone, rtol=TOLERANCE[case.split("-")[-1]])


@pytest.mark.slow
@pytest.mark.parametrize("devices", [2, 3])
def test_a_training_of_several_devices_resumes_exactly(losses, devices):
    assert len(losses) >= devices
    for each in losses[:devices]:
        assert each[f"resumed-{RESUMED} {devices}"] == each[f"{RESUMED} {devices}"]
