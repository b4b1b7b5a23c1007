"""Our encoder against transformers' BertModel with the same weights, and its frame."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from hashbench.common.errors import InputError
from hashbench.models.encoders.base import Encoder
from hashbench.models.encoders.bert import SIZES, BertConfig, BertEncoder

SHAPE = BertConfig(layers=2, heads=4, dim=32, feed_forward=64, type_rows=2)


def reference(config: BertConfig) -> torch.nn.Module:
    """transformers' BERT with weights far from zero, so that errors show."""
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    model = BertModel(
        BertConfig(
            vocab_size=50, hidden_size=config.dim, num_hidden_layers=config.layers, num_attention_heads=config.heads,
            intermediate_size=config.feed_forward, max_position_embeddings=config.max_positions,
            type_vocab_size=config.type_rows, layer_norm_eps=config.eps, initializer_range=0.2,
            hidden_dropout_prob=config.dropout, attention_probs_dropout_prob=config.attention_dropout,
        ),
        add_pooling_layer=False,
    )  # fmt: skip
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias") or "LayerNorm" in name:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    return model


def copied(model: torch.nn.Module, config: BertConfig) -> BertEncoder:
    """Our encoder with the reference's weights."""
    theirs = model.state_dict()
    ours = {
        "positions.weight": theirs["embeddings.position_embeddings.weight"],
        "segments.weight": theirs["embeddings.token_type_embeddings.weight"],
    }
    names = {
        "attention_out": "attention.output.dense",
        "attention_norm": "attention.output.LayerNorm",
        "up": "intermediate.dense",
        "down": "output.dense",
        "norm": "output.LayerNorm",
    }
    for kind in ("weight", "bias"):
        ours[f"norm.{kind}"] = theirs[f"embeddings.LayerNorm.{kind}"]
        for layer in range(config.layers):
            prefix = f"encoder.layer.{layer}"
            parts = [theirs[f"{prefix}.attention.self.{part}.{kind}"] for part in ("query", "key", "value")]
            ours[f"layers.{layer}.qkv.{kind}"] = torch.cat(parts)
            for own, other in names.items():
                ours[f"layers.{layer}.{own}.{kind}"] = theirs[f"{prefix}.{other}.{kind}"]
    encoder = BertEncoder(config)
    encoder.load_state_dict(ours)
    return encoder


def inputs(config: BertConfig) -> tuple[Tensor, Tensor, Tensor]:
    """Vectors (3, 11, d), a mask with rows of 11, 7 and 1 tokens, segments."""
    generator = torch.Generator().manual_seed(1)
    vectors = torch.randn(3, 11, config.dim, generator=generator)
    mask = torch.arange(11) < torch.tensor([[11], [7], [1]])
    return vectors, mask, (torch.arange(11) > 4).long().expand(3, -1)


def their_states(model: torch.nn.Module, config: BertConfig, vectors: Tensor, mask: Tensor, segments: Tensor) -> Tensor:
    positions = torch.arange(vectors.shape[1])[None] + config.first_position
    states: Tensor = model(
        inputs_embeds=vectors, attention_mask=mask.long(), token_type_ids=segments, position_ids=positions
    ).last_hidden_state
    return states


@pytest.mark.e2e
def test_states_equal_transformers_with_padding() -> None:
    model = reference(SHAPE).eval()
    encoder = copied(model, SHAPE).eval()
    vectors, mask, segments = inputs(SHAPE)
    difference = encoder(vectors, mask, segments) - their_states(model, SHAPE, vectors, mask, segments)
    assert difference[mask].abs().max().item() < 1e-5


@pytest.mark.e2e
def test_states_equal_transformers_at_base() -> None:
    config = BertConfig(layers=1, heads=12, dim=768, feed_forward=3072, type_rows=2, first_position=0)
    model = reference(config).eval()
    vectors, mask, segments = inputs(config)
    difference = copied(model, config).eval()(vectors, mask, segments) - their_states(
        model, config, vectors, mask, segments
    )
    assert difference[mask].abs().max().item() < 1e-5


@pytest.mark.e2e
def test_gradients_equal_transformers_in_training_without_dropout() -> None:
    config = replace(SHAPE, dropout=0.0, attention_dropout=0.0)
    model = reference(config).train()
    encoder = copied(model, config).train()
    vectors, mask, segments = inputs(config)
    loss = (encoder(vectors, mask, segments)[mask] ** 3).sum()
    loss.backward()
    (their_states(model, config, vectors, mask, segments)[mask] ** 3).sum().backward()
    theirs = model.encoder.layer[0].attention.self.query.weight.grad
    torch.testing.assert_close(encoder.layers[0].qkv.weight.grad[: config.dim], theirs, atol=1e-3, rtol=1e-4)
    word = model.embeddings.position_embeddings.weight.grad
    torch.testing.assert_close(encoder.positions.weight.grad, word, atol=1e-3, rtol=1e-4)


