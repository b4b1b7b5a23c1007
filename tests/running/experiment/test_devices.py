"""running/experiment/devices.py: devices that are not there, and batches too small for those that are."""

from __future__ import annotations

import pytest
import torch

from hashbench.common.errors import InputError
from hashbench.running.experiment.devices import check_devices
from hashbench.running.experiment.models import resolve_models


def machine(monkeypatch: pytest.MonkeyPatch, *, gpus: int = 0, mps: bool = False) -> None:
    """torch as it is on a machine with these devices."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)


DEVICES = {
    "no CUDA": ({}, "device: cuda", r"^a\.yaml:9: device: this machine has no cuda device"),
    "no MPS": ({"gpus": 1}, "device: mps", r"^a\.yaml:9: device: this machine has no mps device"),
    "few GPUs": ({"gpus": 2}, "device: cuda\ndevices: 3", r"^a\.yaml:10: devices: 3 GPUs a run, .* has 2; take"),
    "few GPUs found": ({"gpus": 1}, "devices: 2", r"^a\.yaml:9: devices: 2 GPUs a run, .* has 1; take at most 1"),
    "one MPS": ({"mps": True}, "devices: 2", r"^a\.yaml:9: devices: 2 GPUs a run, .* has 1; take at most 1"),
    "small pre-training batch": (
        {}, "device: cpu\ndevices: 5", r"^a\.yaml:7: pretrain\.batch_size: 4 rows of 'bert-mlm' over 5 devices; take at"
    ),
    "nodes without Ray": ({}, "nodes: 2", r"^a\.yaml:9: nodes: more than one needs executor: ray; write it"),
    "compiled parts of layers": (
        {}, "device: cpu\nstrategy: fsdp\nfinetune:\n  compile: true", r"^a\.yaml:12: finetune\.compile: not with str"
    ),
    "small batch on nodes": (
        {}, "executor: ray\nnodes: 3\ndevices: 2", r"^a\.yaml:7: pretrain\.batch_size: 4 rows of 'bert-mlm' over 6 dev"
    ),
    "small fine-tuning batch": (
        {}, "devices: 2\nfinetune:\n  batch_size: 1", r"^a\.yaml:11: finetune\.batch_size: 1 rows of 'bert-mlm' over 2"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("has", "lines", "message"), DEVICES.values(), ids=DEVICES)
def test_devices_that_are_not_there(experiment, monkeypatch, has: dict, lines: str, message: str) -> None:
    machine(monkeypatch, **has)
    loaded = experiment(f"models: [bert-mlm]\n{lines}")
    with pytest.raises(InputError, match=message) as error:
        check_devices(loaded, resolve_models(loaded).values())
    assert "\n" not in str(error.value)


FITTING = {
    "processes on the CPU": ({"gpus": 1}, "device: cpu\ndevices: 2"),
    "processes where there is no GPU": ({}, "devices: 2"),
    "GPUs of other machines": ({"gpus": 1}, "executor: ray\ndevice: cuda\ndevices: 4"),
    "all GPUs": ({"gpus": 4}, "device: cuda\ndevices: 4"),
    "as many GPUs as were found": ({"gpus": 4}, "devices: 4"),
    "MPS": ({"mps": True}, "device: mps"),
}


@pytest.mark.parametrize(("has", "lines"), FITTING.values(), ids=FITTING)
def test_devices_that_are(experiment, monkeypatch, has: dict, lines: str) -> None:
    machine(monkeypatch, **has)
    loaded = experiment(f"models: [bert-mlm]\n{lines}")
    check_devices(loaded, resolve_models(loaded).values())


def test_a_batch_of_a_models_own_entry(experiment, monkeypatch) -> None:
    """What is never pre-trained has no pre-training batch; a fine-tuning batch is always there."""
    machine(monkeypatch)
    raw = "models:\n  - {name: raw, like: hashformer-md-proj, objective: none}\n"
    loaded = experiment(f"{raw}devices: 5\n")
    check_devices(loaded, resolve_models(loaded).values())
    loaded = experiment(raw.replace("none}", "none, finetune: {batch_size: 3}}") + "devices: 5\n")
    with pytest.raises(InputError, match=r"^a\.yaml:9: finetune\.batch_size: 3 rows of 'raw' over 5 devices"):
        check_devices(loaded, resolve_models(loaded).values())
