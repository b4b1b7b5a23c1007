"""Two machines with one host name, as clones have: own caches, one PostgreSQL, one place where they share files."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hashbench.store.engine import Store, open_store
from tests.store.conftest import place as place
from tests.store.conftest import server as server

pytestmark = pytest.mark.services

FILE = """\
name: small
data: builtin
encoder: tiny
models: [hashformer-md-proj, hashformer-md-add]
baseline: hashformer-md-add
tasks: [mrpc, rte]
seeds: [0]
floors: []
keep_weights: pretrained
pretrain: {corpora: [builtin], steps: 200, batch_size: 8, sequence_length: 16, max_documents: 60}
finetune: {epochs: 1, batch_size: 32, max_length: 32, evaluations_per_epoch: 1}
threads: 1
"""
# Imported by every process of a machine as it starts, the workers that a sweep starts included.
MACHINE = """\
import os
import socket
import time
from pathlib import Path

here = Path(os.environ["HASHBENCH_CACHE"])
socket.gethostname = lambda: "vm"

from hashbench.running.sweep import processes, runner, worker

processes.BOOT_ID = str(here / "boot")
runner.LOOK_EVERY_S = 0.2  # so that each sees all that the other one holds
work = worker.Worker._work


def together(self):
    "Begins when the other machine can begin too."
    (here / "ready").touch()
    while len(list(here.parent.glob("*/ready"))) < 2:
        time.sleep(0.1)
    work(self)


worker.Worker._work = together
"""
TWICE = """
SELECT r.kind, r.model, COUNT(*) AS n FROM attempt a JOIN run r ON r.id = a.run_id GROUP BY r.id, r.kind, r.model
"""


def machine(folder: Path, name: str, command: str, db: str) -> subprocess.Popen[str]:
    """A machine at work: a process with a cache and a boot of its own."""
    cache = folder / "machines" / name
    cache.mkdir(parents=True)
    (cache / "boot").write_text(f"boot of {name}\n")
    path = os.pathsep.join(filter(None, [str(folder / "machine"), os.environ.get("PYTHONPATH")]))
    options = ["--db", db, "--artifacts", (folder / "shared").as_uri(), "--workers", "1"]
    return subprocess.Popen(
        [sys.executable, "-m", "hashbench", command, "small.yaml", *options],
        cwd=folder,
        env=os.environ | {"HASHBENCH_CACHE": str(cache), "OMP_NUM_THREADS": "1", "PYTHONPATH": path},
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def store(tmp_path: Path, place: str) -> Iterator[Store]:
    """The database when both machines are done."""
    if "://" not in place:
        pytest.skip("a SQLite file is for one machine")
    (tmp_path / "small.yaml").write_text(FILE)
    (tmp_path / "machine").mkdir()
    (tmp_path / "machine" / "sitecustomize.py").write_text(MACHINE)
    first = machine(tmp_path, "a", "sweep", place)
    until = time.monotonic() + 600
    while not (tmp_path / "machines/a/ready").exists():  # the plan is stored
        assert first.poll() is None and time.monotonic() < until, first.communicate()
        time.sleep(0.2)
    for each in (first, machine(tmp_path, "b", "worker", place)):
        _, err = each.communicate(timeout=1200)
        assert each.returncode == 0, err
    store = open_store(place)
    yield store
    store.close()


def test_no_training_is_made_twice_and_no_run_is_taken_from_a_live_worker(store: Store) -> None:
    assert {(row["kind"], row["model"], row["n"]) for row in store.query(TWICE)} == {
        (kind, model, 1) for kind in ("pretrain", "finetune") for model in ("hashformer-md-proj", "hashformer-md-add")
    }
    attempts = store.query("SELECT a.state, a.worker, r.kind FROM attempt a JOIN run r ON r.id = a.run_id")
    assert len(attempts) == 6 and {row["state"] for row in attempts} == {"done"}
    names = [row["worker"].split(":") for row in attempts if row["kind"] == "pretrain"]
    assert {name[0] for name in names} == {"vm"} and len({name[1] for name in names}) == 2
