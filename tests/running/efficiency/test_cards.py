"""running/efficiency/cards.py: memory and time on a named card, from shapes."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from hashbench.common.errors import InputError
from hashbench.models.encoders.base import make_encoder
from hashbench.running.efficiency.cards import CARDS, TrainingStep, find_card

H100, V100 = CARDS["h100"], CARDS["v100"]
BASE = TrainingStep(
    rows=128, length=512, typical_length=512, layers=12, dim=768, feed_forward=3072, weights=110_000_000,
    output_rows=50_265, scored=0.15, keeps_scores=False, precision="bf16",
)  # fmt: skip


def kept_by_a_layer(bf16: bool, tokens: int = 256) -> float:
    """Bytes a token that one more layer keeps, by hooks; the copies of weights that autocast makes left out."""

    def kept(layers: int) -> int:
        encoder = make_encoder("bert", "base", layers=layers, dropout=0.0, attention_dropout=0.0).train()
        seen, held = {}, []
        weights = {p.untyped_storage().data_ptr() for p in encoder.parameters()}
        shapes = {tuple(p.shape) for p in encoder.parameters()} | {tuple(p.shape[::-1]) for p in encoder.parameters()}

        def pack(tensor):
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in weights and tuple(tensor.shape) not in shapes:
                seen[storage.data_ptr()] = storage.nbytes()
                held.append(tensor)
            return tensor

        with (
            torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor),
            torch.autocast("cpu", torch.bfloat16, enabled=bf16),
        ):
            encoder(torch.randn(4, tokens // 4, 768, requires_grad=True), None)
        return sum(seen.values())

    return (kept(2) - kept(1)) / tokens


@pytest.mark.e2e
@pytest.mark.parametrize("precision", ["32", "bf16"])
def test_a_layer_keeps_what_the_formula_says(precision: str) -> None:
    """Without dropout, whose two masks are a byte an element on a GPU."""
    step = replace(BASE, layers=1, precision=precision)
    assert kept_by_a_layer(precision == "bf16") == pytest.approx(step.kept(H100) - 2 * 768, rel=0.01)


def test_operations_are_those_of_the_published_shape() -> None:
    """Base at length 512, forward and backward: 0.57 GFLOP a token without scores."""
    step = replace(BASE, scored=0.0, output_rows=0)
    assert step.operations() == pytest.approx(0.567e9, rel=0.01)
    assert replace(step, checkpointing=True).operations() == pytest.approx(4 / 3 * step.operations())
    assert BASE.operations() - step.operations() == pytest.approx(6 * 0.15 * 50_265 * 768)


def test_a_card_without_bf16_computes_in_float32() -> None:
    assert V100.rate("bf16", "high") == V100.float32 and V100.bf16 is None
    assert H100.rate("32", "highest") < H100.rate("32", "high") < H100.rate("bf16", "highest")
    assert BASE.kept(V100) == replace(BASE, precision="32").kept(H100)


def test_the_rows_that_fit_shrink_with_the_card_and_grow_with_devices() -> None:
    fits = {name: BASE.fitting_rows(card) for name, card in CARDS.items()}
    assert fits["h200"] == fits["h100"] == 128 and fits["rtx4090"] == 64
    assert BASE.fitting_rows(CARDS["rtx4090"], devices=2) == 64
    assert replace(BASE, checkpointing=True).fitting_rows(CARDS["rtx4090"]) == 128
    assert replace(BASE, weights=10**12).fitting_rows(H100) is None
    everywhere = replace(BASE, scored=1.0, keeps_scores=True)
    assert everywhere.memory(H100, 16) - BASE.memory(H100, 16) > 5e9  # 8,192 x 50,265 scores


def test_time_is_bounded_by_what_the_card_could_do() -> None:
    tokens = 1e9
    seconds = BASE.seconds(H100, tokens, at_a_time=128)
    assert seconds > tokens * BASE.operations() / H100.bf16
    assert replace(BASE, compiled=True).seconds(H100, tokens, at_a_time=128) < seconds
    assert BASE.seconds(H100, tokens, at_a_time=64, devices=2) == pytest.approx(seconds / 2, rel=0.1)
    small = replace(BASE, rows=32, layers=2, dim=128, feed_forward=512, weights=500_000, output_rows=0, scored=0.0)
    steps = tokens / (32 * 512)
    assert small.seconds(H100, tokens, at_a_time=32) > steps * 1e-3, "a small model waits for its kernels to start"


def test_an_unknown_card_is_refused() -> None:
    assert find_card("H100") is H100
    with pytest.raises(InputError, match=r"^--on: no card 'h10'; did you mean 'h100' or 'a10'\?; cards: t4, v100, "):
        find_card("h10")
