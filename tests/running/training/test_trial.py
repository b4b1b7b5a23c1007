"""running/training/devices.py: how many rows a device holds, found by trying."""

import subprocess
import sys

import pytest
import torch

from hashbench.common.errors import InputError
from hashbench.running.experiment.recipes import FinetuneRecipe, PretrainRecipe
from hashbench.running.training import devices as memory
from hashbench.running.training.devices import largest_micro_batch, sizes
from hashbench.running.training.finetuning import FinetuningModule, Job, finetune, make_head_of
from hashbench.running.training.machine import Machine
from hashbench.running.training.model import build_model, make_head
from hashbench.running.training.module import Curves
from hashbench.running.training.pretraining import PretrainingModule, pretrain

CPU = torch.device("cpu")
A_ROW, WITHOUT_ROWS = 10, 100  # bytes of the memory that `memory_of_rows` pretends


@pytest.fixture
def tried(monkeypatch):
    """The numbers of rows that were tried, on a device whose bytes are 100 and 10 for each row."""
    seen = []
    step = memory._step

    def watched(module, part, device, bf16):
        seen.append(len(part.batch))
        step(module, part, device, bf16)

    def peak(work, device):
        work()
        return WITHOUT_ROWS + A_ROW * seen[-1]

    monkeypatch.setattr(memory, "_step", watched)
    monkeypatch.setattr(memory, "peak_bytes_of", peak)
    return seen


def room_for(monkeypatch, rows):
    monkeypatch.setattr(memory, "free_bytes", lambda device: (WITHOUT_ROWS + A_ROW * rows + 1) / memory.SHARE)


def module_and_batch(prepared, rows=32):
    made = prepared("hashformer-lsh-proj")
    model = build_model(made.spec, "tiny", seed=0)
    head = make_head(model, "shuffle_random")
    recipe = PretrainRecipe(steps=2, learning_rate=1e-3, warmup_steps=0)
    module = PretrainingModule(model, head, recipe, total_steps=2, curves=Curves(2))
    return module, made.pretraining(batch_size=rows).longest_batch()


@pytest.mark.parametrize(
    ("room", "chosen", "tried_rows"),
    [(32, 32, [1, 2, 4, 8, 16, 32]), (100, 32, [1, 2, 4, 8, 16, 32]), (31, 16, [1, 2, 4, 8, 16]), (1, 1, [1, 2])],
)
def test_the_largest_size_that_fits_is_taken(prepared, monkeypatch, tried, room, chosen, tried_rows):
    """What the growth so far shows to be too large is not tried; with one trial nothing is known of the growth."""
    module, batch = module_and_batch(prepared)
    room_for(monkeypatch, room)
    assert largest_micro_batch(module, batch, CPU) == chosen
    assert tried == tried_rows


def test_a_trial_changes_neither_weights_nor_random_states(prepared, monkeypatch, tried):
    module, batch = module_and_batch(prepared)
    room_for(monkeypatch, 8)
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    torch.manual_seed(5)
    state = torch.get_rng_state()
    largest_micro_batch(module, batch, CPU, precision="bf16", devices=2)
    assert torch.equal(torch.get_rng_state(), state)
    assert all(parameter.grad is None for parameter in module.parameters())
    assert all(torch.equal(before[name], tensor) for name, tensor in module.state_dict().items())


def test_too_little_memory_for_one_row_is_said(prepared, monkeypatch, tried):
    module, batch = module_and_batch(prepared)
    room_for(monkeypatch, 0)
    message = r"^micro_batch_size: auto: one row of 16 tokens needs 0.0 GB, and cpu has 0.0 GB to give; take shorter"
    with pytest.raises(InputError, match=message):
        largest_micro_batch(module, batch, CPU)


