"""Values that the experiment file may leave open: learning rates and warm-up by objective and encoder size."""

from __future__ import annotations

from hashbench.models.objectives.registry import objectives
from hashbench.running.experiment.schema import Finetune, Pretrain

# At base the paper's value (HashFormers, table 5); ours below.
FINETUNE_LEARNING_RATE = {"tiny": 5e-4, "mini": 3e-4, "small": 1e-4, "medium": 5e-5, "base": 3e-5}
WARMUP_STEPS = 10_000  # HashFormers, table 4
WARMUP_SHARE = 0.06  # a warm-up is at most this share of the steps unless the file sets one


def complete_pretrain(pretrain: Pretrain, *, objective: str, encoder: str) -> Pretrain:
    """The same recipe with learning rate and warm-up set.

    >>> complete_pretrain(Pretrain(steps=1000), objective="mlm", encoder="base").warmup_steps
    60
    """
    changes: dict[str, float | int] = {}
    if pretrain.learning_rate is None:
        changes["learning_rate"] = objectives()[objective].learning_rates[encoder]
    if pretrain.warmup_steps is None:
        changes["warmup_steps"] = min(WARMUP_STEPS, int(WARMUP_SHARE * pretrain.steps))
    return pretrain.model_copy(update=changes)


def complete_finetune(finetune: Finetune, *, encoder: str) -> Finetune:
    """The same recipe with a learning rate set.

    >>> complete_finetune(Finetune(), encoder="base").learning_rate
    3e-05
    """
    if finetune.learning_rate is not None:
        return finetune
    return finetune.model_copy(update={"learning_rate": FINETUNE_LEARNING_RATE[encoder]})
