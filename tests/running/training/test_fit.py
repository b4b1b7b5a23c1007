"""running/training/fit.py: what is compiled trains the same, and its weights keep their names."""

import numpy as np
import pytest
import torch
from torch import nn

from hashbench.common.errors import InputError
from hashbench.common.progress import Sign, give_signs_to
from hashbench.running.experiment.recipes import FinetuneRecipe, PretrainRecipe
from hashbench.running.training.finetuning import Job, finetune
from hashbench.running.training.fit import check_compiler
from hashbench.running.training.machine import Machine
from hashbench.running.training.model import build_model, make_head
from hashbench.running.training.pretraining import pretrain

torch.set_num_threads(1)
WITHOUT_DROPOUT = {"layers": 2, "dropout": 0.0, "attention_dropout": 0.0}
STEPS = 6


@pytest.fixture
def traced(monkeypatch):
    """Compiles to graphs, without machine code, which would take minutes; yields the classes that were compiled."""
    asked = []
    made = nn.Module.compile

    def compile_(self, **options):
        asked.append(type(self).__name__)
        made(self, backend="aot_eager", **options)

    torch._dynamo.reset()
    monkeypatch.setattr(nn.Module, "compile", compile_)
    monkeypatch.setattr("hashbench.running.training.fit.check_compiler", lambda device: None)
    yield asked
    torch._dynamo.reset()


def pretrained(prepared, name, folder, **changes):
    made = prepared(name)
    spec = made.spec.with_args(encoder=WITHOUT_DROPOUT)
    model = build_model(spec, "tiny", seed=0, vocabulary_rows=made.rows)
    recipe = PretrainRecipe(steps=STEPS, learning_rate=1e-3, warmup_steps=0, **changes)
    head, machine = make_head(model, spec.training.objective), Machine(folder, device="cpu")
    return pretrain(model, head, made.pretraining(batch_size=40), recipe, total_steps=STEPS, machine=machine), machine


@pytest.mark.parametrize("name", ["bert-mlm", "hashformer-lsh-proj"])
def test_a_compiled_model_pretrains_the_same(prepared, tmp_path, traced, name):
    plain, _ = pretrained(prepared, name, tmp_path / "plain")
    done, machine = pretrained(prepared, name, tmp_path / "compiled", compile=True)
    assert machine.notes == {"compile": "yes"}
    assert traced[1:3] == ["TransformerLayer"] * 2 and len(traced) == 4
    np.testing.assert_allclose([p.value for p in done.points], [p.value for p in plain.points], rtol=1e-5)
    assert list(done.model.state_dict()) == list(plain.model.state_dict())


def test_a_training_gives_signs_of_progress(prepared, tmp_path):
    give_signs_to(tmp_path / "signs")
    try:
        pretrained(prepared, "bert-mlm", tmp_path / "run")
    finally:
        give_signs_to(None)
    assert Sign.read(tmp_path / "signs").is_step


@pytest.mark.slow
def test_batches_of_many_shapes_make_few_versions(prepared, tmp_path, traced):
    """Types, rows and tokens are others in each batch: a version of the layers for each would reach torch's limit."""
    made = prepared("hashformer-md-pool")
    spec = made.spec.with_args(encoder=WITHOUT_DROPOUT)
    data = made.finetuning("cola", rows=90)
    assert len({data.training_maker()(rows, 0).positions.shape for rows in data._plan(0)}) >= 4
    torch._dynamo.utils.counters.clear()
    recipe = FinetuneRecipe(epochs=2, batch_size=8, learning_rate=1e-3, compile=True)
    machine = Machine(tmp_path, device="cpu")
    done = finetune(build_model(spec, "tiny", seed=0), data, Job(spec, recipe, 0), machine=machine)
    assert done.steps == 24 and torch._dynamo.utils.counters["stats"]["unique_graphs"] <= 16


def test_dropout_of_compiled_code_drops_its_share(traced):
    from hashbench.models.layers import Dropout

    torch.manual_seed(0)
    part = Dropout(0.25)
    part.compile()
    values = part(torch.ones(200_000))
    assert abs(float((values == 0).float().mean()) - 0.25) < 0.01 and abs(float(values.mean()) - 1) < 0.02


def test_a_machine_that_compiles_nothing_is_told(monkeypatch):
    def broken(function):
        def call(*_):
            raise RuntimeError("no C++ compiler found\nlong explanation")

        return call

    monkeypatch.setattr(torch, "compile", broken)
    with pytest.raises(InputError, match=r"^compile: torch\.compile does not work on cpu here: no C\+\+ comp"):
        check_compiler(torch.device("cpu"))


@pytest.mark.slow
def test_machine_code_trains_the_same(prepared, tmp_path):
    """Minutes of compiling; needs a C++ compiler."""
    try:
        check_compiler(torch.device("cpu"))
    except InputError as error:
        pytest.skip(str(error))
    plain, _ = pretrained(prepared, "hashformer-lsh-proj", tmp_path / "plain")
    done, _ = pretrained(prepared, "hashformer-lsh-proj", tmp_path / "compiled", compile=True)
    np.testing.assert_allclose([p.value for p in done.points], [p.value for p in plain.points], rtol=1e-5)
