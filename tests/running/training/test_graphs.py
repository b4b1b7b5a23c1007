"""running/training/graphs.py: batches of few shapes lose nothing, and each shape is recorded once.

Recording itself needs a GPU; here a recorder stands for it that computes what it was given.
"""

import numpy as np
import pytest
import torch

from hashbench.models.layers import rounded_up
from hashbench.running.experiment.recipes import FinetuneRecipe
from hashbench.running.training import graphs as graphs_module
from hashbench.running.training.finetuning import FinetuningModule, Job, finetune
from hashbench.running.training.fit import can_replay
from hashbench.running.training.graphs import SEEN_BEFORE, Graphs, few_shapes, tensors_of
from hashbench.running.training.machine import Machine
from hashbench.running.training.model import build_model

torch.set_num_threads(1)
WITHOUT_DROPOUT = {"dropout": 0.0, "attention_dropout": 0.0}


def trained(prepared, folder, task="cola", name="hashformer-md-proj", device="cpu", encoder=WITHOUT_DROPOUT, **changes):
    made = prepared(name)
    spec = made.spec.with_args(encoder=encoder)
    recipe = FinetuneRecipe(epochs=2, batch_size=8, learning_rate=1e-3, **changes)
    model, machine = build_model(spec, "tiny", seed=0, vocabulary_rows=made.rows), Machine(folder, device=device)
    done = finetune(model, made.finetuning(task, rows=60), Job(spec, recipe, 0), machine=machine)
    return done, machine


def losses(done):
    return [point.value for point in done.points if point.name == "loss"]


@pytest.fixture
def on_any_device(monkeypatch):
    """Replays on a CPU by a recorder that notes the shapes."""
    recorded = []

    def record(loss, tensors):
        recorded.append(tuple(tensor.shape for tensor in tensors))
        return loss

    monkeypatch.setattr("hashbench.running.training.fit.can_replay", lambda module, recipe, *_: recipe.graphs)
    monkeypatch.setattr("hashbench.running.training.fit.Graphs", lambda: Graphs(record))
    return recorded


@pytest.mark.parametrize(
    ("name", "task"), [("hashformer-md-proj", "cola"), ("bert-mlm", "stsb"), ("canine-c-scratch", "cola")]
)
def test_recorded_steps_train_what_others_train(prepared, tmp_path, on_any_device, name, task):
    plain, _ = trained(prepared, tmp_path / "plain", task, name)
    done, machine = trained(prepared, tmp_path / "graphs", task, name, graphs=True)
    assert on_any_device and len(set(on_any_device)) == len(on_any_device), "a shape was recorded twice, or none was"
    assert machine.notes == {"graphs": "yes"}
    np.testing.assert_allclose(losses(done), losses(plain), rtol=1e-4)


def test_a_cpu_trains_as_it_did(prepared, tmp_path):
    """Bit for bit, dropout included, with the two keys that concern GPUs alone."""
    plain, _ = trained(prepared, tmp_path / "plain", encoder={})
    done, machine = trained(prepared, tmp_path / "keys", encoder={}, graphs=True, attention="cudnn")
    assert machine.notes == {} and losses(done) == losses(plain)
    for name, weights in plain.model.state_dict().items():
        assert torch.equal(weights, done.model.state_dict()[name]), name


@pytest.mark.parametrize("longest", [None, 20, 500])
def test_rounded_batches_hide_what_they_add(prepared, longest):
    for batch in prepared("hashformer-md-proj").finetuning("mrpc", rows=20).train_dataloader():
        wider = few_shapes(batch, longest)
        length = batch.positions.shape[1]
        assert wider.positions.shape == wider.mask.shape and wider.padded
        assert wider.positions.shape[1] == max(length, min(-(-length // 16) * 16, longest or 10**9))
        assert torch.equal(wider.mask[:, :length], batch.mask) and not wider.mask[:, length:].any()
        assert len(wider.codes) == rounded_up(len(batch.codes)) and torch.equal(
            wider.codes[: len(batch.codes)], batch.codes
        )


def test_a_shape_is_recorded_when_it_has_come_before_and_graphs_are_limited(prepared, monkeypatch):
    made, recorded = prepared("hashformer-md-proj"), []
    data = made.finetuning("cola", rows=24)
    from hashbench.running.training.finetuning import make_head_of

    model = build_model(made.spec, "tiny", seed=0)
    head = make_head_of(model, data.data, made.spec)
    batch = next(iter(data.train_dataloader()))
    monkeypatch.setattr(graphs_module, "MOST_GRAPHS", 1)
    graphs = Graphs(lambda loss, tensors: recorded.append(len(tensors)) or loss)
    for _ in range(SEEN_BEFORE + 3):
        graphs.loss(model, head, batch)
    assert recorded == [len(tensors_of(batch))]
    for _ in range(SEEN_BEFORE + 3):
        graphs.loss(model, head, few_shapes(batch, None))
    assert len(recorded) == len(graphs.by_shape) == 1


@pytest.mark.parametrize(
    ("change", "device", "devices", "replays"),
    [
        ({}, "cuda", 1, True),
        ({}, "cpu", 1, False),
        ({}, "cuda", 2, False),
        ({"graphs": False}, "cuda", 1, False),
        ({"compile": True}, "cuda", 1, False),
        ({"activation_checkpointing": True}, "cuda", 1, False),
    ],
)
def test_only_plain_steps_of_one_gpu_are_recorded(tmp_path, change, device, devices, replays):
    recipe = FinetuneRecipe(**{"learning_rate": 1e-3, "graphs": True} | change)
    module = FinetuningModule.__new__(FinetuningModule)
    torch.nn.Module.__init__(module)
    module.micro_batch_size = None
    assert can_replay(module, recipe, torch.device(device), Machine(tmp_path, devices=devices)) == replays
    module.micro_batch_size = 4
    assert not can_replay(module, recipe, torch.device(device), Machine(tmp_path, devices=devices))


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["32", "bf16"])
def test_a_gpu_replays_what_it_would_compute(prepared, tmp_path, precision):
    if not torch.cuda.is_available():
        pytest.skip("torch finds no cuda device here")
    plain, _ = trained(prepared, tmp_path / "plain", device="cuda", precision=precision)
    done, machine = trained(prepared, tmp_path / "graphs", device="cuda", precision=precision, graphs=True)
    assert machine.notes == {"graphs": "yes"}
    np.testing.assert_allclose(losses(done), losses(plain), rtol=1e-3 if precision == "32" else 2e-2)
