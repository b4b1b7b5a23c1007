"""A training step asks nothing of a device that would have to be waited for, and its shapes are few.

Tensors without data (torch's meta device) refuse every such question: item(), nonzero(), a boolean index.
"""

from __future__ import annotations

import copy
from contextlib import nullcontext

import pytest
import torch

from hashbench.models.layers import rounded_up
from hashbench.models.objectives import linear_loss
from hashbench.running.training.accumulation import some_rows
from hashbench.running.training.model import build_model, make_head

torch.set_num_threads(1)


@pytest.fixture
def batches(prepared):
    """Of a model's name: its model and head, and an uncounted batch."""

    def make(name, **encoder):
        made = prepared(name)
        spec = made.spec.with_args(encoder=encoder)
        model = build_model(spec, "tiny", seed=0, vocabulary_rows=made.rows)
        head = make_head(model, spec.training.objective)
        return model.train(), head.train(), made.pretraining(batch_size=32).longest_batch()

    return make


@pytest.fixture
def without_autocast(monkeypatch):
    """Tensors without data have no autocast, which models leave for single products."""
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: nullcontext())


MODELS = ["bert-mlm", "eelbert-tiny", "bert-sr", "hashformer-lsh-proj", "hashformer-md-pool"]


@pytest.mark.usefixtures("without_autocast")
@pytest.mark.parametrize("name", MODELS)
def test_a_step_asks_nothing_of_the_device(batches, name):
    model, head, batch = batches(name)
    there = head.prepared(batch, fixed_shapes=True).to("meta")
    head.to("meta").batch_loss(model.to("meta"), there, "labels").backward()
    assert all(parameter.grad is not None for parameter in head.parameters())


@pytest.mark.usefixtures("without_autocast")
def test_an_uncounted_batch_would_be_asked(batches):
    """The test above can fail."""
    model, head, batch = batches("bert-mlm")
    with pytest.raises(NotImplementedError, match="nonzero"):
        head.to("meta").batch_loss(model.to("meta"), batch.to("meta"), "labels")


def losses_and_slopes(model, head, batch, bf16):
    model, head = copy.deepcopy(model), copy.deepcopy(head)
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        loss = head.batch_loss(model, batch, "labels")
    loss.backward()
    named = [*model.named_parameters(), *head.named_parameters()]
    return loss.detach(), {name: parameter.grad for name, parameter in named if parameter.grad is not None}


@pytest.mark.parametrize("bf16", [False, True])
@pytest.mark.parametrize("as_on_a_gpu", [False, True])
def test_rounded_shapes_give_the_same_loss_and_slopes(batches, monkeypatch, bf16, as_on_a_gpu):
    model, head, batch = batches("bert-mlm", dropout=0.0, attention_dropout=0.0)
    expected, slopes = losses_and_slopes(model, head, batch, bf16)
    monkeypatch.setattr(linear_loss, "on_accelerator", lambda states: as_on_a_gpu)
    counted = head.prepared(batch, fixed_shapes=True)
    assert counted.kept is not None and len(counted.kept) == rounded_up(counted.n_kept) > counted.n_kept
    found, others = losses_and_slopes(model, head, counted, bf16)
    rounding = 2**-7 if bf16 else 1e-6
    torch.testing.assert_close(found, expected, rtol=rounding, atol=0)
    assert slopes.keys() == others.keys()
    for name, slope in slopes.items():
        largest = float(slope.abs().max())
        torch.testing.assert_close(others[name], slope, rtol=0, atol=2 * rounding * largest, msg=name)


def test_what_a_cpu_counts_before_the_step_changes_no_bit(batches):
    """Dropout included: its masks have the shapes that they had."""
    model, head, batch = batches("bert-mlm")
    torch.manual_seed(0)
    expected, slopes = losses_and_slopes(model, head, batch, False)
    torch.manual_seed(0)
    found, others = losses_and_slopes(model, head, head.prepared(batch), False)
    assert torch.equal(found, expected) and all(torch.equal(slopes[name], others[name]) for name in slopes)


def test_rows_taken_of_a_counted_batch_are_counted_anew(batches):
    _, head, batch = batches("bert-mlm")
    part = some_rows(head.prepared(batch), slice(0, 3))
    assert part.columns is None and part.kept is None
