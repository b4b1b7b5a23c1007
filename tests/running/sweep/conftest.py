"""A small experiment on built-in data."""

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
