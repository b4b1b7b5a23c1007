"""What training does on a device: the same code on the CPU, and on a GPU by `make test-gpu`."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch

from hashbench.models.encoders.base import make_encoder
from hashbench.models.objectives.entities import draw_log_uniform
from hashbench.models.objectives.linear_loss import linear_cross_entropy
from hashbench.running.efficiency.memory import peak_bytes
from hashbench.running.efficiency.timing import timed_ms
from hashbench.running.experiment.identity import device_block
from hashbench.running.experiment.recipes import FinetuneRecipe, PretrainRecipe
from hashbench.running.runs.provenance import environment
from hashbench.running.sweep.runner import gpu_groups
from hashbench.running.training import devices as memory
from hashbench.running.training.devices import autocast, precision_found
from hashbench.running.training.finetuning import Job, finetune, outputs_on
from hashbench.running.training.machine import Interrupted, Machine
from hashbench.running.training.model import build_model, make_head
from hashbench.running.training.pretraining import PretrainingModule, pretrain

torch.set_num_threads(1)
WITHOUT_DROPOUT = {"layers": 2, "dropout": 0.0, "attention_dropout": 0.0}
STEPS = 8
EVERYWHERE = [
    "cpu",
    pytest.param("cuda", marks=pytest.mark.gpu),
    pytest.param("mps", marks=pytest.mark.gpu),
]


def available(name):
    return {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}[name]


@pytest.fixture(params=EVERYWHERE)
def device(request):
    if not available(request.param):
        pytest.skip(f"torch finds no {request.param} device here")
    return torch.device(request.param)


@pytest.fixture
def cuda():
    if not torch.cuda.is_available():
        pytest.skip("torch finds no cuda device here")
    return torch.device("cuda")


def pretrained(prepared, folder, device, name="bert-mlm", encoder=WITHOUT_DROPOUT, should_stop=None, **changes):
    made = prepared(name)
    spec = made.spec.with_args(encoder=encoder)
    model = build_model(spec, "tiny", seed=0, vocabulary_rows=made.rows)
    recipe = PretrainRecipe(steps=STEPS, learning_rate=1e-3, warmup_steps=0, **changes)
    head = make_head(model, spec.training.objective)
    machine = Machine(folder, device=device.type, should_stop=should_stop)
    return pretrain(model, head, made.pretraining(batch_size=32), recipe, total_steps=STEPS, machine=machine), machine


def losses(done):
    return [point.value for point in done.points if point.name == "loss"]


@pytest.mark.parametrize(
    ("precision", "computed"), [("32", torch.float32), ("bf16", torch.bfloat16), ("bf16-residual", torch.bfloat16)]
)
def test_layers_compute_in_the_precision_of_the_recipe(precision, computed):
    encoder, layer = make_encoder("bert", "tiny"), torch.nn.Linear(2, 2)
    with autocast(encoder, precision, torch.device("cpu")):
        assert layer(torch.ones(1, 2)).dtype == computed
    assert encoder.bf16_residual is (precision == "bf16-residual")


@pytest.mark.parametrize("name", ["bert-mlm", "hashformer-lsh-proj", "hashformer-md-pool", "eelbert-tiny"])
def test_a_device_pretrains_as_the_cpu_does(prepared, tmp_path, device, name):
    """Page-locked batches that nobody waits for, the fused optimizer, clipping, and attention without a mask."""
    there, _ = pretrained(prepared, tmp_path / "there", device, name)
    here, _ = pretrained(prepared, tmp_path / "here", torch.device("cpu"), name)
    np.testing.assert_allclose(losses(there), losses(here), rtol=2e-3)


@pytest.mark.parametrize("change", [{"micro_batch_size": 5}, {"logits": "all"}], ids=str)
def test_parts_of_a_batch_train_the_same_on_a_device(prepared, tmp_path, device, change):
    whole, _ = pretrained(prepared, tmp_path / "whole", device)
    other, _ = pretrained(prepared, tmp_path / "other", device, **change)
    np.testing.assert_allclose(losses(other), losses(whole), rtol=1e-4)


def test_bf16_trains_where_the_device_has_it(prepared, tmp_path, device):
    done, _ = pretrained(prepared, tmp_path / "half", device, precision="bf16", encoder={}, micro_batch_size=16)
    full, _ = pretrained(prepared, tmp_path / "full", device, encoder={})
    np.testing.assert_allclose(losses(done), losses(full), rtol=0.05)
    if precision_found("bf16", device.type) == "bf16":
        assert losses(done) != losses(full)


def test_a_device_fine_tunes_and_predicts(prepared, tmp_path, device):
    made = prepared("hashformer-md-proj")
    recipe = FinetuneRecipe(epochs=1, batch_size=8, learning_rate=1e-3, precision="bf16")
    data, machine = made.finetuning("cola", rows=24), Machine(tmp_path, device=device.type)
    model = build_model(made.spec, "tiny", seed=0)
    done = finetune(model, data, Job(made.spec, recipe, 0), machine=machine)
    assert done.steps == 3 and np.isfinite(done.last.outputs["validation"]).all()
    assert outputs_on(done.model, done.head, data, machine, recipe) == {}  # CoLA reports what it selects on


def test_a_stopped_run_goes_on_on_a_device(prepared, tmp_path, device):
    """The weights of the checkpoint, its optimizer and its place in the data; on a GPU sums vary in their last bits."""

    class After:
        left = 3

        def is_set(self):
            self.left -= 1
            return self.left < 0

    whole, _ = pretrained(prepared, tmp_path / "whole", device, encoder={})
    with pytest.raises(Interrupted):
        pretrained(prepared, tmp_path / "stopped", device, encoder={}, should_stop=After())
    resumed, _ = pretrained(prepared, tmp_path / "stopped", device, encoder={})
    np.testing.assert_allclose(losses(resumed), losses(whole), rtol=1e-4)


def test_auto_finds_the_rows_that_a_device_holds(prepared, tmp_path, device, monkeypatch):
    _, machine = pretrained(prepared, tmp_path / "free", device, micro_batch_size="auto")
    assert machine.notes == {}, "rows of 16 tokens fit anywhere"
    terms, most = PretrainingModule.loss_terms, 8

    def full_beyond(self, batch):
        if len(batch) > most:
            raise torch.OutOfMemoryError("out of memory")
        return terms(self, batch)

    monkeypatch.setattr(PretrainingModule, "loss_terms", full_beyond)
    done, machine = pretrained(prepared, tmp_path / "full", device, micro_batch_size="auto")
    assert machine.notes == {"micro_batch_size": "8"} and done.steps == STEPS
    monkeypatch.setattr(memory, "free_bytes", lambda device: 1)
    with pytest.raises(Exception, match="^micro_batch_size: auto: one row of 16 tokens needs "):
        pretrained(prepared, tmp_path / "none", device, micro_batch_size="auto")


# That of a CPU is the whole process's, and other tests leave freed memory in it: test_trial.py starts a process.
@pytest.mark.parametrize("device", EVERYWHERE[1:], indirect=True)
def test_the_peak_of_a_device_is_what_work_took(device):
    peaks = [memory.peak_bytes_of(lambda n=n: torch.ones(n, device=device).sum().item(), device) for n in (1, 10**8)]
    assert 3e8 < peaks[1] - peaks[0] < 1.5e9 and peaks[1] < memory.free_bytes(device)


def test_the_memory_of_a_step_is_measured_in_a_process_of_its_own(prepared, device):
    made = prepared("hashformer-md-proj")
    batch = made.pretraining().longest_batch()
    assert peak_bytes(made.spec, "tiny", None, batch, device=device.type, threads=1) > 0


@pytest.mark.parametrize("device", EVERYWHERE[1:], indirect=True)
def test_a_time_waits_for_the_device(device):
    left = torch.randn(1024, 1024, device=device)

    def work(products):
        for _ in range(products):
            left @ left

    timed_ms(lambda: work(1), device)
    assert timed_ms(lambda: work(40), device) > timed_ms(lambda: work(1), device)


@pytest.mark.parametrize("half", [False, True])
def test_the_large_loss_is_that_of_plain_logits(device, half):
    torch.manual_seed(0)
    states = torch.randn(5_000, 32, device=device, requires_grad=True)
    matrix = torch.randn(700, 32, device=device, requires_grad=True)
    bias, labels = torch.randn(700, device=device), torch.randint(700, (5_000,), device=device)
    half = half and precision_found("bf16", device.type) == "bf16"
    with torch.autocast(device.type, torch.bfloat16, enabled=half):
        ours = linear_cross_entropy(states, matrix, bias, labels)
        plain = torch.nn.functional.cross_entropy((states @ matrix.T).float() + bias, labels)
    torch.testing.assert_close(ours, plain, rtol=2e-2 if half else 1e-4, atol=0)
    for part in (states, matrix):
        gradients = [torch.autograd.grad(loss, part, retain_graph=True)[0] for loss in (ours, plain)]
        torch.testing.assert_close(*gradients, rtol=0.1 if half else 1e-3, atol=1e-4 if half else 1e-6)


def test_sampled_rows_are_drawn_on_the_device(device):
    if device.type == "mps":
        pytest.skip("MPS has no float64")
    ranks, tries = draw_log_uniform(1_000, 50, device=device)
    assert ranks.device.type == device.type and len(ranks.unique()) == 50 and tries >= 50


SMALL = """\
name: small
data: builtin
encoder: tiny
models: [hashformer-md-proj]
baseline: hashformer-md-proj
tasks: [mrpc]
seeds: [0]
pretrain: {corpora: [builtin], steps: 6, batch_size: 8, sequence_length: 16, max_documents: 60}
finetune: {epochs: 1, batch_size: 32, max_length: 32, evaluations_per_epoch: 1}
efficiency: {pretrain_length: 32}
threads: 1
"""


@pytest.mark.slow
def test_a_sweep_runs_on_the_cpu(tmp_path):
    sweep_on("cpu", tmp_path)


@pytest.mark.gpu
def test_a_sweep_runs_on_a_gpu(tmp_path, cuda):
    sweep_on("cuda", tmp_path)


def sweep_on(device, tmp_path):
    """Pre-training, fine-tuning and a measurement, from the command line."""
    (tmp_path / "small.yaml").write_text(f"{SMALL}device: {device}\n")
    keys = ["pretrain.precision=bf16", "pretrain.micro_batch_size=3"]
    done = subprocess.run(
        [sys.executable, "-m", "hashbench", "sweep", "small.yaml", *keys, "--db", "r.db"],
        cwd=tmp_path,
        env=os.environ | {"HASHBENCH_CACHE": str(tmp_path / "c"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.gpu
def test_compiled_code_trains_the_same_on_a_gpu(prepared, tmp_path, cuda):
    plain, _ = pretrained(prepared, tmp_path / "plain", cuda)
    done, machine = pretrained(prepared, tmp_path / "compiled", cuda, compile=True)
    assert machine.notes == {"compile": "yes"}
    np.testing.assert_allclose(losses(done), losses(plain), rtol=1e-3)


@pytest.mark.gpu
@pytest.mark.parametrize("half", [False, True])
def test_a_step_waits_for_no_answer_of_a_gpu(prepared, cuda, half):
    made = prepared("bert-mlm")
    model = build_model(made.spec, "tiny", seed=0, vocabulary_rows=made.rows).to(cuda).train()
    head = make_head(model, "mlm").to(cuda).train()
    batch = head.prepared(made.pretraining(batch_size=32).longest_batch(), fixed_shapes=True)
    there = batch.pin_memory().to(cuda, non_blocking=True)
    try:
        for mode in ("default", "error"):  # the first step sets libraries up
            torch.cuda.set_sync_debug_mode(mode)
            with torch.autocast("cuda", torch.bfloat16, enabled=half):
                loss = head.batch_loss(model, there, "labels")
            loss.backward()
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.gpu
def test_a_full_gpu_is_no_error_of_a_trial(cuda):
    free, _ = torch.cuda.mem_get_info(cuda)
    assert memory.peak_bytes_of(lambda: torch.empty(2 * free, dtype=torch.uint8, device=cuda), cuda) is None


@pytest.mark.gpu
def test_a_gpu_is_named(cuda):
    assert device_block("auto")["name"] == torch.cuda.get_device_name(0)
    assert len(gpu_groups(1)) == torch.cuda.device_count()
    assert torch.cuda.get_device_name(0) in str(environment())
