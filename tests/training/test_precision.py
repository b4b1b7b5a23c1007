"""bf16 on request."""

import torch

from hashbench.experiment.schema import Finetune, Pretrain
from hashbench.training.finetuning import Job, finetune
from hashbench.training.heads import make_head
from hashbench.training.machine import Machine
from hashbench.training.model import build_model
from hashbench.training.pretraining import pretrain
from hashbench.training.recipe import precision_found


def trained(prepared, folder, precision):
    made = prepared("hashformer-md-proj")
    recipe = Pretrain(steps=2, learning_rate=1e-3, warmup_steps=0, precision=precision)
    model = build_model(made.spec, "tiny", seed=0)
    head = make_head(model, "shuffle_random")
    return pretrain(model, head, made.pretraining(), recipe, total_steps=2, machine=Machine(folder, device="cpu"))


def test_bf16_trains_with_weights_in_full_precision(prepared, tmp_path):
    half, full = trained(prepared, tmp_path / "a", "bf16"), trained(prepared, tmp_path / "b", "32")
    assert half.steps == full.steps == 2
    for name, weights in half.model.state_dict().items():
        assert weights.dtype == torch.float32, name
    assert half.points[0].value != full.points[0].value, "nothing was computed in another precision"
    assert abs(half.points[0].value - full.points[0].value) < 0.05


def test_bf16_fine_tunes(prepared, tmp_path):
    made = prepared("hashformer-md-proj")
    recipe = Finetune(epochs=1, batch_size=8, learning_rate=1e-3, precision="bf16")
    data = made.finetuning("cola", rows=24)
    model = build_model(made.spec, "tiny", seed=0)
    done = finetune(model, data, Job(made.spec, recipe, 0), learning_rate=1e-3, machine=Machine(tmp_path, device="cpu"))
    assert done.steps == 3 and done.last.outputs["validation"].dtype.name == "float32"


def test_a_gpu_without_bf16_trains_in_full_precision(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: False)
    assert precision_found("bf16", "auto") == "32"
    assert precision_found("bf16", "cpu") == "bf16"
