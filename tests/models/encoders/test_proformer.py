"""ProFormer's encoder: groups of neighbours against loops, K = 1 as the null operation, padding without influence."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from hashbench.common.errors import InputError
from hashbench.models.encoders.base import Encoder, make_encoder
from hashbench.models.encoders.bert import BertConfig
from hashbench.models.encoders.proformer import LocalProjectionAttention, grouped, with_a_word
from hashbench.models.encoders.transformer import TransformerLayer

SMALL = {"layers": 2, "heads": 2, "dim": 8, "feed_forward": 12}


def made(**values: int) -> Encoder:
    torch.manual_seed(0)
    return make_encoder("proformer", "tiny", **{**SMALL, **values}).eval()


def inputs(lengths: list[int], columns: int) -> tuple[Tensor, Tensor]:
    """Vectors of words, zeros on padding, and their mask."""
    generator = torch.Generator().manual_seed(1)
    words = torch.randn(len(lengths), max(lengths), 8, generator=generator)
    vectors = torch.zeros(len(lengths), columns, 8)
    mask = torch.arange(columns) < torch.tensor(lengths)[:, None]
    vectors[:, : max(lengths)] = words
    return vectors * mask[..., None], mask


def group_by_hand(local: LocalProjectionAttention, words: Tensor) -> Tensor:
    """Eq. 1 for the words of one group (k, d), one head, query and key at a time, then the maximum."""
    dim, heads = words.shape[1], local.heads
    size = dim // heads
    qkv = words @ local.qkv.weight.T + local.qkv.bias  # (k, 3 d)
    mixed = torch.zeros_like(words)
    for head in range(heads):
        at = slice(head * size, (head + 1) * size)
        query, key, value = qkv[:, :dim][:, at], qkv[:, dim : 2 * dim][:, at], qkv[:, 2 * dim :][:, at]
        for i in range(len(words)):
            scores = [math.exp(float(query[i] @ key[j]) / math.sqrt(size)) for j in range(len(words))]
            for j, score in enumerate(scores):
                mixed[i, at] += score / sum(scores) * value[j]
    attended = mixed @ local.attention_out.weight.T + local.attention_out.bias
    return local.norm(words + attended).max(0).values


def test_a_group_equals_the_equation_in_loops() -> None:
    local = made(group=3).local
    assert isinstance(local, LocalProjectionAttention)
    vectors, mask = inputs([5, 3], 6)
    found = local(vectors, mask)
    assert found.shape == (2, 2, 8)
    for row, group, words in ((0, 0, slice(0, 3)), (0, 1, slice(3, 5)), (1, 0, slice(0, 3))):
        torch.testing.assert_close(found[row, group], group_by_hand(local, vectors[row, words]), atol=1e-5, rtol=1e-5)
    assert found[1, 1].tolist() == [0.0] * 8  # padding only


def test_k_1_is_the_null_operation() -> None:
    """Embedding LayerNorm and layers, nothing between them."""
    encoder = made(group=1)
    vectors, mask = inputs([4, 2], 4)
    states = encoder.norm(vectors)
    for layer in encoder.layers:
        states = layer(states, mask)
    assert encoder.local is None and torch.equal(encoder(vectors, mask), states)


def test_layers_are_berts() -> None:
    states = torch.randn(2, 3, 8)
    for layer in made().layers:
        berts = TransformerLayer(BertConfig(layers=2, heads=2, dim=8, feed_forward=12, eps=1e-12)).eval()
        berts.load_state_dict(layer.state_dict())
        assert torch.equal(layer(states, None), berts(states, None))


@pytest.mark.parametrize("group", [1, 2, 3, 4])
@pytest.mark.parametrize("columns", [5, 6, 8, 13])
def test_padding_changes_nothing(group: int, columns: int) -> None:
    """Rows of 5, 4 and 1 words alone, and side by side with any padding behind."""
    encoder = made(group=group)
    vectors, mask = inputs([5, 4, 1], columns)
    states, kept = encoder(vectors, mask), encoder.states_mask(mask)
    assert states.shape[:2] == kept.shape == (3, -(-columns // group))
    for row, length in enumerate([5, 4, 1]):
        alone = encoder(vectors[row : row + 1, :length], None)
        assert kept[row].sum() == alone.shape[1] == -(-length // group)
        torch.testing.assert_close(states[row, : alone.shape[1]], alone[0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("group", [1, 4])
def test_gradients_are_finite_beside_padding(group: int) -> None:
    encoder = made(group=group).train()
    vectors, mask = inputs([5, 1], 16)
    encoder(vectors, mask)[encoder.states_mask(mask)].square().sum().backward()
    assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in encoder.parameters())


@pytest.mark.parametrize("group", [1, 4])
def test_an_input_without_a_word_has_one_state(group: int) -> None:
    encoder = made(group=group)
    vectors, mask = inputs([4, 0], 4)
    kept = encoder.states_mask(mask)
    states = encoder(vectors, mask)
    assert kept[1].tolist() == [True] + [False] * (4 // group - 1)
    assert bool(states[kept].isfinite().all())
    torch.testing.assert_close(states[1, 0], encoder(torch.zeros(1, 1, 8), None)[0, 0], atol=1e-5, rtol=1e-5)


def test_masks() -> None:
    mask = torch.tensor([[True, True, False, False], [False, False, False, False]])
    assert with_a_word(mask).tolist() == [[True, True, False, False], [True, False, False, False]]
    assert grouped(mask, 2).tolist() == [[True, False], [False, False]]


def test_without_positions_order_does_not_matter_and_with_them_it_does() -> None:
    vectors, _ = inputs([4], 4)
    turned = vectors.flip(1)
    plain, placed = made(), made(max_positions=8)
    torch.testing.assert_close(plain(turned, None).flip(1), plain(vectors, None), atol=1e-5, rtol=1e-5)
    assert not torch.allclose(placed(turned, None).flip(1), placed(vectors, None), atol=1e-3)


def test_the_longest_input_is_that_of_the_positions() -> None:
    assert made().max_length is None
    encoder = made(max_positions=8, group=4)
    assert (encoder.max_length, encoder.length_multiple) == (8, 4)
    with pytest.raises(InputError, match=r"^encoder: 12 words, positions for 8; shorten max_length$"):
        encoder(torch.zeros(1, 9, 8), None)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"group": 0}, r"^encoder: group 0 is no whole number from 1 on; correct it$"),
        ({"group": 2.5}, r"^encoder: group 2\.5 is no whole number from 1 on"),
        ({"max_positions": -1}, r"^encoder: max_positions -1 is no whole number from 0 on"),
        ({"max_positions": 10, "group": 4}, r"^encoder: max_positions 10 is no multiple of group 4; choose one"),
        ({"dim": 9}, r"^encoder: dim 9 is no multiple of heads 2"),
        ({"layers": 0}, r"^encoder: layers 0 is no whole number from 1 on"),
        ({"groups": 4}, r"^encoder: unknown value 'groups'; did you mean 'group'"),
    ],
)
def test_wrong_values(values: dict[str, int], text: str) -> None:
    with pytest.raises(InputError, match=text):
        made(**values)
