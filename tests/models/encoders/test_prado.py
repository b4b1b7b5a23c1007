"""PRADO's n-grams against plain loops, the published counts, pairs, and texts without a token."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hashbench.common.errors import InputError
from hashbench.models.embeddings.registry import find_model
from hashbench.models.encoders.base import find_architecture, make_encoder
from hashbench.models.encoders.prado import KINDS, PradoEncoder


def drawn_encoder(**values: object) -> PradoEncoder:
    """A small encoder in evaluation whose every weight is drawn, norms and biases too."""
    torch.manual_seed(2)
    every = {kind.name: 3 for kind in KINDS}
    encoder = make_encoder("prado", "tiny", **{"dim": 8, **every, **values}).eval()
    assert isinstance(encoder, PradoEncoder)
    for parameter in encoder.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return encoder


def plain_text(encoder: PradoEncoder, text: np.ndarray) -> np.ndarray:
    """The vector of a text (L, 2 e) by the equations, a window at a time: (sum c,)."""
    length, halves = text.shape[0], np.split(text, 2, axis=1)
    outputs = []
    for part, kind in zip(encoder.ngrams, KINDS, strict=True):
        columns = []
        for half, layer in zip(halves, (part.value, part.logit), strict=True):
            weight, bias = layer.weight.detach().double().numpy(), layer.bias.detach().double().numpy()
            rows = []
            for t in range(length):
                window = np.zeros((part.size, half.shape[1]))
                for i, counts in enumerate(kind.counted):
                    if counts and t + i < length:
                        window[i] = half[t + i]
                rows.append(weight @ window.ravel() + bias)
            columns.append(np.array(rows))  # (L, c)
        values, logits = columns
        gain, shift = (each.detach().double().numpy() for each in (part.value_norm.weight, part.value_norm.bias))
        values = (values - values.mean(1, keepdims=True)) / np.sqrt(values.var(1, keepdims=True) + 1e-5) * gain + shift
        logits = (logits - logits.mean(0)) / np.sqrt(logits.var(0) + 1e-5) * part.logit_norm.weight.detach().numpy()
        shares = np.exp(logits) / np.exp(logits).sum(0)
        outputs.append((shares * values).sum(0))
    return np.concatenate(outputs)


@pytest.mark.parametrize("length", [1, 2, 6])
def test_a_text_is_the_vector_of_the_equations_whatever_the_padding(length: int) -> None:
    encoder = drawn_encoder()
    vectors = torch.randn(1, length, 8)
    expected = plain_text(encoder, vectors[0].double().numpy())
    padded = torch.cat([vectors, torch.full((1, 4, 8), 1e4)], dim=1)
    mask = torch.arange(length + 4)[None] < length
    for states in (encoder(vectors, None), encoder(padded, mask)):
        np.testing.assert_allclose(states.detach().numpy()[0, 0], expected, atol=1e-5)


def test_both_texts_of_a_pair_are_encoded_apart() -> None:
    encoder = drawn_encoder()
    first, second = torch.randn(1, 3, 8), torch.randn(1, 4, 8)
    between = torch.full((1, 1, 8), 1e4)  # a special token
    row = torch.cat([between, first, between, second, between], dim=1)
    mask = torch.tensor([[False, True, True, True, False, True, True, True, True, False]])
    segments = torch.tensor([[0] * 5 + [1] * 5])
    u, v = (encoder(text, None)[0, 0] for text in (first, second))
    expected = torch.cat([u, v, (u - v).abs(), u * v])
    torch.testing.assert_close(encoder(row, mask, segments)[0, 0], expected, atol=1e-5, rtol=1e-5)
    assert encoder.text_width(2) == len(expected) == 84 and encoder.text_width(1) == 21


def test_a_text_without_a_token_is_zero_and_has_gradients() -> None:
    encoder = drawn_encoder().train()
    states = encoder(torch.randn(2, 3, 8), torch.tensor([[False] * 3, [True] * 3]))
    states.sum().backward()
    assert not states[0].any() and states[1].any()
    assert all(parameter.grad.isfinite().all() for parameter in encoder.parameters())


@pytest.mark.parametrize(
    ("kinds", "total"),
    [({}, 16_768 + 24_960), ({"skip1_bigrams": 64}, 16_768 + 2 * 24_960), ({"bigrams": 0}, 24_960)],
)
def test_counts_are_those_of_the_formula(kinds: dict[str, int], total: int) -> None:
    """Sum over kinds of 2 (k e c + 3 c), e = c = 64 of the public configurations; masked weights count."""
    assert sum(parameter.numel() for parameter in make_encoder("prado", "tiny", **kinds).parameters()) == total


def test_what_follows_for_the_model() -> None:
    spec = find_architecture("prado").of_model(find_model("hashformer-md-proj"))
    assert spec.training.objective is None and spec.text.template.segments
    assert (spec.head.pooling, spec.head.dense) == ("mean", False)


def test_half_precision_is_near() -> None:
    encoder = drawn_encoder()
    vectors, mask = torch.randn(2, 5, 8), torch.tensor([[True] * 5, [True] * 2 + [False] * 3])
    whole = encoder(vectors, mask)
    with torch.autocast("cpu", torch.bfloat16):
        assert (encoder(vectors, mask) - whole).abs().max().item() < 0.2
    assert encoder.to(torch.bfloat16)(vectors.to(torch.bfloat16), mask).dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"dim": 7}, "dim 7 has no halves; choose an even one"),
        ({"bigrams": 0, "trigrams": 0}, "no kind of n-gram has channels; give one of unigrams, bigrams, .* some"),
        ({"bigrams": -1}, "bigrams -1 is no whole number from 0 on; correct it"),
        ({"bigrams": 0.5}, "bigrams 0.5 is no whole number from 0 on; correct it"),
        ({"entry_dropout": 1.0}, "entry_dropout 1.0 is no number from 0 to below 1; correct it"),
        ({"eps": 0}, "eps 0 is no number above 0; correct it"),
    ],
)
def test_wrong_values(values: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=f"^encoder: {message}$"):
        make_encoder("prado", "tiny", **values)
