"""Sizes of the models of a plan, and those that stand outside its budget."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.running.experiment.load import load_experiment
from hashbench.running.sweep.measuring import size_rows
from hashbench.running.sweep.plan import Plan, plan

FILE = """
name: sizes
data: builtin
encoder: tiny
models: [hash-emb-k2, bert-sr, hashformer-md-proj]
tasks: [cola]
pretrain: {corpora: [builtin], steps: 2, batch_size: 2, sequence_length: 16, vocabulary_size: 500}
"""


def planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str) -> Plan:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    Path("a.yaml").write_text(FILE + lines)
    return plan(load_experiment("a.yaml"))


def test_a_plan_has_the_size_of_each_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = planned(tmp_path, monkeypatch, "budget: {embedding_parameters: 230_000}")
    rows = size_rows(made.resolved)
    # 17,152 = 128 x 128 + 6 x 128: a matrix, five special tokens and the row of every ordinary token
    assert [(row["model"], row["free_size"], row["emb_params"]) for row in rows] == [
        ("hash-emb-k2", "num_buckets 1,011", 230_048),
        ("bert-sr", "num_rows 1,797", 230_016),
        ("hashformer-md-proj", None, 17_152),
    ]
    others = {row["total_params"] - row["emb_params"] for row in rows}
    assert len(others) == 1  # one encoder and one head
    assert all(row["bytes"] == 4 * row["total_params"] for row in rows)


def test_earlier_steps_of_a_pre_training_are_no_models_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = FILE.replace("steps: 2,", "steps: 3, checkpoints: [1, 2],")
    monkeypatch.setattr(f"{__name__}.FILE", lines)
    made = planned(tmp_path, monkeypatch, "")
    assert len(made.resolved.models) > 3
    assert [row["model"] for row in size_rows(made.resolved)] == ["hash-emb-k2", "bert-sr", "hashformer-md-proj"]


def test_the_models_outside_the_budget_are_named_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = planned(tmp_path, monkeypatch, "budget: {embedding_parameters: 230_000}")
    notes = [note for note in made.notes if "outside the budget" in note]
    assert len(notes) == 1 and "hashformer-md-proj (17,152)" in notes[0] and "hash-emb-k2" not in notes[0]


@pytest.mark.parametrize("lines", ["", "budget: {embedding_parameters: [17_000, 230_000]}"])
def test_nothing_is_outside_without_a_budget_or_by_its_own_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str
) -> None:
    lines = f"{lines}\nmodels: [hash-emb-k1-sum, hashformer-md-proj]".lstrip()
    monkeypatch.setattr(f"{__name__}.FILE", FILE.replace("models: [hash-emb-k2, bert-sr, hashformer-md-proj]\n", ""))
    made = planned(tmp_path, monkeypatch, lines)
    assert not [note for note in made.notes if "outside the budget" in note]
