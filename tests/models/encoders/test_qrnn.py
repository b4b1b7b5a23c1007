"""The quasi-recurrent layers against plain loops over tokens, and the recurrence against one step a token."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hashbench.common.errors import InputError
from hashbench.models.encoders.base import encoder_outline, make_encoder
from hashbench.models.encoders.qrnn import QrnnConfig, QrnnEncoder, _doubled, recurrence


def plain_recurrence(keep: np.ndarray, entering: np.ndarray, backwards: bool) -> np.ndarray:
    """h_t = keep_t h + entering_t one token after the other, in float64: (B, L, S)."""
    states, h = np.zeros(keep.shape), np.zeros((keep.shape[0], keep.shape[2]))
    for t in reversed(range(keep.shape[1])) if backwards else range(keep.shape[1]):
        h = keep[:, t] * h + entering[:, t]
        states[:, t] = h
    return states


@given(st.integers(1, 70), st.booleans(), st.integers(0, 10**6))
def test_the_recurrence_is_that_of_a_plain_loop(length: int, backwards: bool, seed: int) -> None:
    drawn = np.random.default_rng(seed)
    keep, entering = drawn.random((2, length, 3)), drawn.uniform(-1, 1, (2, length, 3))
    keep[drawn.random(keep.shape) < 0.2] = 1.0
    keep[drawn.random(keep.shape) < 0.2] = 0.0
    expected = plain_recurrence(keep, entering, backwards)
    parts = torch.tensor(keep, dtype=torch.float32), torch.tensor(entering, dtype=torch.float32)
    for states in (recurrence(*parts, backwards=backwards), _doubled(*parts, backwards, 128)):
        np.testing.assert_allclose(states.numpy(), expected, atol=1e-6 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("length", [1, 2, 7])
def test_gradients_of_the_recurrence(length: int, backwards: bool) -> None:
    torch.manual_seed(0)
    keep = torch.rand(2, length, 3, dtype=torch.float64, requires_grad=True)
    entering = torch.randn(2, length, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda *parts: recurrence(*parts, backwards=backwards), (keep, entering))


def test_no_token_has_no_state() -> None:
    assert recurrence(torch.ones(2, 0, 3), torch.ones(2, 0, 3)).shape == (2, 0, 3)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def plain_encoder(encoder: QrnnEncoder, text: np.ndarray) -> np.ndarray:
    """The states of one text (L, d) by the equations, a token, a gate and a direction at a time: (L, 2 S)."""
    config: QrnnConfig = encoder.config
    k, units = config.kernel, config.units
    names = ["z", *config.gates]
    for layer in encoder.layers:
        length, width = text.shape
        weight = layer.window.weight.detach().double().numpy().reshape(2, len(names), units, k * width)
        bias = layer.window.bias.detach().double().numpy().reshape(2, len(names), units)
        gain, shift = layer.norm.weight.detach().double().numpy(), layer.norm.bias.detach().double().numpy()
        outputs = np.zeros((length, 2 * units))
        for direction in (0, 1):
            h = np.zeros(units)
            for t in range(length) if direction == 0 else reversed(range(length)):
                first = t - k + 1 if direction == 0 else t
                rows = [text[i] if 0 <= i < length else np.zeros(width) for i in range(first, first + k)]
                gate = {}
                for number, name in enumerate(names):
                    value = weight[direction, number] @ np.concatenate(rows) + bias[direction, number]
                    value = (value - value.mean()) / np.sqrt(value.var() + config.eps)
                    value = value * gain[direction, number] + shift[direction, number]
                    gate[name] = np.tanh(value) if name == "z" else sigmoid(value)
                entered = gate["i"] if "i" in gate else 1 - gate["f"]
                h = gate["f"] * h + entered * gate["z"]
                outputs[t, direction * units : (direction + 1) * units] = gate["o"] * h if "o" in gate else h
        text = outputs
    return text


def drawn_encoder(**values: object) -> QrnnEncoder:
    """A small encoder in evaluation whose every weight is drawn, norms and biases too."""
    torch.manual_seed(3)
    encoder = make_encoder("qrnn", "tiny", **{"dim": 6, **values}).eval()
    assert isinstance(encoder, QrnnEncoder)
    for parameter in encoder.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return encoder


@pytest.mark.parametrize("gates", ["f", "fo", "ifo"])
@pytest.mark.parametrize(("kernel", "state"), [(1, 0), (2, 5), (3, 0)])
def test_states_are_those_of_the_equations(gates: str, kernel: int, state: int) -> None:
    encoder = drawn_encoder(gates=gates, kernel=kernel, state=state)
    vectors = torch.randn(2, 5, 6)
    mask = torch.tensor([[True] * 5, [True, True, False, False, False]])
    states = encoder(vectors, mask).detach().numpy()
    for row, length in ((0, 5), (1, 2)):
        expected = plain_encoder(encoder, vectors[row, :length].double().numpy())
        np.testing.assert_allclose(states[row, :length], expected, atol=1e-6)
        assert not states[row, length:].any()


def test_padding_changes_no_state_and_no_gradient_in_training_either() -> None:
    encoder = drawn_encoder(zoneout=0.0, dropout=0.0).train()
    vectors = torch.randn(2, 4, 6)
    longer = torch.cat([vectors, torch.full((2, 3, 6), 1e4)], dim=1)
    mask = torch.arange(7).expand(2, 7) < 4
    gradients = []
    for states in (encoder(vectors, None), encoder(longer, mask)[:, :4]):
        encoder.zero_grad()
        states.square().sum().backward()
        gradients.append([parameter.grad.clone() for parameter in encoder.parameters()])
    torch.testing.assert_close(encoder(longer, mask)[:, :4], encoder(vectors, None), atol=1e-6, rtol=1e-6)
    for plain, padded in zip(*gradients, strict=True):
        torch.testing.assert_close(plain, padded, atol=1e-5, rtol=1e-5)


def test_zoneout_keeps_elements_in_training_alone_and_less_in_deeper_layers() -> None:
    encoder = drawn_encoder(layers=2, zoneout=0.5, gates="f", dropout=0.0, dim=64)
    assert [layer.zoneout for layer in encoder.layers] == [0.5, 0.25]
    vectors = torch.randn(8, 40, 64)
    for layer in encoder.layers:
        torch.manual_seed(1)
        values = torch.randn(8, 40, 2, 32)
        assert torch.equal(*(layer.eval().one_way(values, None, backwards=False) for _ in range(2)))
        states = layer.train().one_way(values, None, backwards=False)
        kept = (states[:, 1:] == states[:, :-1]).float().mean().item()
        assert abs(kept - layer.zoneout) < 0.02
    encoder.train()
    assert not torch.equal(encoder(vectors, None), encoder(vectors, None))


def test_half_precision_keeps_the_state_in_float32() -> None:
    encoder = drawn_encoder(dim=32)
    vectors = torch.randn(2, 60, 32)
    whole = encoder(vectors, None)
    with torch.autocast("cpu", torch.bfloat16):
        halved = encoder(vectors, None)
    converted = encoder.to(torch.bfloat16)(vectors.to(torch.bfloat16), None)
    assert converted.dtype == torch.bfloat16
    for states in (halved, converted):
        assert (states.float() - whole).abs().max().item() < 0.1


@pytest.mark.parametrize(
    ("values", "total"),
    [
        ({"dim": 64, "state": 64, "layers": 2, "kernel": 3}, 74_880 + 148_608),
        ({"dim": 256, "state": 64, "layers": 2, "kernel": 3}, 296_064 + 148_608),
        ({"dim": 256, "state": 128, "layers": 2, "kernel": 3}, 2 * 592_128),
        ({"dim": 256, "state": 128, "layers": 4, "kernel": 2}, 4 * 395_520),
        ({"dim": 256, "layers": 1, "kernel": 2}, 395_520),
    ],
)
def test_counts_are_those_of_the_formula(values: dict[str, int], total: int) -> None:
    """2 gates (k in S + 3 S) a layer, by the sheet of facts on pQRNN."""
    assert sum(parameter.numel() for parameter in make_encoder("qrnn", "tiny", **values).parameters()) == total


def test_states_of_another_width_than_vectors() -> None:
    encoder = drawn_encoder(dim=6, state=5)
    states = encoder(torch.randn(2, 4, 6), None)
    layers = encoder.token_layers()
    assert states.shape == (2, 4, 10) and encoder.text_width(1) == 10 and not encoder.keeps_length
    assert layers is not None and layers(states, None).shape == (2, 4, 6)
    assert drawn_encoder().keeps_length and drawn_encoder().token_layers() is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"layers": 0}, "layers 0 is no whole number from 1 on; correct it"),
        ({"kernel": 0}, "kernel 0 is no whole number from 1 on; correct it"),
        ({"kernel": 1.5}, "kernel 1.5 is no whole number from 1 on; correct it"),
        ({"zoneout": 1.0}, "zoneout 1.0 is no number from 0 to below 1; correct it"),
        ({"dim": 7}, "dim 7 has no half for the two directions; give state, or an even dim"),
        ({"state": -1}, "state -1 is no whole number from 1 on; correct it"),
        ({"gates": "of"}, "gates 'of'; choose from f, fo, ifo"),
    ],
)
def test_wrong_values(values: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=f"^encoder: {message}$"):
        make_encoder("qrnn", "tiny", **values)


@given(st.integers(1, 40), st.integers(1, 40))
def test_the_remedy_for_states_of_another_width_is_one(dim: int, state: int) -> None:
    encoder = encoder_outline("qrnn", "tiny", dim=dim, state=state)
    if encoder.keeps_length:
        return
    need = encoder.unmet_need("qrnn")
    found = re.search(r"write encoder: \{kind: qrnn, (dim|state): (\d+)\}, or objective: none$", need)
    assert found and f"dim {dim}, and those of encoder qrnn have {2 * state}, two directions of state {state};" in need
    assert encoder_outline("qrnn", "tiny", **{"dim": dim, "state": state, found[1]: int(found[2])}).keeps_length
