"""What both kinds of training share: optimizer, learning-rate schedules, devices and the Lightning Trainer."""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.plugins.environments import LightningEnvironment
from lightning.pytorch.strategies import DDPStrategy
from torch import nn
from torch.nn.utils import clip_grads_with_norm_, get_total_norm
from torch.optim import AdamW, Optimizer
from torch.optim.lr_scheduler import LambdaLR

from hashbench.experiment.schema import Finetune

Schedule = Callable[[int], float]  # optimizer step -> factor of the peak learning rate
# 64-bit odd constants of SplitMix64: distinct (seed, step, rank) must give unrelated generator states.
_GOLDEN, _MIX, _RANK = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def adamw(
    module: nn.Module, *, learning_rate: float, betas: tuple[float, float], eps: float, weight_decay: float
) -> AdamW:
    """AdamW over the trained parameters; biases and LayerNorm weights are not decayed (HashFormers, released code)."""
    norms = {
        id(parameter) for part in module.modules() if isinstance(part, nn.LayerNorm) for parameter in part.parameters()
    }
    decayed: list[nn.Parameter] = []
    kept: list[nn.Parameter] = []
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:
            plain = id(parameter) in norms or name.endswith("bias")
            (kept if plain else decayed).append(parameter)
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": kept, "weight_decay": 0.0}]
    return AdamW([group for group in groups if group["params"]], lr=learning_rate, betas=betas, eps=eps, fused=True)


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
    """Linear warm-up from 0, then the peak."""
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


def training_length(recipe: Finetune, steps_per_epoch: int) -> tuple[int, int]:
    """Optimizer steps of a training on a task, and the epochs that they take."""
    steps = recipe.steps or recipe.epochs * steps_per_epoch
    return steps, -(-steps // steps_per_epoch)


def warmup_length(recipe: Finetune, total_steps: int) -> int:
    """Optimizer steps of the warm-up: as asked for, or a share of all."""
    return int(recipe.warmup_fraction * total_steps) if recipe.warmup_steps is None else recipe.warmup_steps


def evaluation_steps(recipe: Finetune, total_steps: int, every: int) -> int:
    """Optimizer steps between two evaluations: as asked for by steps or by number, or `every` by the task's rule."""
    if recipe.evaluation_steps is not None:
        return min(recipe.evaluation_steps, total_steps)
    if recipe.evaluations is not None:
        return -(-total_steps // recipe.evaluations)
    return min(every, total_steps)


def optimizer_setup(optimizer: AdamW, schedule: Schedule) -> dict[str, object]:
    """What `configure_optimizers` gives back: the optimizer and its schedule, advanced at every step."""
    return {"optimizer": optimizer, "lr_scheduler": {"scheduler": LambdaLR(optimizer, schedule), "interval": "step"}}


class ClippedModule(LightningModule):
    """A LightningModule that clips the norm itself, over all parameters of its optimizer.

    Lightning refuses to clip beside a fused optimizer under bf16, because such an optimizer may undo a loss scale after
    the clipping; bf16 has no loss scale.
    """

    def configure_gradient_clipping(
        self,
        optimizer: Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Scales the gradients so that their norm is at most `gradient_clip_val`."""
        if gradient_clip_val is None:
            return
        parameters = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        norm = get_total_norm([p.grad for p in parameters])
        if norm.device.type == "cpu" and norm <= gradient_clip_val:
            return  # the factor would be 1; on a GPU asking would cost a wait
        clip_grads_with_norm_(parameters, gradient_clip_val, norm)


def reseed(seed: int, step: int, rank: int = 0) -> None:
    """Sets torch's generators to a state that depends on (seed, step, rank of the device) alone.

    A checkpoint holds no generator state, so a run resumed in the middle of an epoch would draw other dropout masks
    than the uninterrupted one; with this at every step both draw the same.
    """
    torch.manual_seed(((seed + 1) * _GOLDEN + (step + 1) * _MIX + rank * _RANK) % 2**63)


def pick_device(device: str) -> str:
    """The Lightning accelerator for `auto`, `cpu`, `cuda` or `mps`."""
    if device != "auto":
        return device
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def precision_found(asked: Literal["32", "bf16"], device: str) -> Literal["32", "bf16"]:
    """The precision that training will have: bf16 where it was asked for and the hardware has it."""
    on_gpu = asked == "bf16" and pick_device(device) == "cuda"
    return "32" if on_gpu and not torch.cuda.is_bf16_supported(including_emulation=False) else asked


def make_trainer(
    *,
    device: str,
    devices: int,
    precision: Literal["32", "bf16"],
    clip: float,
    max_steps: int,
    max_epochs: int,
    callbacks: Iterable[Callback],
    folder: Path,
    check_interval: int | None = None,
) -> Trainer:
    """A quiet Trainer: no bar, no logger, no checkpoints of its own; callbacks do what a run needs.

    `check_interval`: optimizer steps between two evaluations, None: no evaluation.
    """
    quieten()
    accelerator = pick_device(device)
    return Trainer(
        accelerator="gpu" if accelerator == "cuda" else accelerator,
        devices=devices,
        strategy="auto" if devices == 1 else DDPStrategy(),
        plugins=[LightningEnvironment()],  # else a SLURM job's own signals would compete with the leases
        precision="bf16-mixed" if precision_found(precision, device) == "bf16" else "32-true",
        gradient_clip_val=clip,
        max_steps=max_steps,
        max_epochs=max_epochs,
        callbacks=list(callbacks),
        default_root_dir=folder,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,  # the loaders take each rank's share themselves
        val_check_interval=check_interval,
        check_val_every_n_epoch=None if check_interval else 1,
        limit_val_batches=None if check_interval else 0,
    )


def quieten() -> None:
    """Silences Lightning's banners and tips, which no option turns off."""
    for name in ("lightning.pytorch", "lightning.fabric", "pytorch_lightning"):
        logging.getLogger(name).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module=r"lightning\..*")
