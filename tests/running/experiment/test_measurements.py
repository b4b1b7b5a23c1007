from __future__ import annotations

import pytest
from pydantic import ValidationError

from hashbench.running.experiment.measurements import Efficiency, Robustness


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"perturbations": ("swap", "case", "swap")}, "perturbations: swap stands twice; keep one of them"),
        ({"rates": (0.1, 0.2, 0.1)}, "rates: 0.1 stands twice; keep one of them"),
        ({"rates": (0.0,)}, "rates: only 0; give a share of words to change, as 0.1"),
        ({"rates": (1.1,)}, "less than or equal to 1"),
        ({"perturbations": ()}, "at least 1 item"),
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
