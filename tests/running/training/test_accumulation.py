"""running/training/accumulation.py: a batch in parts trains what the batch in one piece trains."""

import numpy as np
import pytest
import torch

from hashbench.models.embeddings.base import Batch
from hashbench.running.experiment.recipes import FinetuneRecipe, PretrainRecipe
from hashbench.running.training import finetuning as training
from hashbench.running.training.accumulation import micro_batches, some_rows
from hashbench.running.training.finetuning import Job, finetune
from hashbench.running.training.machine import Machine
from hashbench.running.training.model import build_model, make_head
from hashbench.running.training.module import Curves
from hashbench.running.training.pretraining import PretrainingModule, pretrain

torch.set_num_threads(1)
WITHOUT_DROPOUT = {"dropout": 0.0, "attention_dropout": 0.0}
STEPS, BATCH, MICRO = 20, 128, 16


@pytest.fixture
def losses(monkeypatch):
    """The losses of all steps as they are, not as the curve's mean rounds them."""
    seen = []
    whole = Curves.add_loss

    def add_loss(self, loss, step):
        seen.append(float(loss.detach().double()))
        whole(self, loss, step)

    monkeypatch.setattr(Curves, "add_loss", add_loss)
    return seen


def pretrained(prepared, name, folder, dtype=torch.float32, **changes):
    made = prepared(name)
    recipe = PretrainRecipe(steps=STEPS, learning_rate=1e-3, warmup_steps=2, batch_size=BATCH, **changes)
    spec = made.spec.with_args(encoder=WITHOUT_DROPOUT)
    model = build_model(spec, "tiny", seed=0, vocabulary_rows=made.rows).to(dtype)
    head = make_head(model, spec.training.objective).to(dtype)
    data, machine = made.pretraining(batch_size=BATCH), Machine(folder, device="cpu")
    return pretrain(model, head, data, recipe, total_steps=STEPS, machine=machine), machine


def finetuned(prepared, task, folder, dtype=torch.float32, **changes):
    made = prepared("hashformer-md-proj")
    recipe = FinetuneRecipe(steps=STEPS, batch_size=BATCH, learning_rate=1e-3, **changes)
    spec = made.spec.with_args(encoder=WITHOUT_DROPOUT)
    model = build_model(spec, "tiny", seed=0).to(dtype)
    machine = Machine(folder, device="cpu")
    data, job = made.finetuning(task, rows=200, batch_size=BATCH), Job(spec, recipe, 0)
    return finetune(model, data, job, machine=machine), machine


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-9)])
@pytest.mark.parametrize("name", ["bert-mlm", "hashformer-lsh-proj"])
def test_eight_parts_of_a_batch_pretrain_as_the_batch_does(prepared, tmp_path, losses, name, dtype, tolerance):
    pretrained(prepared, name, tmp_path / "whole", dtype)
    whole = losses.copy()
    losses.clear()
    done, machine = pretrained(prepared, name, tmp_path / "parts", dtype, micro_batch_size=MICRO)
    assert len(whole) == len(losses) == done.steps == STEPS and len(set(whole)) == STEPS
    np.testing.assert_allclose(losses, whole, rtol=tolerance)
    assert machine.notes == {"micro_batch_size": "16"}


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-9)])
@pytest.mark.parametrize("task", ["cola", "stsb"])
def test_eight_parts_of_a_batch_fine_tune_as_the_batch_does(
    prepared, tmp_path, losses, monkeypatch, task, dtype, tolerance
):
    """The second batch of an epoch has 72 rows: its last part is smaller."""
    make_head_of = training.make_head_of
    monkeypatch.setattr(training, "make_head_of", lambda *arguments: make_head_of(*arguments).to(dtype))
    finetuned(prepared, task, tmp_path / "whole", dtype)
    whole = losses.copy()
    losses.clear()
    done, _ = finetuned(prepared, task, tmp_path / "parts", dtype, micro_batch_size=MICRO)
    assert len(whole) == len(losses) == done.steps == STEPS
    np.testing.assert_allclose(losses, whole, rtol=tolerance)


def test_a_mean_of_the_parts_means_would_be_another_loss(prepared, tmp_path, losses, monkeypatch):
    """What the weights are for: parts with few labels would count like those with many."""
    pretrained(prepared, "bert-mlm", tmp_path / "whole")
    whole = losses[0]
    losses.clear()
    monkeypatch.setattr(
        "hashbench.running.training.pretraining.PretrainingModule.label_counts", lambda self, batch: (1,)
    )
    monkeypatch.setattr("hashbench.running.training.module.weighted", lambda terms, shares: terms[0] / (BATCH / MICRO))
    pretrained(prepared, "bert-mlm", tmp_path / "parts", micro_batch_size=MICRO)
    assert abs(losses[0] - whole) / whole > 1e-4


def test_parts_train_in_bf16_too(prepared, tmp_path, losses):
    pretrained(prepared, "bert-mlm", tmp_path / "whole", precision="bf16")
    whole = losses.copy()
    losses.clear()
    pretrained(prepared, "bert-mlm", tmp_path / "parts", precision="bf16", micro_batch_size=MICRO)
    np.testing.assert_allclose(losses, whole, rtol=5e-3)


