"""The head of words: which states it reads, what its loss is the mean over, and what it counts."""

from __future__ import annotations

import pytest
import torch

from hashbench.models.objectives.heads import TaggingHead

TAGS = ["O", "B-a", "I-a"]
LABELS = torch.tensor([[1, 2, 0], [0, 1, -100]])
PLACES = torch.tensor([[1, 3, -1], [1, 2, -1]])


@pytest.fixture
def head() -> TaggingHead:
    torch.manual_seed(0)
    return TaggingHead(4, TAGS).eval()


def test_a_word_is_scored_by_the_state_at_its_place(head: TaggingHead) -> None:
    states = torch.randn(2, 5, 4)
    scores = head(states, None, PLACES)
    torch.testing.assert_close(scores[0, 1], head.out(states[0, 3]))
    torch.testing.assert_close(scores[1, 0], head.out(states[1, 1]))


def test_the_loss_is_the_mean_over_words_with_a_place(head: TaggingHead) -> None:
    scores = torch.randn(2, 3, 3)
    words = [(0, 0, 1), (0, 1, 2), (1, 0, 0), (1, 1, 1)]
    by_hand = -sum(scores[row, at].log_softmax(-1)[tag] for row, at, tag in words) / 4
    assert head.loss(scores, LABELS, PLACES).item() == pytest.approx(by_hand.item(), rel=1e-6)


def test_without_a_word_the_loss_is_zero_and_has_a_gradient(head: TaggingHead) -> None:
    scores = torch.randn(1, 1, 3, requires_grad=True)
    loss = head.loss(scores, torch.tensor([[-100]]), torch.tensor([[-1]]))
    loss.backward()
    assert loss.item() == 0 and torch.equal(scores.grad, torch.zeros(1, 1, 3))


def test_a_word_without_a_place_is_outside_and_counts(head: TaggingHead) -> None:
    scores = torch.nn.functional.one_hot(torch.tensor([[1, 2, 1], [0, 1, 1]]), 3).float()
    # row 0: the span of two words is right, its third word has no place; row 1: right, and no third word
    assert head.counts(scores, LABELS, PLACES).tolist() == [[1, 1, 3, 3], [1, 1, 2, 2]]
    labels = torch.tensor([[1, 2, 1], [0, 1, -100]])  # a span is where no word has a place
    assert head.counts(scores, labels, PLACES).tolist() == [[1, 1, 3, 2], [1, 1, 2, 2]]
