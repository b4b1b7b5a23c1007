"""Schedules against their definitions, the optimizer's groups, and the generators of a step."""

import math

import pytest
import torch
from torch import nn

from hashbench.models.embeddings.registry import find_model
from hashbench.running.experiment.recipes import PretrainRecipe
from hashbench.running.training.model import build_model
from hashbench.running.training.module import Curves, RecipeModule
from hashbench.running.training.recipe import adamw, constant, cosine_restarts, linear_decay, reseed, schedule_of


def test_linear_decay_is_a_ramp_and_a_line():
    schedule = linear_decay(100, 10)
    for step in range(101):
        expected = step / 10 if step < 10 else (100 - step) / 90
        assert schedule(step) == pytest.approx(expected)


def test_cosine_restarts_jumps_back_to_the_peak():
    schedule = cosine_restarts(100, 0, 5)
    for step in range(100):
        expected = 0.5 * (1 + math.cos(math.pi * (5 * step / 100 % 1.0)))
        assert schedule(step) == pytest.approx(expected)
    assert [schedule(step) for step in (20, 40, 60, 80)] == [1.0, 1.0, 1.0, 1.0]
    assert schedule(100) == 0.0


def test_cosine_restarts_equals_the_library_that_the_paper_used():
    transformers = pytest.importorskip("transformers", reason="transformers is a development requirement")
    parameter = nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    peer = transformers.get_cosine_with_hard_restarts_schedule_with_warmup(optimizer, 6, 100, num_cycles=5)
    ours = cosine_restarts(100, 6, 5)
    for step in range(100):
        assert ours(step) == pytest.approx(peer.get_last_lr()[0], abs=1e-12)
        optimizer.step()
        peer.step()


def test_constant_stays_at_the_peak():
    assert [constant(2)(step) for step in (0, 1, 2, 50)] == [0.0, 0.5, 1.0, 1.0]
    assert constant(0)(0) == 1.0


def test_schedule_of_names_every_schedule():
    assert schedule_of("linear", total=10, warmup=0, cycles=5)(5) == 0.5
    assert schedule_of("cosine_restarts", total=10, warmup=0, cycles=1)(5) == pytest.approx(0.5)
    assert schedule_of("constant", total=10, warmup=0, cycles=1)(5) == 1.0


def test_adamw_spares_biases_and_layer_norms_from_decay():
    module = nn.Sequential(nn.Linear(3, 2), nn.LayerNorm(2))
    decayed, kept = adamw(module, learning_rate=1.0, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.1).param_groups
    assert [tuple(parameter.shape) for parameter in decayed["params"]] == [(2, 3)]
    assert decayed["weight_decay"] == 0.1 and kept["weight_decay"] == 0.0
    assert len(kept["params"]) == 3


@pytest.mark.parametrize("rate", [1.0, 4.0])
def test_an_embedding_has_its_own_rate_and_other_weights_keep_theirs(rate: float) -> None:
    model = build_model(find_model("hash-emb-k2-sum").small(), "tiny", seed=0)
    groups = adamw(
        model, learning_rate=0.5, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.1, embedding_rate=rate
    ).param_groups
    rates = {id(parameter): group["lr"] for group in groups for parameter in group["params"]}
    embedded = {id(parameter) for parameter in model.embedding.parameters()}
    assert embedded and len(rates) == len(list(model.parameters()))
    assert {of: 0.5 * rate if of in embedded else 0.5 for of in rates} == rates
    assert rate != 1 or len(groups) == 2  # as before there was another rate


def test_reseed_depends_on_seed_and_step_alone():
    def draw(seed, step):
        torch.rand(7)
        reseed(seed, step)
        return torch.rand(4).tolist()

    assert draw(0, 5) == draw(0, 5)
    assert len({tuple(draw(seed, step)) for seed in range(3) for step in range(50)}) == 150


def test_the_states_are_those_of_stored_runs():
    """Another would draw other dropout masks, and a run that is repeated would end elsewhere."""
    states = []
    for arguments in ((0, 0), (1, 0), (0, 1), (2, 7, 3)):
        reseed(*arguments)
        states.append(torch.initial_seed())
    assert states == [6741819538770190798, 8919162321238613475, 2082924258217183111, 1430321444777744328]


@pytest.mark.parametrize("largest", [1e-3, 1e3])
def test_clipping_equals_torchs_own(largest):
    torch.manual_seed(0)
    ours, peer = nn.Linear(5, 4), nn.Linear(5, 4)
    for parameter, other in zip(ours.parameters(), peer.parameters(), strict=True):
        parameter.grad = torch.randn_like(parameter)
        other.grad = parameter.grad.clone()
    optimizer = adamw(ours, learning_rate=1.0, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.1)
    recipe = PretrainRecipe(learning_rate=1.0, warmup_steps=0, clip=largest)
    module = RecipeModule(recipe, schedule=constant(0), seed=0, total_steps=1, curves=Curves(1))
    module.configure_gradient_clipping(optimizer)
    nn.utils.clip_grad_norm_(peer.parameters(), largest)
    for parameter, other in zip(ours.parameters(), peer.parameters(), strict=True):
        torch.testing.assert_close(parameter.grad, other.grad)
