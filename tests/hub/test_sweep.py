"""A sweep on data of the hub: what its report says of them, and what a user without a network gets."""

from __future__ import annotations

import pytest

from tests.hub.client import StandIn
from tests.hub.layouts import MAIN, repositories

pytestmark = pytest.mark.services

EXPERIMENT = """
name: small
data: hub
encoder: tiny
models: [hashformer-md-proj]
tasks: [atis]
seeds: [0]
pretrain: {corpora: [bookcorpus, wikipedia], steps: 2, batch_size: 2, sequence_length: 16}
finetune: {steps: 2, batch_size: 4, max_length: 16}
"""


def newest(repository: str) -> str:
    return repositories()[repository].branches[MAIN][:12]


def test_the_report_names_the_copies(hub: StandIn) -> None:
    """Repository and commit of task and corpora stand below the tables, also of those that are not pinned."""
    (hub.folder / "small.yaml").write_text(EXPERIMENT)
    done = hub.hashbench("sweep", "small.yaml")
    assert done.returncode == 0, done.stderr
    report = hub.hashbench("report", "small", "--provenance")
    assert report.returncode == 0, report.stderr
    text = " ".join(report.stdout.split())
    assert f"hub tuetschek/atis@{newest('tuetschek/atis')}" in text
    copies = f"bookcorpus (hub rojagtap/bookcorpus@{newest('rojagtap/bookcorpus')}) and "
    assert f"on {copies}wikipedia (hub wikimedia/wikipedia@{newest('wikimedia/wikipedia')})" in text


def test_a_model_is_trained_from_the_stream(hub: StandIn) -> None:
    """Nothing is prepared; the report names the copies all the same."""
    streamed = EXPERIMENT.replace("steps: 2, batch_size: 2", "streaming: true, steps: 2, batch_size: 2")
    (hub.folder / "small.yaml").write_text(streamed)
    done = hub.hashbench("sweep", "small.yaml")
    assert done.returncode == 0, done.stderr
    assert not (hub.folder / "cache" / "corpora").exists()
    text = " ".join(hub.hashbench("report", "small", "--provenance").stdout.split())
    assert f"bookcorpus (hub rojagtap/bookcorpus@{newest('rojagtap/bookcorpus')}), streamed" in text


def test_without_a_network_a_sweep_ends_with_one_line(hub: StandIn) -> None:
    """It says where the experiment asks for what cannot be had; exit code 2, no traceback."""
    (hub.folder / "small.yaml").write_text(EXPERIMENT)
    done = hub.hashbench("sweep", "small.yaml", HF_ENDPOINT="http://127.0.0.1:9")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(
        "hashbench: small.yaml:6: hub tuetschek/atis: the hub at http://127.0.0.1:9 cannot be reached"
    )
