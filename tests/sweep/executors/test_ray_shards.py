"""Corpora tokenized on a Ray cluster of two nodes: the bytes of this machine alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.services

CODE = """
import json, sys
from pathlib import Path
from hashbench.corpora import preparing, tokenizing
from hashbench.data import shards
from hashbench.data.sources import open_sources
from hashbench.errors import InputError
from hashbench.sweep.executors.registry import find_shard_workers
from hashbench.text.tokenizers import make_tokenizer
shards.SHARD_BYTES = 1
lines = []
if sys.argv[1] == "ray":  # nothing is tokenized here
    tokenizing.ShardJob.carry_out = None
try:
    made = preparing.prepare(
        ["mine"], open_sources(sys.argv[2]), make_tokenizer(sys.argv[3]), Path(sys.argv[4]), vocabulary_size=300,
        workers=find_shard_workers(sys.argv[1]), progress=lines.append,
    )
    print(json.dumps([made.manifest, made.types.fingerprint, made.documents.tolist(), lines]))
except InputError as error:
    print(json.dumps(str(error)))
"""


def prepare(cluster, executor: str, data: Path, tokenizer: str, folder: Path):
    arguments = [sys.executable, "-c", CODE, executor, str(data), tokenizer, str(folder)]
    environment = os.environ | {"RAY_ADDRESS": cluster.address, "HASHBENCH_CACHE": str(folder / "cache")}
    done = subprocess.run(arguments, capture_output=True, text=True, env=environment, timeout=900)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


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
