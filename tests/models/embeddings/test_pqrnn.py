"""PRADO and pQRNN: published counts, and what the named models are made of."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from hashbench.models.embeddings.base import ModelSpec
from hashbench.models.embeddings.pqrnn import as_released
from hashbench.models.embeddings.registry import find_model, groups
from hashbench.running.efficiency.parameters import count


@pytest.mark.parametrize(("classes", "total"), [(28, 111_316), (7, 108_565), (5, 108_303)])
def test_prado_has_the_parameters_of_the_public_configurations(classes: int, total: int) -> None:
    counts = count(find_model("prado"), "base", n_classes=classes)
    assert (counts.total, counts.embedding) == (total, 65_920)
    # what is in use lacks the scale and shift of the outputs
    assert count(find_model("prado"), n_classes=classes, deployed=True).total == total - 2 * classes


def test_both_public_configurations_are_frames_of_one_model() -> None:
    spec = find_model("prado")
    assert count(spec).total == 111_316
    assert [count(spec, frame=frame).total for frame in spec.origin.other_frames] == [108_565]


def sized(features: int, dim: int, state: int, layers: int, kernel: int) -> ModelSpec:
    """pQRNN with these sizes."""
    values = {"dim": dim, "state": state, "layers": layers, "kernel": kernel}
    return find_model("pqrnn").with_args(code={"features": features}, encoder=values)


@pytest.mark.parametrize(
    ("sizes", "projection", "total"),
    [
        ((512, 64, 64, 2, 3), 32_960, 256_841),
        ((512, 256, 64, 2, 3), 131_840, 576_905),
        ((512, 256, 128, 2, 3), 131_840, 1_316_873),
        ((512, 256, 128, 4, 2), 131_840, 1_714_697),
        ((1_024, 256, 128, 4, 2), 262_912, 1_845_769),
    ],
)
def test_pqrnn_has_the_parameters_of_the_formula(sizes: tuple[int, ...], projection: int, total: int) -> None:
    """F b + 3 b + sum of 2 gates (k in S + 3 S) + 2 S + 3 + 2 S C + 3 C, C = 2."""
    counts = count(sized(*sizes))
    assert (counts.total, counts.embedding) == (total, projection)
    assert count(sized(*sizes), deployed=True).total == total - 7


def test_pqrnn_is_the_last_row_of_the_sheet_and_its_tiny_one_near_the_tiny_encoder() -> None:
    assert count(find_model("pqrnn"), "tiny").total == 1_845_769
    assert count(find_model("pqrnn-tiny"), "base").total == 65_920 + 297_216 + 131 + 262
    tiny = count(find_model("bert-tiny"), "tiny", deployed=True)
    assert 0.7 < (65_920 + 297_216) / (tiny.total - tiny.embedding) < 1.1


def test_named_models_are_trained_on_the_task_alone() -> None:
    named = [find_model(name) for name in groups()["pqrnns"]]
    assert [spec.name for spec in named] == ["prado", "pqrnn", "pqrnn-tiny"]
    for spec in named:
        assert spec.training.objective is None and not spec.head.dense
        assert spec.text.tokenizer == "spaces" and spec.code.coder == "ternary-projection"


def test_a_count_of_other_classes_needs_no_other_head() -> None:
    spec = find_model("pqrnn-tiny")
    other = replace(spec, origin=replace(spec.origin, counted=partial(as_released, classes=5)))
    assert count(other).total == count(spec, n_classes=5).total
