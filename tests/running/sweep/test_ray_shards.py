"""Corpora tokenized on a Ray cluster of two nodes: the bytes of this machine alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

# One cluster at a time on a machine.
pytestmark = [pytest.mark.services, pytest.mark.xdist_group("ray")]

CODE = """
import json, sys
from pathlib import Path
from hashbench.data.corpora import preparing, tokenizing
from hashbench.data.sources import documents as shards
from hashbench.data.sources.sources import open_sources
from hashbench.common.errors import InputError
from hashbench.running.sweep.executors import find_executor
from hashbench.models.text.base import make_tokenizer
shards.SHARD_BYTES = 1
lines = []
if len(sys.argv) > 5:  # each shard takes a while, and its node says that it is at work
    from hashbench.running.sweep import on_ray as ray_shards
    def slowly(job, files_of_shard=ray_shards.files_of_shard, said=Path(sys.argv[5])):
        import ray, time
        (said / ray.get_runtime_context().get_node_id()).touch()
        time.sleep(1.0)
        return files_of_shard(job)
    ray_shards.files_of_shard = slowly
if sys.argv[1] == "ray":  # nothing is tokenized here
    tokenizing.ShardJob.carry_out = None
try:
    made = preparing.prepare(
        ["mine"], open_sources(sys.argv[2]), make_tokenizer(sys.argv[3]), Path(sys.argv[4]), vocabulary_size=300,
        workers=find_executor(sys.argv[1]).shard_workers(), progress=lines.append,
    )
    print(json.dumps([made.manifest, made.types.fingerprint, made.documents.tolist(), lines]))
except InputError as error:
    print(json.dumps(str(error)))
"""


def begin(cluster, executor: str, data: Path, tokenizer: str, folder: Path, *more: Path) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", CODE, executor, str(data), tokenizer, str(folder), *map(str, more)]
    environment = os.environ | {"RAY_ADDRESS": cluster.address, "HASHBENCH_CACHE": str(folder / "cache")}
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def outcome(process: subprocess.Popen[str]):
    out, err = process.communicate(timeout=900)
    assert process.returncode == 0, err
    # Ray may speak of a dead node behind it
    return json.loads(next(line for line in out.splitlines() if line.startswith(('["', "[{", '"'))))


def prepare(*arguments):
    return outcome(begin(*arguments))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "corpora" / "mine"
    folder.mkdir(parents=True)
    for i in range(6):
        texts = [f"document {i} of words and word{i * j} lower lowest" for j in range(5)]
        pq.write_table(pa.table({"text": texts}), folder / f"{i}.parquet")
    return tmp_path / "data"


@pytest.mark.parametrize("tokenizer", ["words", "bpe"])
def test_nodes_make_what_this_machine_makes(cluster, tmp_path: Path, data: Path, tokenizer: str) -> None:
    here = prepare(cluster, "local", data, tokenizer, tmp_path / "here")
    there = prepare(cluster, "ray", data, tokenizer, tmp_path / "there")
    assert here[:3] == there[:3]
    assert any("30 documents" in line for line in there[3])


def test_what_a_node_cannot_read_is_one_line(cluster, tmp_path: Path, data: Path) -> None:
    pq.write_table(pa.table({"text": [7]}), data / "corpora" / "mine" / "3.parquet")
    assert prepare(cluster, "ray", data, "words", tmp_path / "there") == (
        "folder data/corpora/mine: 3.parquet row 1: int in column 'text', not text"
    )


def test_a_node_that_dies_takes_no_shard_along(cluster, tmp_path: Path, data: Path) -> None:
    here = prepare(cluster, "local", data, "words", tmp_path / "here")
    (tmp_path / "said").mkdir()
    doomed = cluster.add_node(num_cpus=2, object_store_memory=80 * 2**20)
    there = begin(cluster, "ray", data, "words", tmp_path / "there", tmp_path / "said")
    until = time.monotonic() + 600
    while not (tmp_path / "said" / doomed.node_id).exists() and there.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    cluster.remove_node(doomed, allow_graceful=False)
    assert there.poll() is None, "it had ended before the node died"
    assert outcome(there)[:3] == here[:3]
    assert {path.name for path in (tmp_path / "said").iterdir()} > {doomed.node_id}
