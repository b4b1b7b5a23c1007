"""running/experiment/schema.py: the paper's defaults, and help for every key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from hashbench.data.tasks.blocks import TaskEntry
from hashbench.models.encoders.transformer import SHAPES
from hashbench.models.names import EncoderSize
from hashbench.running.experiment.file_blocks import Efficiency, Robustness, Tracking
from hashbench.running.experiment.recipes import Finetune, Pretrain
from hashbench.running.experiment.schema import Experiment, ModelEntry, fields_of, json_schema

BLOCKS = [Experiment, Pretrain, Finetune, Efficiency, Tracking, ModelEntry, TaskEntry]
EXPERIMENTS = Path(__file__).parents[3] / "experiments"


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.__name__)
def test_every_key_is_documented(block: type) -> None:
    undocumented = [name for name, field in fields_of(block).items() if not field.description]
    # the two sizes of an efficiency batch say everything by their names
    assert set(undocumented) <= {"infer_batch_size"}


def test_pretraining_defaults_are_those_of_the_paper() -> None:
    """HashFormers, section 4.2 and table 4."""
    p = Pretrain()
    assert (p.steps, p.max_epochs, p.batch_size, p.sequence_length) == (500_000, 10, 128, 512)
    assert (p.betas, p.eps, p.weight_decay, p.vocabulary_size) == ((0.9, 0.9999), 1e-8, 0.01, 50_265)


def test_finetuning_defaults_are_those_of_the_paper() -> None:
    """HashFormers, table 5; cycles and length from the released code."""
    f = Finetune()
    assert (f.epochs, f.batch_size, f.warmup_fraction, f.restart_cycles, f.max_length) == (5, 32, 0.06, 5, 128)
    assert (f.betas, f.eps, f.weight_decay, f.schedule) == ((0.9, 0.999), 1e-6, 0.0, "cosine_restarts")


def test_a_grid_names_a_rate_once() -> None:
    assert Finetune(learning_rate=(1e-3, 1e-4)).learning_rate == (1e-3, 1e-4)
    with pytest.raises(ValidationError, match=r"rate 0\.001 stands twice in the list; keep one of them"):
        Finetune(learning_rate=(1e-3, 1e-4, 0.001))


def keys() -> list[tuple[str, dict[str, Any]]]:
    """Every key of an experiment file with its JSON Schema, blocks included."""
    schema = json_schema()
    blocks = {"Experiment": schema, **schema["$defs"]}
    return [(f"{block}.{key}", entry) for block, each in blocks.items() for key, entry in each["properties"].items()]


def test_every_key_has_a_help_text_that_speaks_of_null_only_where_null_is_allowed() -> None:
    assert len(keys()) > 100
    for key, entry in keys():
        assert entry.get("description"), key
        allows_null = entry.get("type") == "null" or {"type": "null"} in entry.get("anyOf", [])
        assert allows_null or "null" not in entry["description"], key
        assert allows_null or entry.get("default", "") is not None, key


def test_sizes_that_the_command_line_takes_are_those_of_the_encoders() -> None:
    assert get_args(EncoderSize) == tuple(SHAPES)


def test_the_stored_schema_is_the_programs() -> None:
    """What editors read beside the experiment files; written by docs/generate.py"""
    stored = json.loads((EXPERIMENTS / "schema.json").read_text())
    stored.pop("$schema")
    assert stored == json_schema()


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"perturbations": ("swap", "case", "swap")}, "perturbations: swap stands twice; keep one of them"),
        ({"rates": (0.1, 0.2, 0.1)}, "rates: 0.1 stands twice; keep one of them"),
        ({"rates": (0.0,)}, "rates: only 0; give a share of words to change, as 0.1"),
        ({"rates": (1.1,)}, "less than or equal to 1"),
        ({"perturbations": ()}, "perturbations: is empty; name one, as swap, or give pairs"),
        ({"perturbations": ("swop",)}, "'swap', 'delete'"),
        ({"seeds": 0}, "seeds"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(block: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Robustness.model_validate(block)


@pytest.mark.parametrize(
    ("rates", "all_rates"), [((0.2, 0.05), (0.0, 0.05, 0.2)), ((0.0, 1.0), (0.0, 1.0)), ((0.1, 0.0), (0.0, 0.1))]
)
def test_the_text_as_it_is_is_always_evaluated(rates: tuple[float, ...], all_rates: tuple[float, ...]) -> None:
    assert Robustness(rates=rates).all_rates == all_rates


@pytest.mark.parametrize(
    "block",
    [{"pairs": 0}, {"width": 0.0}, {"limit_s": -1.0}, {"repeats": 0}, {"pretrain_length": 7}, {"batch_size": 8}],
)
def test_a_measurement_of_nothing_is_refused(block: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match=next(iter(block))):
        Efficiency.model_validate(block)


@pytest.mark.parametrize(
    ("given", "seconds"), [({}, 1800.0), ({"hang_minutes": 45}, 2700.0), ({"hang_minutes": "off"}, None)]
)
def test_a_run_hangs_after_half_an_hour_later_or_never(given: dict[str, object], seconds: float | None) -> None:
    assert Experiment.model_validate({"name": "x", "models": ["bert-mlm"], **given}).hang_s == seconds


@pytest.mark.parametrize("given", [0, 29.9, -1, "never", None, float("nan"), float("inf"), False])
def test_no_shorter_limit_of_silence_is_taken(given: object) -> None:
    with pytest.raises(ValidationError, match="hang_minutes"):
        Experiment.model_validate({"name": "x", "models": ["bert-mlm"], "hang_minutes": given})
