"""The meaning of a kind's metrics, as it is stored and as names tell it."""

from __future__ import annotations

import pytest

from hashbench.store.kinds import metrics_of


@pytest.mark.parametrize(
    ("kind", "metrics"),
    [("finetune", "training"), ("floor", "training"), ("evaluation-pairs", "evaluation"), ("robustness", "none")],
)
def test_kinds_of_the_suite_are_known_by_name(kind: str, metrics: str) -> None:
    assert metrics_of(kind, {}) == metrics


def test_what_is_stored_counts_and_an_unknown_word_is_no_score() -> None:
    assert metrics_of("probe", {"probe": "evaluation"}) == "evaluation"
    assert metrics_of("probe", {"probe": "../x"}) == "none"
