"""The budgets that an experiment recorded, and the one of each label."""

from __future__ import annotations

from typing import Any

import pytest

from hashbench.results.tables.breakdowns import recorded_budgets

SEVERAL = {"embedding_parameters": [1_500, 230_000, 2_000_000]}


@pytest.mark.parametrize(
    ("label", "parts"),
    [
        ("a-b-1.5k", ("a-b", 1_500)),
        ("x-0.23M", ("x", 230_000)),
        ("x-2M-2M", ("x-2M", 2_000_000)),
        ("x-2M", ("x-2M", None)),  # so called in the file
        ("y-4M", ("y-4M", None)),  # no budget of this experiment
        ("own", ("own", 800_000)),
        ("1.5k", ("1.5k", None)),
    ],
)
def test_the_budget_of_a_label(label: str, parts: tuple[str, int | None]) -> None:
    own = {"name": "own", "budget": {"embedding_parameters": 800_000}}
    config = {"budget": SEVERAL, "models": ["a-b", "x", {"name": "x-2M", "budget": None}, own]}
    assert recorded_budgets(config).of(label) == parts


@pytest.mark.parametrize("config", [{}, {"models": []}, {"budget": None, "models": ["x-2M"]}])
def test_without_budgets_every_model_has_one_size(config: dict[str, Any]) -> None:
    assert recorded_budgets(config).of("x-2M") == ("x-2M", None)


def test_under_a_single_budget_a_model_is_at_it_by_its_parameters() -> None:
    own = {"name": "own", "budget": {"embedding_parameters": 2_000_000}}
    budgets = recorded_budgets({"budget": {"embedding_parameters": 800_000}, "models": ["x", "bytes", own]})
    assert budgets.of("x", 815_999) == ("x", 800_000)
    assert budgets.of("family-member", 784_001) == ("family-member", 800_000)
    assert budgets.of("bytes", 33_152) == budgets.of("bytes") == ("bytes", None)
    assert budgets.of("own", 2_000_100) == ("own", 2_000_000)
