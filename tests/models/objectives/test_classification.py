"""The head of fine-tuning: pooling, layers, losses."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hashbench.common.errors import InputError
from hashbench.models.embeddings.base import Batch, HeadSpec
from hashbench.models.encoders.base import make_encoder
from hashbench.models.names import Pooling
from hashbench.models.objectives.heads import ClassificationHead, LabelsHead, classification_head, pool

STATES = torch.tensor([[[1.0, -2.0], [3.0, 4.0], [9.0, 9.0]], [[5.0, 6.0], [9.0, 9.0], [9.0, 9.0]]])
MASK = torch.tensor([[True, True, False], [True, False, False]])


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [
        ("first", [[1.0, -2.0], [5.0, 6.0]]),
        ("max", [[3.0, 4.0], [5.0, 6.0]]),
        ("mean", [[2.0, 1.0], [5.0, 6.0]]),
    ],
)
def test_pooling_sees_no_padding(pooling: Pooling, expected: list[list[float]]) -> None:
    assert pool(STATES, MASK, pooling).tolist() == expected


@pytest.mark.parametrize("pooling", ["first", "max", "mean"])
def test_without_a_mask_all_tokens_count(pooling: Pooling) -> None:
    assert torch.equal(pool(STATES, None, pooling), pool(STATES, torch.ones(2, 3, dtype=torch.bool), pooling))


def test_outputs_equal_the_layers() -> None:
    torch.manual_seed(0)
    head = ClassificationHead(2, 3).eval()
    hidden = torch.tanh(STATES[:, 0] @ head.dense.weight.T + head.dense.bias)
    torch.testing.assert_close(head(STATES, MASK), hidden @ head.out.weight.T + head.out.bias)


@pytest.mark.parametrize(("names", "n_outputs"), [(("yes", "maybe", "no"), 3), ((), 1)])
def test_a_fresh_head_has_an_output_for_each_class(names: tuple[str, ...], n_outputs: int) -> None:
    encoder = make_encoder("bert", "tiny")
    head = ClassificationHead.for_task(HeadSpec(), encoder, n_outputs=n_outputs, label_names=names)
    states = torch.zeros(2, 5, encoder.config.dim)
    assert head(states, torch.ones(2, 5, dtype=torch.bool)).shape == (2, n_outputs)


def test_parameters_at_base() -> None:
    """592,130 with two classes: 768 * 769 + 2 * 769."""
    assert sum(parameter.numel() for parameter in ClassificationHead(768, 2).parameters()) == 592_130


def test_dropout_acts_before_both_layers() -> None:
    torch.manual_seed(0)
    head = ClassificationHead(64, 1, dropout=0.5).train()
    with torch.no_grad():
        head.dense.weight.copy_(torch.eye(64))
        head.out.weight.fill_(1.0)
    # per dimension x = 2 * mask, tanh(2) * 2 * mask: kept with 1/4, so the sum has the mean 64 * tanh(2) / 2 = 30.849
    outputs = head(torch.ones(20_000, 1, 64))
    assert outputs.mean().item() == pytest.approx(30.849, abs=0.2)


def test_cross_entropy_of_classes_and_squared_error_of_one_output() -> None:
    classes, regression = ClassificationHead(2, 3), ClassificationHead(2, 1)
    outputs = torch.tensor([[0.0, 0.0, 0.0]])
    assert classes.loss(outputs, torch.tensor([1])).item() == pytest.approx(1.0986123)  # log 3
    assert regression.loss(torch.tensor([[1.0], [2.0]]), torch.tensor([0.0, 4.0])).item() == pytest.approx(2.5)


def test_binary_cross_entropy_of_several_labels_is_the_mean_over_labels_and_rows() -> None:
    head = classification_head(HeadSpec(), 2, 3, multi_label=True)
    outputs, labels = torch.tensor([[0.0, 2.0, -1.0], [3.0, 0.0, 0.0]]), torch.tensor([[1, 0, 0], [1, 1, 0]])
    of_each = [-math.log(p if y else 1 - p) for p, y in zip(outputs.sigmoid().flatten(), labels.flatten(), strict=True)]
    assert head.loss(outputs, labels.to(torch.uint8)).item() == pytest.approx(sum(of_each) / 6)
    assert isinstance(head, LabelsHead) and [*head.state_dict()] == [*ClassificationHead(2, 3).state_dict()]
    batch = Batch(torch.zeros(1, 1), torch.zeros(2, 1), torch.ones(2, 1).bool(), labels=labels)
    assert head.n_labels(batch) == 6


def test_regression_takes_whole_numbers_as_targets() -> None:
    assert ClassificationHead(2, 1).loss(torch.tensor([[1.0]]), torch.tensor([3])).item() == 4.0


def test_a_head_without_a_dense_layer_is_one_linear_map_of_the_pooled_states() -> None:
    torch.manual_seed(0)
    head = ClassificationHead(4, 3, dropout=0.0, pooling="max", dense=False).eval()
    states = torch.randn(2, 5, 4)
    assert [name for name, _ in head.named_parameters()] == ["out.weight", "out.bias"]
    expected = states.amax(1) @ head.out.weight.T + head.out.bias
    torch.testing.assert_close(head(states, None), expected)


def test_a_head_is_as_the_spec_of_a_model_has_it() -> None:
    head = classification_head(HeadSpec(pooling="mean", dense_dropout=False), 4, 3, 0.3)
    assert head.pooling == "mean" and not head.dense_dropout and head.dropout.probability == 0.3
    assert head.dense is not None and head.out.weight.shape == (3, 4)
    assert classification_head(HeadSpec(dense=False), 4, 1).dense is None


@given(st.lists(st.integers(1, 5), min_size=1, max_size=3), st.integers(0, 10**6))
def test_attention_weighs_tokens_by_their_states(lengths: list[int], seed: int) -> None:
    """sum_t softmax_t(w h_t) h_t, a text at a time, whatever is behind its tokens."""
    torch.manual_seed(seed)
    head = ClassificationHead(4, 3, dropout=0.0, pooling="attention", dense=False).eval()
    assert head.attention is not None
    with torch.no_grad():
        head.attention.weight.normal_(std=2.0)
    states = 3 * torch.randn(len(lengths), 6, 4)
    mask = torch.arange(6).expand(len(lengths), 6) < torch.tensor(lengths)[:, None]
    pooled = head.pool(states, mask)
    for row, length in enumerate(lengths):
        text = states[row, :length].double().numpy()
        shares = np.exp(text @ head.attention.weight.detach().double().numpy()[0])
        np.testing.assert_allclose(pooled[row].detach().numpy(), shares @ text / shares.sum(), atol=1e-5)
    torch.testing.assert_close(head(states, mask), head.out(pooled))
    torch.testing.assert_close(head.pool(states), head.pool(states, torch.ones_like(mask)))


def test_attention_adds_one_weight_a_dimension_and_no_others() -> None:
    names = [name for name, _ in ClassificationHead(4, 3, pooling="attention").named_parameters()]
    assert names == ["attention.weight", "dense.weight", "dense.bias", "out.weight", "out.bias"]
    assert ClassificationHead(4, 3, pooling="mean").attention is None


def test_a_model_without_a_head_has_no_attention() -> None:
    with pytest.raises(InputError, match="^pooling attention is learned with a task, and this model has no head; "):
        pool(STATES, MASK, "attention")
