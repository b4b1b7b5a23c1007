"""running/experiment/recipes.py: the values of the paper at base, one rate for a trainer, and keys outside of ids."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from hashbench.common.errors import InputError
from hashbench.running.experiment.completing import complete_finetune, complete_pretrain
from hashbench.running.experiment.identity import run_id
from hashbench.running.experiment.recipes import SETTINGS, Finetune, OnHardware, Pretrain
from hashbench.running.sweep.plan import plan

MODELS = "models: [bert-mlm]\nefficiency: true\n"
DEFAULT = {name: field.default for name, field in OnHardware.model_fields.items()}


@pytest.mark.parametrize(("objective", "rate"), [("mlm", 1e-4), ("shuffle_random", 5e-5)])  # HashFormers, table 4
def test_pretraining_at_base_is_the_papers(objective: str, rate: float) -> None:
    recipe = complete_pretrain(Pretrain(), objective=objective, encoder="base")
    assert (recipe.learning_rate, recipe.warmup_steps) == (rate, 10_000)


def test_finetuning_at_base_is_the_papers() -> None:
    assert complete_finetune(Finetune(), encoder="base").learning_rate == 3e-5  # HashFormers, table 5


def test_a_short_pretraining_warms_up_for_six_percent() -> None:
    assert complete_pretrain(Pretrain(steps=1_000), objective="mlm", encoder="tiny").warmup_steps == 60


KEEP = {"keep": 0.99, "at_most": 512}


def test_length_that_keeps_tokens_is_part_of_the_identity_and_a_number_stays_what_it_was(experiment) -> None:
    def ids(*overrides: str) -> list[str]:
        return [run.id for run in plan(experiment(MODELS, *overrides)).runs if run.kind == "finetune"]

    assert ids("finetune.max_length=128") == ids()
    by_share = ids("finetune.max_length={keep: 0.99, at_most: 512}")
    assert not set(by_share) & set(ids()) and by_share != ids("finetune.max_length={keep: 0.9, at_most: 512}")
    specs = [run.spec for run in plan(experiment(MODELS, "finetune.max_length={keep: 0.99, at_most: 512}")).runs]
    assert KEEP in [spec["finetune"]["max_length"] for spec in specs if spec["kind"] == "finetune"]


@pytest.mark.parametrize("value", ["{keep: 0, at_most: 64}", "{keep: 1.1, at_most: 64}", "{keep: 0.9, at_most: 7}",
                                   "{keep: 0.9}", "7", "0.99"])  # fmt: skip
def test_length_that_is_none_is_refused_in_one_line(experiment, value: str) -> None:
    with pytest.raises(InputError, match=r"a\.yaml|max_length") as error:
        experiment(MODELS, f"finetune.max_length={value}")
    assert "\n" not in str(error.value)


def test_longest_input_is_the_number_or_the_bound_of_a_share() -> None:
    assert Finetune(max_length=64).longest == 64
    assert Finetune.model_validate({"max_length": KEEP}).longest == 512


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


def test_a_trainer_has_one_rate() -> None:
    grid = Finetune(learning_rate=(3e-4, 1e-4), epochs=2)
    assert [(recipe.learning_rate, recipe.epochs) for recipe in grid.recipes()] == [(1e-4, 2), (3e-4, 2)]
    one = complete_finetune(Finetune(), encoder="base")
    assert [recipe.learning_rate for recipe in one.recipes()] == [3e-5]
    recipe = complete_pretrain(Pretrain(), objective="mlm", encoder="base").recipe()
    assert (recipe.learning_rate, recipe.warmup_steps) == (1e-4, 10_000)


def test_a_recipe_with_an_open_rate_cannot_be_trained() -> None:
    with pytest.raises(ValidationError, match="learning_rate"):
        Finetune().recipes()
    with pytest.raises(ValidationError, match="warmup_steps"):
        Pretrain(learning_rate=1e-4).recipe()


@pytest.mark.parametrize(
    "change",
    ["micro_batch_size=4", "micro_batch_size=auto", "compile=true"],
)
@pytest.mark.parametrize("block", ["pretrain", "finetune"])
def test_how_a_batch_is_computed_makes_no_other_run(experiment, block: str, change: str) -> None:
    plain, other = plan(experiment(MODELS)).runs, plan(experiment(MODELS, f"{block}.{change}")).runs
    assert [run.id for run in other] == [run.id for run in plain]
    assert not any(key in run.spec.get(block, {}) for run in other for key in SETTINGS)


@pytest.mark.parametrize(
    "key", ["pretrain.attention", "finetune.attention", "finetune.graphs", "strategy", "run_hours"]
)
def test_a_key_that_is_gone_is_said_in_one_line(experiment, key: str) -> None:
    with pytest.raises(InputError, match=f"override {key}=auto: key '{key}' is gone: .*; leave it out$"):
        experiment(MODELS, f"{key}=auto")


@pytest.mark.parametrize(("block", "kinds"), [("pretrain", {"pretrain", "finetune"}), ("finetune", {"finetune"})])
def test_the_precision_makes_another_run(experiment, block: str, kinds: set[str]) -> None:
    """And another measurement; a fine-tuning goes on from another pre-training."""
    plain, other = plan(experiment(MODELS)).runs, plan(experiment(MODELS, f"{block}.precision=bf16")).runs
    changed = {new.kind for old, new in zip(plain, other, strict=True) if old.id != new.id}
    assert changed == kinds | {"efficiency"}


def test_the_keys_are_all_of_one_kind() -> None:
    assert set(DEFAULT) - SETTINGS == {"precision"}


@pytest.mark.parametrize("change", ["micro_batch_size=0", "micro_batch_size=some", "precision=tf32"])
def test_impossible_values_are_refused(experiment, change: str) -> None:
    with pytest.raises(InputError, match=f"finetune.{change.partition('=')[0]}"):
        plan(experiment(MODELS, f"finetune.{change}"))


@pytest.mark.parametrize("other", ["streaming", "first_chunk_only"])
def test_rows_of_words_are_neither_a_stream_nor_one_an_article(other: str) -> None:
    with pytest.raises(ValueError, match=f"words_per_row: {other} has rows of its own; leave one of them out"):
        Pretrain(words_per_row=128, **{other: True})


def test_rows_of_words_enter_the_identity_where_they_are_written() -> None:
    specs = [{"pretrain": Pretrain(**recipe).model_dump()} for recipe in ({}, {"words_per_row": 128})]
    without = {"pretrain": {k: v for k, v in specs[0]["pretrain"].items() if k != "words_per_row"}}
    assert run_id(specs[0]) == run_id(without) != run_id(specs[1])


def test_any_list_of_values_is_searched_and_a_combination_has_one_value_each() -> None:
    wanted = Finetune(learning_rate=1e-4, epochs=(3, 1), schedule=("linear", "constant"), betas=(0.9, 0.98))
    assert wanted.searches and not Finetune(learning_rate=1e-4).searches
    tried = [(recipe.epochs, recipe.schedule, recipe.betas) for recipe in wanted.recipes()]
    assert tried == [(epochs, name, (0.9, 0.98)) for epochs in (1, 3) for name in ("linear", "constant")]
    assert wanted.largest.epochs == 3 and len(Finetune(learning_rate=1e-4).recipes()) == 1
    assert wanted.model_dump()["epochs"] == (3, 1)  # as it is stored


@pytest.mark.parametrize(
    "values", [{"epochs": (3,)}, {"epochs": ()}, {"batch_size": (8, 8)}, {"epochs": (1, 0)}, {"max_length": (8, 16)},
               {"select_metric": ("accuracy", "f1")}],
)  # fmt: skip
def test_a_list_that_is_no_search_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Finetune(**values)
