"""Held-out rows of a pre-training: its loss there, and how well it tells tokens apart."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from hashbench.common.measured import HELD_OUT, SEPARATION
from hashbench.models.embeddings.base import Batch
from hashbench.models.objectives.base import Head
from hashbench.models.objectives.shuffle_random import TokenHead
from hashbench.running.training.pretraining import area, held_out


@pytest.mark.parametrize("seed", range(5))
def test_the_area_is_that_of_scikit_learn(seed: int) -> None:
    random = np.random.RandomState(seed)
    scores, positive = random.randint(0, 9, 60) / 4, random.rand(60) < 0.3
    assert area(scores, positive) == pytest.approx(roc_auc_score(positive, scores))
    assert np.isnan(area(scores, np.zeros(60, bool)))


class States:
    """A model whose states are given: those of the tokens of the batch that comes next."""

    def __init__(self) -> None:
        self.embedding = None

    def eval(self) -> States:
        return self

    def to(self, device: torch.device) -> States:
        return self

    def __call__(self, batch) -> torch.Tensor:
        return batch.states


class Given:
    """A batch of two rows of three tokens; the last of the second row is padding."""

    labels = torch.tensor([[0, 1, 2], [1, 0, -100]])
    states = torch.tensor([[[0.0], [2.0], [9.0]], [[1.0], [1.0], [5.0]]])

    def to(self, device: torch.device) -> Given:
        return self


def test_random_tokens_and_padding_are_not_separation_and_the_loss_is_a_mean_over_labels() -> None:
    head = TokenHead(1, 0.5)
    with torch.no_grad():
        head.out.weight.copy_(torch.tensor([[0.0], [1.0], [0.0]]))
        head.out.bias.zero_()
    loss, told = held_out(States(), head, [Given()], step=7, device=torch.device("cpu"))
    assert (loss.split, loss.step, told.split, told.name) == (HELD_OUT, 7, HELD_OUT, SEPARATION)
    assert told.value == 0.875  # shuffled score 2 and 1, intact ones 0 and 1
    logits = torch.tensor([[0.0, 0, 0], [0, 2, 0], [0, 9, 0], [0, 1, 0], [0, 1, 0]])
    expected = torch.nn.functional.cross_entropy(logits, torch.tensor([0, 1, 2, 1, 0]))
    assert loss.value == pytest.approx(float(expected))
    assert not head.training


def test_no_rows_no_scores() -> None:
    assert held_out(States(), TokenHead(1, 0.0), [], step=1, device=torch.device("cpu")) == []


class Chosen(Head):
    """A head whose likeliest candidate at the i-th label is given, with a loss of i among the candidates."""

    def __init__(self, likeliest: list[int]) -> None:
        super().__init__()
        self.likeliest = torch.tensor(likeliest)

    def batch_loss(self, model, batch, logits) -> torch.Tensor:
        return torch.tensor(2.0)

    def among(self, model, batch, candidates) -> tuple[torch.Tensor, torch.Tensor]:
        return self.likeliest, torch.arange(len(self.likeliest)).float()


def test_accuracies_are_shares_of_all_labels_and_of_those_outside_the_frequent_types(monkeypatch) -> None:
    monkeypatch.setattr("hashbench.running.training.pretraining.FREQUENT", 2)
    candidates = np.array([[1, 1], [1, 2], [2, 1], [2, 2]], np.int32)
    batch = Batch(
        torch.zeros(1, 1), torch.zeros(1, 4).long(), torch.ones(1, 4).bool(), labels=torch.tensor([[0, -100, 1, 2]]),
        label_codes=torch.tensor([[1, 2], [2, 1], [7, 7]], dtype=torch.int32),
    )  # fmt: skip
    model = torch.nn.Identity()
    rows = held_out(model, Chosen([1, 2, 0]), [batch], candidates, step=7, device=torch.device("cpu"))
    # the first label is frequent and hit, the second is neither of the first two and hit, the third is no candidate
    assert {row.name: row.value for row in rows} == {
        "loss": 2.0,
        "accuracy": pytest.approx(2 / 3),
        "accuracy_outside_1000": pytest.approx(1 / 2),
        "loss_among_candidates": pytest.approx((0 + 1) / 2),
    }
