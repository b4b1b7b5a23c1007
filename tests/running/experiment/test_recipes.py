"""running/experiment/recipes.py: the paper's values at base, and the rule of the warm-up."""

from __future__ import annotations

import pytest

from hashbench.running.experiment.recipes import complete_finetune, complete_pretrain
from hashbench.running.experiment.schema import Finetune, Pretrain


@pytest.mark.parametrize(("objective", "rate"), [("mlm", 1e-4), ("shuffle_random", 5e-5)])  # HashFormers, table 4
def test_pretraining_at_base_is_the_papers(objective: str, rate: float) -> None:
    recipe = complete_pretrain(Pretrain(), objective=objective, encoder="base")
    assert (recipe.learning_rate, recipe.warmup_steps) == (rate, 10_000)


def test_finetuning_at_base_is_the_papers() -> None:
    assert complete_finetune(Finetune(), encoder="base").learning_rate == 3e-5  # HashFormers, table 5


def test_a_short_pretraining_warms_up_for_six_percent() -> None:
    assert complete_pretrain(Pretrain(steps=1_000), objective="mlm", encoder="tiny").warmup_steps == 60


def test_what_is_set_stays() -> None:
    recipe = complete_pretrain(Pretrain(learning_rate=1.0, warmup_steps=0), objective="mlm", encoder="tiny")
    assert (recipe.learning_rate, recipe.warmup_steps) == (1.0, 0)
    assert complete_finetune(Finetune(learning_rate=(1.0, 2.0)), encoder="tiny").learning_rate == (1.0, 2.0)


def test_smaller_encoders_get_larger_rates() -> None:
    rates = [
        complete_finetune(Finetune(), encoder=size).learning_rate
        for size in ("tiny", "mini", "small", "medium", "base")
    ]
    assert rates == sorted(rates, reverse=True)
