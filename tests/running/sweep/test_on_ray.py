"""Sweeps on a Ray cluster of two nodes: results as on this machine, and a node that dies."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hashbench.running.sweep import on_ray
from hashbench.running.sweep.housekeeping import STUCK
from hashbench.store.engine import Store, open_store
from tests.running.sweep.hanging import attempts_of, ended_and_tried_again, sweep
from tests.running.sweep.test_runner import scores

# One cluster at a time on a machine.
pytestmark = [pytest.mark.services, pytest.mark.xdist_group("ray")]

EXPERIMENT = """\
name: small
data: builtin
encoder: tiny
models: [hashformer-md-proj, hashformer-md-add]
baseline: hashformer-md-add
tasks: [mrpc]
seeds: [0]
pretrain: {corpora: [builtin], steps: 400, batch_size: 8, sequence_length: 16, max_documents: 60}
finetune: {epochs: 1, batch_size: 32, max_length: 32, evaluations_per_epoch: 2}
threads: 1
checkpoint_minutes: 0.05
"""
N_RUNS = 2 + 5 + 2  # pre-trainings, floors, fine-tunings
RUNNING = "SELECT COUNT(*) AS n FROM attempt WHERE state = 'running'"
TWICE = "SELECT COUNT(*) AS n FROM attempt WHERE state = 'done' GROUP BY run_id HAVING COUNT(*) > 1"


def start(folder: Path, cache: Path, *options: str, cluster: str = "") -> subprocess.Popen:
    """A sweep of the experiment, with a cache of its own."""
    (folder / "small.yaml").write_text(EXPERIMENT)
    return subprocess.Popen(
        [sys.executable, "-m", "hashbench", "sweep", "small.yaml", "--db", "r.db", *options],
        cwd=folder,
        env=os.environ | {"HASHBENCH_CACHE": str(cache), "OMP_NUM_THREADS": "1", "RAY_ADDRESS": cluster},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(path: Path, n: int) -> Store:
    """The store of a sweep, as soon as so many runs are carried out at the same time."""
    deadline = time.monotonic() + 400
    while time.monotonic() < deadline:
        if path.exists() and path.stat().st_size > 0:
            store = open_store(path)
            if store.query(RUNNING)[0]["n"] >= n:
                return store
        time.sleep(0.5)
    raise AssertionError(f"not {n} runs at the same time")


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """The scores of a sweep on this machine."""
    folder = tmp_path_factory.mktemp("local")
    process = start(folder, folder / "c")
    _, err = process.communicate(timeout=500)
    assert process.returncode == 0, err
    return scores(folder / "r.db")


def test_a_node_that_dies_costs_no_result_and_no_try(cluster, local, tmp_path):
    """Both slots work when a node is killed. Its run is done by the other node, and all scores are those of a sweep on
    one machine."""
    process = start(tmp_path, tmp_path / "c", "executor=ray", "--workers", "2", cluster=cluster.address)
    store = wait_for(tmp_path / "r.db", 2)
    node = next(iter(cluster.worker_nodes))
    cluster.remove_node(node, allow_graceful=False)
    _, err = process.communicate(timeout=500)
    cluster.add_node(num_cpus=1, object_store_memory=80 * 2**20)
    assert process.returncode == 0, err
    assert "on Ray ended" in err and "its run is given to another" in err
    assert scores(tmp_path / "r.db") == local
    states = {row["state"]: row["n"] for row in store.query("SELECT state, COUNT(*) AS n FROM attempt GROUP BY state")}
    assert states == {"done": N_RUNS, "lost": 1}
    assert not store.query(TWICE)
    assert store.query("SELECT MAX(tries) AS n FROM run")[0]["n"] == 0


def test_an_interrupted_sweep_gives_its_runs_back(cluster, tmp_path):
    process = start(tmp_path, tmp_path / "c", "pretrain.steps=100000", "executor=ray", cluster=cluster.address)
    store = wait_for(tmp_path / "r.db", 1)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=200)
    assert process.returncode == 143, err
    (attempt,) = store.query("SELECT state, reason FROM attempt")
    assert dict(attempt) == {"state": "interrupted", "reason": "interrupted"}


def test_a_run_on_two_nodes_is_one_run(cluster, tmp_path):
    """Ray Train starts a process on each node; the slot that waits for them takes no CPU."""
    keys = ["nodes=2", "device=cpu", "floors=[]", "models=[hashformer-md-proj]", "baseline=hashformer-md-proj"]
    short = ["pretrain.steps=12", "finetune.evaluations_per_epoch=1"]
    process = start(tmp_path, tmp_path / "c", *keys, *short, "executor=ray", cluster=cluster.address)
    _, err = process.communicate(timeout=900)
    assert process.returncode == 0, err
    notes = open_store(tmp_path / "r.db").query("SELECT notes FROM attempt WHERE state = 'done'")
    assert [json.loads(row["notes"])["devices"] for row in notes] == ["2 on 2 nodes"] * 2


def test_no_cluster_at_the_address_is_one_line(tmp_path):
    process = start(tmp_path, tmp_path / "c", "executor=ray", cluster="127.0.0.1:9")
    _, err = process.communicate(timeout=300)
    assert process.returncode == 2
    assert err.splitlines()[-1] == (
        "hashbench: RAY_ADDRESS 127.0.0.1:9: no Ray cluster there; start one with: ray start --head"
    )


def test_workers_that_do_not_start_are_named_once(monkeypatch, capsys):
    """Whoever holds the CPUs, a sweep that waits for them says so."""
    monkeypatch.setattr(on_ray.ray, "available_resources", lambda: {})
    monkeypatch.setattr(on_ray.ray, "cluster_resources", lambda: {"CPU": 2.0})
    executor = on_ray.RayExecutor.__new__(on_ray.RayExecutor)
    executor.n_workers, executor._late_at = 2, 0.0
    executor._started = {0}
    executor._say_if_late()
    executor._say_if_late()
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert said[0].startswith("1 of 2 workers have not started on Ray after 60 s; 0 of its 2 CPUs are free")


def test_a_run_that_is_blocked_in_c_is_ended_on_its_node_and_done_by_another(cluster, tmp_path):
    ended_and_tried_again(tmp_path, "locked", str(tmp_path / "r.db"), executor="ray", ray_address=cluster.address)


def test_a_sweep_on_ray_whose_time_is_up_leaves_no_blocked_attempt_behind(cluster, tmp_path):
    where = {"executor": "ray", "ray_address": cluster.address}
    ended = sweep(tmp_path, "always-silent-numba", str(tmp_path / "r.db"), max_hours=1, **where)
    assert ended.returncode == 1 and "--max-hours: the time is up" in ended.stderr
    ((state, reason, *_),) = attempts_of(open_store(tmp_path / "r.db"))
    assert (state, reason) == ("lost", STUCK)