def test_a_micro_batch_of_the_whole_batch_changes_no_bit(prepared, tmp_path, losses):
    plain, _ = pretrained(prepared, "bert-mlm", tmp_path / "plain")
    other, machine = pretrained(prepared, "bert-mlm", tmp_path / "other", micro_batch_size=BATCH)
    assert losses[:STEPS] == losses[STEPS:] and machine.notes == {}
    for name, weights in plain.model.state_dict().items():
        assert torch.equal(weights, other.model.state_dict()[name]), name
    assert plain.tokens_per_second > 0


def test_the_tokens_of_all_parts_are_counted(prepared, tmp_path, monkeypatch):
    """As many in parts as in one piece: rows of 16 tokens, a whole epoch and what 20 steps need of the others."""
    counted = []
    add = PretrainingModule.on_train_batch_start

    def on_train_batch_start(self, batch, batch_idx):
        add(self, batch, batch_idx)
        counted.append(self.tokens)

    monkeypatch.setattr(PretrainingModule, "on_train_batch_start", on_train_batch_start)
    pretrained(prepared, "bert-mlm", tmp_path / "whole")
    whole = counted.copy()
    counted.clear()
    pretrained(prepared, "bert-mlm", tmp_path / "parts", micro_batch_size=MICRO)
    assert counted == whole and whole[0] == BATCH * 16


def batch_of_two_types_each():
    """Three rows; specials 0 to 4, types 5, 6, 7 with codes 10, 11, 12."""
    positions = torch.tensor([[0, 5, 6, 2], [0, 7, 2, 1], [0, 6, 7, 2]])
    codes = torch.tensor([[10], [11], [12]])
    labels = torch.tensor([[-100, 1, 2, -100], [-100, -100, -100, -100], [-100, 3, -100, -100]])
    return Batch(codes, positions, positions != 1, labels=labels, row_ids=torch.tensor([4, 5, 6]))


def test_some_rows_have_the_codes_of_their_own_types():
    batch = batch_of_two_types_each()
    part = some_rows(batch, slice(1, 3))
    assert part.codes.tolist() == [[11], [12]]
    assert part.positions.tolist() == [[0, 6, 2, 1], [0, 5, 6, 2]]
    assert part.row_ids.tolist() == [5, 6] and part.padded
    assert not some_rows(batch, slice(0, 1)).padded
    vectors = torch.cat([torch.arange(5), batch.codes[:, 0]])
    own = torch.cat([torch.arange(5), part.codes[:, 0]])
    assert torch.equal(own[part.positions], vectors[batch.positions[1:]])


def test_rows_of_special_tokens_alone_have_no_codes():
    positions = torch.tensor([[0, 2, 1], [0, 2, 1]])
    batch = Batch(torch.empty(0, 3), positions, positions != 1)
    assert some_rows(batch, slice(0, 1)).positions.tolist() == [[0, 2, 1]]
    first = some_rows(batch_of_two_types_each(), slice(1, 2))
    assert first.codes.tolist() == [[12]] and first.positions.tolist() == [[0, 5, 2, 1]]


def test_shares_are_those_of_the_labels():
    parts = micro_batches(batch_of_two_types_each(), 2, lambda batch: (int((batch.labels != -100).sum()), len(batch)))
    assert [part.shares for part in parts] == [(2 / 3, 2 / 3), (1 / 3, 1 / 3)]
    without = micro_batches(batch_of_two_types_each(), 1, lambda batch: (0,))
    assert [part.shares for part in without] == [(0.0,)] * 3


def labels_and_rows(batch):
    return int((batch.labels != -100).sum()), len(batch)


@pytest.mark.parametrize("size", [None, 1])
@pytest.mark.parametrize("world_size", [1, 2, 3, 5])
def test_the_rows_of_processes_are_disjoint_and_complete(world_size, size):
    """Shares sum to the number of processes, over which gradients are averaged."""
    batch = batch_of_two_types_each()
    by_rank = [
        micro_batches(batch, size, labels_and_rows, rank=rank, world_size=world_size) for rank in range(world_size)
    ]
    assert all(by_rank)
    counted = [part for parts in by_rank for part in parts if any(part.shares)]
    assert sorted(row for part in counted for row in part.batch.row_ids.tolist() if part.shares[1]) == [4, 5, 6]
    for term in (0, 1):
        assert sum(part.shares[term] for part in counted) == pytest.approx(world_size)


def test_processes_have_equally_many_parts():
    """Three rows on two processes, one at a time: the second computes a part for nothing."""
    first, second = (
        micro_batches(batch_of_two_types_each(), 1, labels_and_rows, rank=rank, world_size=2) for rank in range(2)
    )
    assert [part.shares[1] for part in first] == pytest.approx([2 / 3, 2 / 3])
    assert [part.shares[1] for part in second] == pytest.approx([0.0, 2 / 3])


def test_a_process_without_a_row_computes_one_for_nothing():
    (part,) = micro_batches(batch_of_two_types_each(), None, labels_and_rows, rank=4, world_size=5)
    assert part.batch.row_ids.tolist() == [4] and part.shares == (0.0, 0.0)
