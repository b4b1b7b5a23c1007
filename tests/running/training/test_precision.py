"""running/training/recipe.py, encoders/base.py: precisions on request, and layers that are computed again."""

import pytest
import torch

from hashbench.running.experiment.recipes import FinetuneRecipe, PretrainRecipe
from hashbench.running.training.devices import precision_found
from hashbench.running.training.finetuning import Job, finetune, outputs_on
from hashbench.running.training.machine import Machine
from hashbench.running.training.model import build_model, make_head
from hashbench.running.training.pretraining import pretrain


def trained(prepared, folder, precision, **changes):
    made = prepared("hashformer-md-proj")
    recipe = PretrainRecipe(steps=2, learning_rate=1e-3, warmup_steps=0, precision=precision, **changes)
    model = build_model(made.spec, "tiny", seed=0)
    head = make_head(model, "shuffle_random")
    return pretrain(model, head, made.pretraining(), recipe, total_steps=2, machine=Machine(folder, device="cpu"))


@pytest.fixture
def bf16(monkeypatch):
    """A processor that computes in bf16, or one that is told that it does: torch then emulates it."""
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True})


@pytest.mark.usefixtures("bf16")
def test_bf16_trains_with_weights_in_full_precision(prepared, tmp_path):
    half, full = trained(prepared, tmp_path / "a", "bf16"), trained(prepared, tmp_path / "b", "32")
    assert half.steps == full.steps == 2
    for name, weights in half.model.state_dict().items():
        assert weights.dtype == torch.float32, name
    assert half.points[0].value != full.points[0].value, "nothing was computed in another precision"
    assert abs(half.points[0].value - full.points[0].value) < 0.05


@pytest.mark.usefixtures("bf16")
def test_bf16_fine_tunes(prepared, tmp_path):
    made = prepared("hashformer-md-proj")
    recipe = FinetuneRecipe(epochs=1, batch_size=8, learning_rate=1e-3, precision="bf16")
    data = made.finetuning("cola", rows=24)
    model = build_model(made.spec, "tiny", seed=0)
    done = finetune(model, data, Job(made.spec, recipe, 0), machine=Machine(tmp_path, device="cpu"))
    assert done.steps == 3 and done.last.outputs["validation"].dtype.name == "float32"


@pytest.mark.usefixtures("bf16")
@pytest.mark.parametrize("change", [{}, {"micro_batch_size": "auto"}], ids=str)
def test_states_between_layers_train_in_bf16_on_request(prepared, tmp_path, change):
    """Close to bf16 but not equal to it; weights stay in float32. A plain bf16 training that follows is as before."""
    before = trained(prepared, tmp_path / "a", "bf16")
    low = trained(prepared, tmp_path / "b", "bf16-residual", **change)
    after = trained(prepared, tmp_path / "c", "bf16")
    assert all(weights.dtype == torch.float32 for weights in low.model.state_dict().values())
    assert low.points[0].value != before.points[0].value == after.points[0].value
    assert low.points[0].value == pytest.approx(before.points[0].value, abs=0.02)


@pytest.mark.usefixtures("bf16")
def test_a_fine_tuned_model_is_evaluated_in_the_precision_of_its_training(prepared, tmp_path):
    made = prepared("hashformer-md-proj")
    data, machine = made.finetuning("sst2", rows=24), Machine(tmp_path, device="cpu")
    model, found = build_model(made.spec, "tiny", seed=0), {}
    for precision in ("bf16-residual", "bf16"):
        recipe = FinetuneRecipe(epochs=1, batch_size=8, learning_rate=1e-3, precision=precision)
        done = finetune(model, data, Job(made.spec, recipe, 0), machine=Machine(tmp_path / precision, device="cpu"))
        assert done.model.encoder.bf16_residual == (precision == "bf16-residual")
        found[precision] = outputs_on(done.model, done.head, data, machine, recipe)
    assert found["bf16"].keys() == found["bf16-residual"].keys()


def test_a_gpu_without_bf16_trains_in_full_precision(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: False)
    assert precision_found("bf16", "auto") == "32"


@pytest.mark.parametrize(
    ("has", "found"),
    [
        ({"avx2": True}, "32"),
        ({"avx512_f": True, "avx512_bf16": False}, "32"),
        ({"avx512_bf16": True}, "bf16"),
        ({"amx_bf16": True}, "bf16"),
        ({"architecture": "arm64", "neon": True}, "32"),
        ({"architecture": "arm64", "neon": True, "bf16": True}, "bf16"),
    ],
)
def test_a_processor_that_would_emulate_bf16_trains_in_full_precision(monkeypatch, has, found):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: has)
    assert precision_found("bf16", "cpu") == found
    assert precision_found("bf16-residual", "cpu") == ("bf16-residual" if found == "bf16" else "32")
    assert precision_found("32", "cpu") == "32"


@pytest.mark.parametrize("found", [False, True])
def test_an_older_torch_is_asked_in_its_own_way(monkeypatch, found):
    monkeypatch.delattr(torch.cpu, "get_capabilities")
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: found)
    assert precision_found("bf16", "cpu") == ("bf16" if found else "32")
