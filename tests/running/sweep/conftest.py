"""A small experiment on built-in data, and one Ray cluster of two nodes for the whole session, all of it here."""

import os
import shutil
import tempfile

import pytest

from tests.running.experiment.conftest import experiment as experiment


@pytest.fixture(scope="session")
def small_experiment() -> str:
    return """\
name: small
data: builtin
encoder: tiny
models: [hashformer-md-proj, hashformer-md-add]
baseline: hashformer-md-add
tasks: [mrpc, cola]
seeds: [0]
pretrain: {corpora: [builtin], steps: 12, batch_size: 8, sequence_length: 16, max_documents: 60}
finetune: {epochs: 1, batch_size: 32, max_length: 32, evaluations_per_epoch: 2}
threads: 1
"""


# Ray asks for nothing, ends no process for its memory, and gives its workers the priority of this one.
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_memory_monitor_refresh_ms": "0", "RAY_worker_niceness": "0"}
SMALL_STORE = 80 * 2**20  # Ray's least is 75 MiB


@pytest.fixture(scope="session")
def cluster():
    utils = pytest.importorskip("ray.cluster_utils", reason="Ray is not installed", exc_type=ImportError)
    folder = tempfile.mkdtemp(prefix="r", dir="/tmp")  # the path of a socket has 107 characters at most
    os.mkdir(f"{folder}/ray")
    os.environ |= {"RAY_TMPDIR": folder, **QUIET}
    head = {"num_cpus": 1, "object_store_memory": SMALL_STORE, "include_dashboard": False}
    cluster = utils.Cluster(initialize_head=True, head_node_args=head)
    cluster.add_node(num_cpus=1, object_store_memory=SMALL_STORE)
    yield cluster
    cluster.shutdown()
    shutil.rmtree(folder, ignore_errors=True)
