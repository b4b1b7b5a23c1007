"""running/experiment/hardware.py: which of its keys are part of a run's identity."""

from __future__ import annotations

import pytest

from hashbench.common.errors import InputError
from hashbench.running.experiment.hardware import SETTINGS, OnHardware
from hashbench.running.sweep.plan import plan

MODELS = "models: [bert-mlm]\nefficiency: true\n"
DEFAULT = {name: field.default for name, field in OnHardware.model_fields.items()}


@pytest.mark.parametrize(
    "change",
    ["micro_batch_size=4", "micro_batch_size=auto", "activation_checkpointing=true", "compile=true"],
)
@pytest.mark.parametrize("block", ["pretrain", "finetune"])
def test_how_a_batch_is_computed_makes_no_other_run(experiment, block: str, change: str) -> None:
    plain, other = plan(experiment(MODELS)).runs, plan(experiment(MODELS, f"{block}.{change}")).runs
    assert [run.id for run in other] == [run.id for run in plain]
    assert not any(key in run.spec.get(block, {}) for run in other for key in SETTINGS)


@pytest.mark.parametrize(("block", "kinds"), [("pretrain", {"pretrain", "finetune"}), ("finetune", {"finetune"})])
@pytest.mark.parametrize("change", ["matmul_precision=high", "precision=bf16"])
def test_the_precision_of_products_makes_another_run(experiment, block: str, kinds: set[str], change: str) -> None:
    """And another measurement; a fine-tuning goes on from another pre-training."""
    plain, other = plan(experiment(MODELS)).runs, plan(experiment(MODELS, f"{block}.{change}")).runs
    changed = {new.kind for old, new in zip(plain, other, strict=True) if old.id != new.id}
    assert changed == kinds | {"efficiency"}


def test_the_keys_are_all_of_one_kind() -> None:
    assert set(DEFAULT) - SETTINGS == {"precision", "matmul_precision"}


@pytest.mark.parametrize("change", ["micro_batch_size=0", "micro_batch_size=some", "matmul_precision=tf32"])
def test_impossible_values_are_refused(experiment, change: str) -> None:
    with pytest.raises(InputError, match=f"finetune.{change.partition('=')[0]}"):
        plan(experiment(MODELS, f"finetune.{change}"))