def test_a_device_that_is_full_counts_as_too_small(prepared, monkeypatch):
    """As CUDA says it."""
    module, batch = module_and_batch(prepared, rows=4)
    counts = []

    def loss_terms(self, part):
        counts.append(len(part))
        if len(part) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return whole(self, part)

    whole = PretrainingModule.loss_terms
    monkeypatch.setattr(PretrainingModule, "loss_terms", loss_terms)
    monkeypatch.setattr(memory, "free_bytes", lambda device: 10**15)
    assert largest_micro_batch(module, batch, CPU) == 2
    assert counts == [1, 2, 4]


def test_sizes_are_halves():
    assert sizes(128) == [1, 2, 4, 8, 16, 32, 64, 128]
    assert sizes(1) == [1] and sizes(5) == [1, 2, 3, 5]


def test_auto_trains_with_what_was_found(prepared, tmp_path, monkeypatch, tried):
    """Fine-tuning too, whose longest rows go first."""
    room_for(monkeypatch, 4)
    made = prepared("hashformer-md-proj")
    recipe = FinetuneRecipe(epochs=1, batch_size=16, learning_rate=1e-3, micro_batch_size="auto")
    machine = Machine(tmp_path, device="cpu")
    data = made.finetuning("cola", rows=40, batch_size=16)
    done = finetune(build_model(made.spec, "tiny", seed=0), data, Job(made.spec, recipe, 0), machine=machine)
    assert done.steps == 3 and machine.notes == {"micro_batch_size": "4"}
    lengths = data.longest_batch().mask.sum(1)
    assert lengths[0] == data.rows["train"].lengths.max() and (lengths[:-1] >= lengths[1:]).all()


def test_where_all_fits_a_batch_stays_in_one_piece(prepared, tmp_path):
    """On this machine's own memory, as the system tells it."""
    made = prepared("hashformer-lsh-proj")
    recipe = PretrainRecipe(steps=2, learning_rate=1e-3, warmup_steps=0, micro_batch_size="auto")
    model = build_model(made.spec, "tiny", seed=0)
    machine = Machine(tmp_path, device="cpu")
    data = made.pretraining()
    pretrain(model, make_head(model, "shuffle_random"), data, recipe, total_steps=2, machine=machine)
    assert machine.notes == {}


def test_the_memory_of_a_cpu_is_that_of_the_process():
    free = memory.free_bytes(CPU)
    assert memory.resident_peak() < free
    # In a process whose peak no earlier test has raised.
    code = (
        "import torch\nfrom hashbench.running.training import devices as memory\n"
        "cpu, held = torch.device('cpu'), []\nsmall = memory.peak_bytes_of(lambda: None, cpu)\n"
        "large = memory.peak_bytes_of(lambda: held.append(torch.ones(150_000_000)), cpu)\nprint(large - small)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 300_000_000  # of 600 MB


def test_other_errors_are_no_lack_of_memory():
    def work():
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes"):
        memory.peak_bytes_of(work, CPU)


def test_a_modules_parts_are_what_it_says(prepared):
    """Rows of a fine-tuning are its labels."""
    made = prepared("hashformer-md-proj")
    data = made.finetuning("cola", rows=24)
    model = build_model(made.spec, "tiny", seed=0)
    module = FinetuningModule(
        model,
        make_head_of(model, data.data, made.spec),
        FinetuneRecipe(learning_rate=1e-3),
        data,
        seed=0,
        keep_best_weights=False,
    )
    assert module.label_counts(data.longest_batch()) == (8,)


@pytest.mark.parametrize("size", [None, 8])
def test_after_memory_was_too_small_half_the_rows_are_computed_at_a_time(prepared, tmp_path, size):
    made = prepared("hashformer-md-proj")
    recipe = FinetuneRecipe(epochs=1, batch_size=16, learning_rate=1e-3, micro_batch_size=size)
    machine = Machine(tmp_path, device="cpu", halved=True)
    data = made.finetuning("cola", rows=40, batch_size=16)
    model = build_model(made.spec, "tiny", seed=0)
    finetune(model, data, Job(made.spec, recipe, 0), machine=machine)
    before = size or 16
    assert machine.notes == {
        "out_of_memory": f"with {before} rows at a time",
        "micro_batch_size": str(before // 2),
    }