@pytest.mark.parametrize("padded", [True, False])
def test_states_at_some_places_are_those_of_all(padded: bool) -> None:
    config = replace(SHAPE, dropout=0.0, attention_dropout=0.0)
    torch.manual_seed(0)
    encoder, other = BertEncoder(config).train(), BertEncoder(config).train()
    other.load_state_dict(encoder.state_dict())
    vectors, mask, segments = inputs(config)
    columns = torch.randint(0, int(mask.sum(1).min()), (len(vectors), 3))
    valid = torch.tensor([[True, True, False], [True, False, False]]).repeat(len(vectors), 1)[: len(vectors)]
    seen = mask if padded else None
    rows = torch.arange(len(vectors))[:, None]
    for wanted in (None, valid):
        expected = encoder(vectors, seen, segments)[rows, columns]  # (B, 3, d)
        expected = expected.flatten(0, 1) if wanted is None else expected[wanted]
        kept = None if wanted is None else wanted.flatten().nonzero()[:, 0]
        found = other.at(vectors, seen, segments, columns, kept)
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
        general = Encoder.at(encoder, vectors, seen, segments, columns, kept)
        torch.testing.assert_close(general, expected, atol=1e-5, rtol=1e-5)
        encoder.zero_grad()
        other.zero_grad()
        (expected**3).sum().backward()
        (found**3).sum().backward()
        for own, theirs in zip(other.parameters(), encoder.parameters(), strict=True):
            torch.testing.assert_close(own.grad, theirs.grad, atol=1e-4, rtol=1e-3)


def test_states_at_some_places_have_dropout_in_training() -> None:
    encoder = BertEncoder(SHAPE).train()
    vectors, mask, _ = inputs(SHAPE)
    first = torch.zeros(len(vectors), 1, dtype=torch.int64)
    torch.manual_seed(0)
    one, two = (encoder.at(vectors, mask, None, first, None) for _ in range(2))
    torch.manual_seed(0)
    assert torch.equal(encoder.at(vectors, mask, None, first, None), one)
    assert not torch.equal(one, two)


def test_a_mask_of_none_means_no_padding() -> None:
    encoder = BertEncoder(SHAPE).eval()
    vectors, mask, _ = inputs(SHAPE)
    torch.testing.assert_close(encoder(vectors, None), encoder(vectors, torch.ones_like(mask)))


def test_segments_of_none_are_the_first_row() -> None:
    encoder = BertEncoder(SHAPE).eval()
    vectors, mask, segments = inputs(SHAPE)
    torch.testing.assert_close(encoder(vectors, mask), encoder(vectors, mask, torch.zeros_like(segments)))


def test_dropout_acts_in_training_and_follows_the_seed() -> None:
    encoder = BertEncoder(SHAPE).train()
    vectors, mask, _ = inputs(SHAPE)
    torch.manual_seed(0)
    first, second = encoder(vectors, mask), encoder(vectors, mask)
    torch.manual_seed(0)
    assert torch.equal(encoder(vectors, mask), first)
    assert not torch.equal(second, first)


def test_512_tokens_fit_and_513_do_not() -> None:
    encoder = BertEncoder(BertConfig(layers=1, heads=1, dim=4, feed_forward=4)).eval()
    assert encoder(torch.zeros(1, 512, 4), None).shape == (1, 512, 4)
    with pytest.raises(InputError, match=r"^encoder: 513 tokens, positions for 512; shorten max_length$"):
        encoder(torch.zeros(1, 513, 4), None)


def test_parameters_at_base() -> None:
    """12 layers of 7,087,872, 514 + 1 rows of 768, a LayerNorm of 1,536 (from Xue and Aletras, appendix B)."""
    with torch.device("meta"):
        encoder = BertEncoder(SIZES["base"])
    layer = sum(parameter.numel() for parameter in encoder.layers[0].parameters())
    assert layer == 7_087_872
    assert sum(parameter.numel() for parameter in encoder.parameters()) == 12 * 7_087_872 + 394_752 + 768 + 1_536


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"heads": 3}, r"^encoder: dim 32 is no multiple of heads 3; choose one that is$"),
        ({"layers": 0}, r"^encoder: layers 0 is no whole number from 1 on; "),
        ({"first_position": 514}, r"^encoder: first_position 514 leaves none of max_positions \d+; take a smaller one"),
        ({"type_rows": 0}, r"^encoder: type_rows 0 is no whole number from 1 on; "),
        ({"dropout": 1.0}, r"^encoder: dropout 1\.0 is no number from 0 to below 1; "),
        ({"attention_dropout": -0.1}, r"^encoder: attention_dropout -0\.1 is no number from 0 to below 1; "),
    ],
)
def test_shapes_that_cannot_be(values: dict[str, float], text: str) -> None:
    with pytest.raises(InputError, match=text):
        replace(SHAPE, **values)  # type: ignore[arg-type]
