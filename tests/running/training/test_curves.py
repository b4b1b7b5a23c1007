"""Curves of a training, and a loss that is no number any more."""

import pytest
import torch

from hashbench.common.measured import MetricRow
from hashbench.running.training.module import Curves, NotFinite


def test_the_mean_of_the_losses_between_two_points_is_a_point():
    curves = Curves(total_steps=200)  # a point every other step
    for step, loss in enumerate((1.0, 2.0, 4.0, 8.0), 1):
        curves.add_loss(torch.tensor(loss), step)
    assert [(point.step, point.value) for point in curves.points] == [(2, 1.5), (4, 6.0)]


@pytest.mark.parametrize("loss", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_ends_the_training_and_says_where(loss):
    curves = Curves(total_steps=200)
    curves.add_loss(torch.tensor(loss), 1)
    with pytest.raises(NotFinite, match=f"^the loss is {loss} at steps 1 to 2; try a smaller learning_rate$"):
        curves.add_loss(torch.tensor(1.0), 2)
    with pytest.raises(NotFinite, match=f"^the loss is {loss} at step 1; "):
        Curves(total_steps=10).add_loss(torch.tensor(loss), 1)


def test_points_are_numbered_over_all_attempts() -> None:
    numbers: list[int] = []
    first = Curves(10, lambda values, step, total, before: numbers.append(before))
    for step in range(3):
        first.add(MetricRow("loss", 1.0, "train", step))
    second = Curves(10, lambda values, step, total, before: numbers.append(before))
    second.restore(first.plain())
    second.add(MetricRow("loss", 1.0, "train", 3))
    assert numbers == [0, 1, 2, 3]
