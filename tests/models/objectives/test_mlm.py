"""Masking against loops and expected shares, and the vocabulary head against its plain form."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from torch import Tensor, nn

from hashbench.models.embeddings.base import NO_LABEL, Batch
from hashbench.models.layers import rounded_up
from hashbench.models.objectives.mlm import MaskedLanguageHead, corrupt, with_columns
from tests.oracles import corruption as oracle

N_TYPES = 1000


def rows(n: int, length: int, seed: int = 0) -> np.ndarray:
    """Type ids between <s> (-1) and </s> (-3), with padding (-2) behind in every second row."""
    ids = np.random.default_rng(seed).integers(0, N_TYPES, size=(n, length)).astype(np.int32)
    ids[:, 0], ids[:, -1] = -1, -3
    ids[1::2, length // 2 :] = -2
    return ids


def test_equals_the_loop() -> None:
    ids, row_ids = rows(20, 40), np.arange(20) * 13 + 5
    corrupted, labels = corrupt(ids, row_ids, seed=3, epoch=2, n_types=N_TYPES)
    assert corrupted.dtype == labels.dtype == np.int32
    for row, row_id in enumerate(row_ids.tolist()):
        expected = oracle.masked(ids[row].tolist(), seed=3, epoch=2, row=row_id, n_types=N_TYPES, prob=0.15)
        assert (corrupted[row].tolist(), labels[row].tolist()) == expected


def test_shares() -> None:
    """15 % of the ordinary tokens; of these 80 % <mask>, 10 % random, 10 % as they were (Devlin et al. 2019)."""
    ids = rows(2000, 200)
    corrupted, labels = corrupt(ids, np.arange(2000), seed=0, epoch=0, n_types=N_TYPES)
    predicted = labels != -100
    n = int((ids >= 0).sum())
    assert predicted.sum() / n == pytest.approx(0.15, abs=4 * (0.15 * 0.85 / n) ** 0.5)
    masked, same = corrupted[predicted] == -5, corrupted[predicted] == ids[predicted]
    bound = 4 * (0.16 / predicted.sum()) ** 0.5
    assert masked.mean() == pytest.approx(0.8, abs=bound)
    assert same.mean() == pytest.approx(0.1 + 0.1 / N_TYPES, abs=bound)  # a random type may be the true one
    drawn = corrupted[predicted][~masked & ~same]
    assert drawn.min() >= 0 and drawn.max() < N_TYPES and len(np.unique(drawn)) > 0.99 * N_TYPES


def test_labels_are_the_true_types_and_specials_have_none() -> None:
    ids = rows(200, 50)
    corrupted, labels = corrupt(ids, np.arange(200), seed=0, epoch=0, n_types=N_TYPES)
    predicted = labels != -100
    assert np.array_equal(labels[predicted], ids[predicted]) and not predicted[ids < 0].any()
    assert np.array_equal(corrupted[~predicted], ids[~predicted])


def test_a_row_does_not_depend_on_its_batch_or_padding() -> None:
    ids = rows(6, 30)
    whole = corrupt(ids, np.arange(6), seed=1, epoch=4, n_types=N_TYPES)
    alone = corrupt(ids[[3]][:, :15], np.array([3]), seed=1, epoch=4, n_types=N_TYPES)
    for all_rows, one in zip(whole, alone, strict=True):
        assert np.array_equal(all_rows[3, :15], one[0])


def test_epochs_differ() -> None:
    ids = rows(50, 50)
    first, second = (corrupt(ids, np.arange(50), seed=1, epoch=e, n_types=N_TYPES)[1] for e in (0, 1))
    assert not np.array_equal(first, second)


def head_and_data(n_rows: int = 60, dim: int = 8) -> tuple[MaskedLanguageHead, nn.Parameter, Tensor, Tensor]:
    torch.manual_seed(0)
    head = MaskedLanguageHead(dim, n_rows)
    nn.init.normal_(head.bias)
    labels = torch.randint(0, n_rows, (4, 9))
    labels[torch.rand(4, 9) > 0.3] = -100
    return head, nn.Parameter(torch.randn(n_rows, dim)), torch.randn(4, 9, dim, requires_grad=True), labels


def loss_of(head: MaskedLanguageHead, states: Tensor, labels: Tensor, matrix: Tensor, logits: str) -> Tensor:
    if logits == "all":
        return head.loss_everywhere(states, labels, matrix)
    places = labels != -100
    return head.loss(states[places], labels[places], matrix)


def batch_of(labels: Tensor) -> Batch:
    return Batch(torch.zeros(1, 1), torch.zeros_like(labels), torch.ones_like(labels, dtype=torch.bool), labels=labels)


def test_the_columns_of_labels_are_counted_row_by_row() -> None:
    batch = with_columns(batch_of(torch.tensor([[-100, 7, -100, 8], [-100, -100, -100, -100], [3, -100, -100, -100]])))
    assert batch.columns is not None and batch.kept is not None
    assert batch.columns.tolist() == [[1, 3], [0, 0], [0, 0]] and batch.kept.tolist() == [0, 1, 4] and batch.n_kept == 3


@given(
    labels=arrays(np.int64, array_shapes(min_dims=2, max_dims=2, max_side=40), elements=st.sampled_from([NO_LABEL, 5])),
    fixed=st.booleans(),
)
def test_counted_columns_name_every_label_once_and_in_order(labels: np.ndarray, fixed: bool) -> None:
    batch = with_columns(batch_of(torch.from_numpy(labels)), fixed_shapes=fixed)
    assert batch.columns is not None and batch.kept is not None
    n, width = batch.n_kept, batch.columns.shape[1]
    rows, columns = np.nonzero(labels != NO_LABEL)
    assert (batch.kept[:n] // width).tolist() == rows.tolist()
    assert batch.columns.flatten()[batch.kept[:n]].tolist() == columns.tolist()
    if fixed:
        assert len(batch.kept) == rounded_up(n) and width <= labels.shape[1]
    else:
        assert len(batch.kept) == n


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_number_is_rounded_up_by_an_eighth_at_most(n: int, more: int) -> None:
    assert n <= rounded_up(n) <= n * 9 / 8 and rounded_up(n) <= rounded_up(n + more)
    assert rounded_up(rounded_up(n)) == rounded_up(n)


@pytest.mark.parametrize("logits", ["labels", "all"])
def test_loss_and_gradients_equal_the_plain_form(logits: str) -> None:
    head, matrix, states, labels = head_and_data()
    other, matrix2, states2 = copy.deepcopy(head), copy.deepcopy(matrix), states.detach().clone().requires_grad_()
    loss = loss_of(head, states, labels, matrix, logits)
    plain = nn.functional.cross_entropy(other(states2, matrix2).flatten(0, 1), labels.flatten())
    assert loss.item() == pytest.approx(plain.item(), rel=1e-6)
    loss.backward()
    plain.backward()
    for own, theirs in zip([matrix, states, *head.parameters()], [matrix2, states2, *other.parameters()], strict=True):
        assert own.grad is not None and theirs.grad is not None
        torch.testing.assert_close(own.grad, theirs.grad, atol=3e-6, rtol=1e-5)  # float32, sums in another order


@pytest.mark.parametrize("logits", ["labels", "all"])
def test_no_labels_give_zero_loss_and_no_nan(logits: str) -> None:
    head, matrix, states, labels = head_and_data()
    loss = loss_of(head, states, torch.full_like(labels, -100), matrix, logits)
    loss.backward()
    assert loss.item() == 0.0 and matrix.grad is not None and not matrix.grad.any()


def test_logits_are_scores_against_the_matrix() -> None:
    head, matrix, states, _ = head_and_data()
    transformed = head.norm(nn.functional.gelu(states[0, 0] @ head.dense.weight.T + head.dense.bias))
    expected = torch.stack([(transformed * row).sum() for row in matrix]) + head.bias
    torch.testing.assert_close(head(states, matrix)[0, 0], expected, atol=1e-5, rtol=1e-5)
