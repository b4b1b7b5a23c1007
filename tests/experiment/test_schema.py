"""experiment/schema.py: the paper's defaults, and help for every key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from hashbench.experiment.schema import Efficiency, Experiment, Finetune, ModelEntry, Pretrain, TaskEntry, Tracking

BLOCKS = [Experiment, Pretrain, Finetune, Efficiency, Tracking, ModelEntry, TaskEntry]
EXPERIMENTS = Path(__file__).parents[2] / "experiments"


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.__name__)
def test_every_key_is_documented(block: type) -> None:
    undocumented = [name for name, field in block.model_fields.items() if not field.description]
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


def test_help_texts_say_what_the_program_does() -> None:
    assert Efficiency.model_fields["infer_batch_size"].description == "rows of a timed forward pass, on one device"
    assert ".hashbench/wandb" in str(Tracking.model_fields["wandb"].description)


def test_the_stored_schema_is_the_programs() -> None:
    """What editors read beside the experiment files; made by: hashbench schema > experiments/schema.json"""
    stored = json.loads((EXPERIMENTS / "schema.json").read_text())
    stored.pop("$schema")
    assert stored == Experiment.model_json_schema()
