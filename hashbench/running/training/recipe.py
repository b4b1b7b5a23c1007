"""Optimizer, learning-rate schedules, lengths and seeds of all trainings."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Literal

import torch
from torch import nn
from torch.optim import AdamW

from hashbench.common.splitmix import FIRST_FACTOR, GAMMA, SECOND_FACTOR
from hashbench.models.embeddings.base import Embedding
from hashbench.running.experiment.recipes import FinetuneRecipe

Schedule = Callable[[int], float]  # optimizer step -> factor of the peak learning rate


def adamw(
    module: nn.Module,
    *,
    learning_rate: float,
    betas: tuple[float, float],
    eps: float,
    weight_decay: float,
    embedding_rate: float = 1.0,
) -> AdamW:
    """AdamW over the trained parameters; those of embeddings have `embedding_rate` times the learning rate.

    Biases and LayerNorm weights are not decayed (HashFormers, released code), nor the `undecayed` parameters of an
    embedding."""
    undecayed: set[int] = set()
    embedded: set[int] = set()
    for part in module.modules():
        if isinstance(part, nn.LayerNorm):
            undecayed |= {id(parameter) for parameter in part.parameters()}
        elif isinstance(part, Embedding):
            undecayed |= {id(parameter) for parameter in part.undecayed()}
            embedded |= {id(parameter) for parameter in part.parameters()} if embedding_rate != 1 else set()
    parts: dict[tuple[bool, bool], list[nn.Parameter]] = {of: [] for of in product((False, True), (False, True))}
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:
            plain = id(parameter) in undecayed or name.endswith("bias")
            parts[id(parameter) in embedded, plain].append(parameter)
    groups = [
        {
            "params": part,
            "weight_decay": 0.0 if plain else weight_decay,
            "lr": learning_rate * (embedding_rate if of_embedding else 1),
        }
        for (of_embedding, plain), part in parts.items()
        if part
    ]
    return AdamW(groups, lr=learning_rate, betas=betas, eps=eps, fused=True)


def linear_decay(total: int, warmup: int) -> Schedule:
    """Linear warm-up from 0, then linear decay to 0 at `total` steps (HashFormers, table 4).

    >>> schedule = linear_decay(10, 2)
    >>> [schedule(step) for step in (0, 1, 2, 6, 10)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    def factor(step: int) -> float:
        if step < warmup:
            return step / warmup
        return max(0.0, (total - step) / max(1, total - warmup))

    return factor


def cosine_restarts(total: int, warmup: int, cycles: int) -> Schedule:
    """Linear warm-up from 0, then `cycles` cosines from 1 to 0 with hard restarts (HashFormers, table 5).

    >>> schedule = cosine_restarts(8, 0, 2)
    >>> [round(schedule(step), 3) for step in range(9)]
    [1.0, 0.854, 0.5, 0.146, 1.0, 0.854, 0.5, 0.146, 0.0]
    """

    def factor(step: int) -> float:
        if step < warmup:
            return step / warmup
        progress = (step - warmup) / max(1, total - warmup)
        if progress >= 1.0:
            return 0.0
        return 0.5 * (1.0 + math.cos(math.pi * ((cycles * progress) % 1.0)))

    return factor


def constant(warmup: int) -> Schedule:
    """Linear warm-up from 0, then constant at the peak learning rate."""
    return lambda step: min(1.0, step / warmup) if warmup else 1.0


def inverse_sqrt(warmup: int) -> Schedule:
    """Linear warm-up from 0, then the peak times sqrt(warmup / step); never 0 again (Superbloom, section 3.2).

    >>> schedule = inverse_sqrt(4)
    >>> [schedule(step) for step in (0, 2, 4, 16)]
    [0.0, 0.5, 1.0, 0.5]
    """
    start = max(1, warmup)
    return lambda step: min(step / start, math.sqrt(start / step)) if step else 0.0


def schedule_of(
    name: Literal["cosine_restarts", "linear", "constant", "inverse_sqrt"], *, total: int, warmup: int, cycles: int
) -> Schedule:
    """The named schedule over `total` optimizer steps."""
    if name == "cosine_restarts":
        return cosine_restarts(total, warmup, cycles)
    if name == "inverse_sqrt":
        return inverse_sqrt(warmup)
    return linear_decay(total, warmup) if name == "linear" else constant(warmup)


def training_length(recipe: FinetuneRecipe, steps_per_epoch: int) -> tuple[int, int]:
    """Optimizer steps of a training on a task, and the epochs that they take."""
    steps = recipe.steps or recipe.epochs * steps_per_epoch
    return steps, -(-steps // steps_per_epoch)


def warmup_length(recipe: FinetuneRecipe, total_steps: int) -> int:
    """Optimizer steps of the warm-up: the number in the recipe, or a share of all."""
    return int(recipe.warmup_fraction * total_steps) if recipe.warmup_steps is None else recipe.warmup_steps


def reseed(seed: int, step: int, rank: int = 0) -> None:
    """Sets torch's generators to a state that depends on (seed, step, rank of the device) alone.

    A checkpoint holds no generator state, so a run resumed in the middle of an epoch would draw other dropout masks
    than the uninterrupted one; with this at every step both draw the same. The odd 64-bit factors of SplitMix64 give
    different (seed, step, rank) unrelated states.
    """
    state = ((seed + 1) * GAMMA + (step + 1) * FIRST_FACTOR + rank * SECOND_FACTOR) % 2**63
    if torch.accelerator.is_available():
        torch.manual_seed(state)
    else:  # for each kind of device that is not there, torch.manual_seed would keep the text of a stack trace
        torch.default_generator.manual_seed(state)


def drops_out(module: nn.Module) -> bool:
    """True when dropout is on anywhere in a module: in the layers, or of the attention's weights."""
    shares = ("probability", "attention_dropout")
    return any(vars(part)[share] > 0 for part in module.modules() for share in shares if share in vars(part))
