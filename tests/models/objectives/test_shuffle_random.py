"""Shuffle + Random against loops and expected shares, and its head."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hashbench.common.splitmix import random_bits
from hashbench.models.objectives.shuffle_random import ORDER, TokenHead, corrupt
from tests.oracles import corruption as oracle

N_TYPES = 1000


def rows(n: int, length: int, n_types: int = N_TYPES) -> np.ndarray:
    """Type ids between <s> (-1) and </s> (-3), with padding (-2) behind in every second row."""
    ids = np.random.default_rng(0).integers(0, n_types, size=(n, length)).astype(np.int32)
    ids[:, 0], ids[:, -1] = -1, -3
    ids[1::2, length // 2 :] = -2
    return ids


@pytest.mark.parametrize(("p", "q"), [(0.1, 0.1), (0.5, 0.5), (1.0, 0.0), (0.0, 1.0)])
@pytest.mark.parametrize("n_types", [3, N_TYPES])
def test_equals_the_loop(p: float, q: float, n_types: int) -> None:
    ids, row_ids = rows(20, 40, n_types), np.arange(20) * 13 + 5
    values = {"seed": 3, "epoch": 2, "n_types": n_types}
    corrupted, labels = corrupt(ids, row_ids, shuffle_prob=p, random_prob=q, **values)
    assert corrupted.dtype == labels.dtype == np.int32
    for row, row_id in enumerate(row_ids.tolist()):
        expected = oracle.shuffled(ids[row].tolist(), row=row_id, p=p, q=q, batch_order=None, **values)
        assert (corrupted[row].tolist(), labels[row].tolist()) == expected


def test_released_equals_the_loop() -> None:
    """One permutation for the batch, whose key is its first row; no-ops keep the label of their choice."""
    ids, row_ids = rows(20, 40), np.arange(20) * 13 + 5
    corrupted, labels = corrupt(ids, row_ids, seed=3, epoch=2, n_types=N_TYPES, released=True)
    keys = random_bits(3, 2, row_ids[:1], 40, ORDER)[0].tolist()
    order = sorted(range(40), key=lambda column: keys[column])
    for row, row_id in enumerate(row_ids.tolist()):
        expected = oracle.shuffled(
            ids[row].tolist(), seed=3, epoch=2, row=row_id, n_types=N_TYPES, p=0.1, q=0.1, batch_order=order
        )
        assert (corrupted[row].tolist(), labels[row].tolist()) == expected


def test_shares() -> None:
    """10 % shuffled, 9 % random, 81 % intact, but for the few that did not change (fixed points, equal types)."""
    ids = rows(2000, 200)
    _, labels = corrupt(ids, np.arange(2000), seed=0, epoch=0, n_types=N_TYPES)
    found = labels[ids >= 0]
    shares = np.bincount(found, minlength=3) / found.size
    # a row of 148.5 ordinary tokens on average: 1 / 99 or 1 / 198 of the shuffled are fixed points, 1 / 1000 equal
    assert shares == pytest.approx([0.811, 0.099, 0.090], abs=0.003)


def test_released_shares() -> None:
    """Measured with the released collators on rows without padding: 10.0 / 9.1 / 80.9 %."""
    ids = np.random.default_rng(0).integers(0, N_TYPES, size=(2000, 128)).astype(np.int32)
    _, labels = corrupt(ids, np.arange(2000), seed=0, epoch=0, n_types=N_TYPES, released=True)
    assert np.bincount(labels.ravel()) / labels.size == pytest.approx([0.81, 0.10, 0.09], abs=0.003)


def test_half_padding_leaves_half_of_the_released_shuffles_unchanged() -> None:
    """51 % in a batch that is half padding, measured with the released collators."""
    ids = np.random.default_rng(0).integers(0, 10**6, size=(3000, 128)).astype(np.int32)
    ids[:, 64:] = -2
    unchanged = []
    for start in range(0, 3000, 30):
        part, row_ids = ids[start : start + 30], np.arange(start, start + 30)
        corrupted, labels = corrupt(part, row_ids, seed=0, epoch=0, n_types=10**6, released=True)
        unchanged.append((corrupted == part)[labels == 1].mean())
    assert np.mean(unchanged) == pytest.approx(0.51, abs=0.03)


def test_shuffled_tokens_come_from_their_row_and_specials_stay() -> None:
    ids = rows(100, 60)
    corrupted, labels = corrupt(ids, np.arange(100), seed=0, epoch=0, n_types=N_TYPES)
    assert np.array_equal(corrupted[ids < 0], ids[ids < 0]) and (labels[ids < 0] == -100).all()
    assert (corrupted[ids >= 0] >= 0).all() and (corrupted < N_TYPES).all()
    for row in range(100):
        assert set(corrupted[row][labels[row] == 1]) <= set(ids[row])
    changed = corrupted != ids
    assert np.array_equal(changed, labels > 0)


def test_shuffling_everything_is_a_permutation_of_the_ordinary_tokens() -> None:
    ids = rows(50, 30)
    corrupted, _ = corrupt(ids, np.arange(50), seed=0, epoch=0, n_types=N_TYPES, shuffle_prob=1.0)
    assert np.array_equal(np.sort(corrupted, 1), np.sort(ids, 1))
    assert not np.array_equal(corrupted, ids)


def test_a_row_does_not_depend_on_its_batch_or_padding() -> None:
    ids = rows(6, 30)
    whole = corrupt(ids, np.arange(6), seed=1, epoch=4, n_types=N_TYPES)
    alone = corrupt(ids[[3]][:, :15], np.array([3]), seed=1, epoch=4, n_types=N_TYPES)
    for all_rows, one in zip(whole, alone, strict=True):
        assert np.array_equal(all_rows[3, :15], one[0])


def test_rows_of_special_tokens_alone() -> None:
    ids = np.array([[-1, -3, -2]], dtype=np.int32)
    corrupted, labels = corrupt(ids, np.array([0]), seed=0, epoch=0, n_types=5, shuffle_prob=1.0)
    assert corrupted.tolist() == ids.tolist() and labels.tolist() == [[-100] * 3]


def test_head_is_a_linear_over_tokens_with_plain_cross_entropy() -> None:
    torch.manual_seed(0)
    head = TokenHead(6, 0.1).eval()
    states, labels = torch.randn(2, 4, 6), torch.tensor([[0, 2, 1, -100], [-100, 1, 0, 0]])
    logits = states @ head.out.weight.T + head.out.bias
    picked = [
        -torch.log_softmax(logits[b, i], 0)[labels[b, i]] for b in range(2) for i in range(4) if labels[b, i] >= 0
    ]
    torch.testing.assert_close(head.loss(states, labels), torch.stack(picked).mean())


def test_head_without_labels_has_zero_loss() -> None:
    head = TokenHead(6, 0.1)
    loss = head.loss(torch.randn(1, 3, 6), torch.full((1, 3), -100))
    loss.backward()
    assert loss.item() == 0.0 and head.out.weight.grad is not None and not head.out.weight.grad.any()
