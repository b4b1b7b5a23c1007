"""running/experiment/resolved.py: needs of a model, and the rows that `check` prints."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hashbench.models.coders.rows import Vocabulary
from hashbench.models.embeddings.base import ModelSpec
from hashbench.models.embeddings.registry import find_model
from hashbench.models.text.wordpieces import WordPieceTokenizer
from hashbench.running.experiment.resolved import (
    model_rows,
    needs_corpus,
    pass_before,
    read_without_corpus,
    task_rows,
)
from hashbench.running.sweep.plan import plan


@pytest.fixture
def vocabulary(tmp_path: Path) -> str:
    file = tmp_path / "vocab.txt"
    file.write_text("\n".join(["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]", "low", "##er"]))
    return str(file)


def spec_of(name: str, **changes: Any) -> ModelSpec:
    """A named model with these values of its text and training parts over its own."""
    spec = find_model(name)
    text = {key: value for key, value in changes.items() if key in ("tokenizer", "args")}
    training = {key: value for key, value in changes.items() if key not in text}
    return replace(spec, text=replace(spec.text, **text), training=replace(spec.training, **training))


@pytest.mark.parametrize(
    ("name", "changes", "needed"),
    [
        ("hashformer-md-proj", {}, True),  # it is pre-trained
        ("hashformer-md-proj", {"objective": None}, False),  # words, and bits of their MD5
        ("hashformer-lsh-proj", {"objective": None}, True),  # its coder is fitted
        ("bert-mlm", {"objective": None}, True),  # its BPE is trained
        ("superbloom-hash10-11", {}, False),  # its items are those of the page links
        ("bert-mlm", {"objective": None, "args": {"learn_on": ["corpus", "tasks"]}}, True),
        ("bert-mlm", {"objective": None, "args": {"learn_on": ["tasks"]}}, False),  # its rows are the pieces
        ("bert-mlm", {"args": {"learn_on": ["tasks"]}}, True),
    ],
)
def test_a_model_needs_the_corpora_for_weights_pieces_or_its_coder(
    name: str, changes: dict[str, Any], needed: bool
) -> None:
    assert needs_corpus(spec_of(name, **changes)) is needed


def test_with_published_weights_only_pieces_that_must_be_trained_need_the_corpora(vocabulary: str) -> None:
    given = {"tokenizer": "wordpieces", "args": {"vocab": vocabulary}}
    without = {"objective": None, "weights": "a/folder"}
    assert not needs_corpus(spec_of("bert-mlm", **given, **without))
    assert needs_corpus(spec_of("bert-mlm", **without))
    assert needs_corpus(spec_of("bert-mlm", **given, objective=None))  # without weights its vocabulary is counted


def test_a_vocabulary_is_that_of_the_given_pieces(vocabulary: str) -> None:
    tokenizer, coder = read_without_corpus(
        spec_of("bert-mlm", tokenizer="wordpieces", args={"vocab": vocabulary}, objective=None)
    )
    assert isinstance(tokenizer, WordPieceTokenizer) and isinstance(coder, Vocabulary)
    low, er, unknown = coder.encode(["low", "##er", "zebra"])[:, 0].tolist()
    assert len({low, er, unknown}) == 3


def test_other_coders_are_made_as_the_spec_says() -> None:
    tokenizer, coder = read_without_corpus(spec_of("hashformer-md-proj", objective=None))
    assert tokenizer.tokenize("Don't") == ["don", "'", "t"] and coder.name == "md5-bits"


@pytest.mark.parametrize(
    ("name", "changes", "reason"),
    [
        ("hashformer-md-proj", {}, ""),
        ("hashformer-md-proj", {"objective": None}, ""),
        ("bert-mlm", {}, "its BPE is trained on them"),
        ("bert-mlm", {"args": {"learn_on": ["sst2"]}, "objective": "shuffle_random"}, ""),
        ("hashformer-lsh-proj", {}, "coder lsh-bits learns from them what there is"),
        ("hashformer-md-proj", {"objective": "mlm"}, "objective mlm predicts rows of a table of all types"),
    ],
)
def test_a_pass_over_all_texts_comes_before_what_is_made_of_all_types(
    name: str, changes: dict[str, Any], reason: str
) -> None:
    assert pass_before(spec_of(name, **changes)) == reason


TWO_MODELS = """\
models:
  - {name: proj, like: hashformer-md-proj, objective: none}
  - {name: mlm, like: bert-mlm, finetune: {steps: 30, learning_rate: [1.0e-3, 0.0005]}}
"""


def test_a_value_that_has_no_meaning_is_left_out(experiment) -> None:
    resolved = plan(experiment(TWO_MODELS)).resolved
    proj, mlm = model_rows(resolved)
    assert (proj["model"], proj["coder"], proj["objective"]) == ("proj", "md5-bits", "none")
    assert (proj["steps"], proj["pretrain_lr"], proj["warmup"], proj["finetune_steps"]) == (None, None, None, None)
    assert mlm["objective"] == "mlm" and mlm["steps"] and mlm["pretrain_lr"]
    assert (mlm["epochs"], mlm["finetune_steps"], mlm["finetune_lr"]) == (None, 30, "0.001, 0.0005")


@pytest.mark.parametrize(
    ("noise", "shown"),
    [
        ("noise: {kind: distortion, rate: 0.25}", "distortion 0.25"),
        ("per_task: {cola: {noise: {kind: keyboard, rate: 0.5}}}", "keyboard 0.5 (cola)"),
        (
            "noise: {kind: distortion, rate: 0.25}, per_task: {cola: {noise: {kind: keyboard, rate: 0.5}}}",
            "distortion 0.25 (sst2); keyboard 0.5 (cola)",
        ),
        ("noise: {kind: distortion, rate: 0.25}, per_task: {cola: {noise: null}}", "distortion 0.25 (sst2)"),
    ],
)
def test_noise_in_training_texts_is_a_column_where_a_model_has_some(experiment, noise: str, shown: str) -> None:
    models = f"""\
models:
  - {{name: proj, like: hashformer-md-proj, objective: none}}
  - {{name: noisy, like: hashformer-md-proj, objective: none, finetune: {{{noise}}}}}
"""
    plain, noisy = model_rows(plan(experiment(models, "tasks=[sst2,cola]")).resolved)
    assert (plain["noise"], noisy["noise"]) == (None, shown)
    assert "noise" not in model_rows(plan(experiment(TWO_MODELS)).resolved)[0]


def test_a_task_stands_with_its_source_and_data(experiment) -> None:
    resolved = plan(experiment(TWO_MODELS)).resolved
    row = task_rows(resolved)[0]
    assert (row["task"], row["from"], row["metric"]) == ("cola", "built-in data", "matthews")
    assert row["data"] == resolved.tasks[0].fingerprint[:8]


def test_runs_are_counted_by_kind(experiment) -> None:
    planned = plan(experiment(TWO_MODELS))
    first, *kinds = planned.counts.replace(":", ",").split(", ")
    assert first == f"{len(planned.runs)} runs" and sum(int(each.split()[0]) for each in kinds) == len(planned.runs)
