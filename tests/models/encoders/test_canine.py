"""CANINE's encoder against `transformers`' with the same weights, and what padding must not change."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from hashbench.common.errors import InputError
from hashbench.models.embeddings.canine import CharacterHashes
from hashbench.models.encoders.bert import published_layer
from hashbench.models.encoders.canine import SIZES, CanineConfig, CanineEncoder
from hashbench.models.objectives.heads import ClassificationHead
from tests.oracles import canine as oracle
from tests.published_canine import BASE_SHAPED, SMALL, classifier, published

pytestmark = pytest.mark.e2e  # the library that is compared with takes a second to import

CONFIG = CanineConfig(layers=2, heads=4, dim=32, feed_forward=64, max_positions=512, block=16)
PAD, CLS, SEP = 0, 0xE000, 0xE001


class Ours(nn.Module):
    """Embedding, encoder and head with the weights of a model of transformers."""

    def __init__(self, model: nn.Module, config: CanineConfig, num_buckets: int) -> None:
        super().__init__()
        weights = published(model)
        self.embedding = CharacterHashes(config.dim, num_buckets=num_buckets)
        self.embedding.load_state_dict(self.embedding.from_published(weights))
        self.encoder = CanineEncoder(config)
        self.encoder.load_state_dict(self.encoder.from_published(weights))
        self.head = ClassificationHead(config.dim, len(model.classifier.weight), config.dropout, dense_dropout=False)
        self.head.dense.load_state_dict(self.encoder.dense_from_published(weights))
        self.head.out.load_state_dict(model.classifier.state_dict())

    def forward(self, points: Tensor, mask: Tensor | None, segments: Tensor | None = None) -> Tensor:
        vectors = self.embedding.embed_types(points.flatten()[:, None]).unflatten(0, points.shape)
        outputs: Tensor = self.head(self.encoder(vectors, mask, segments))
        return outputs


def inputs(lengths: list[int], padded: int) -> tuple[Tensor, Tensor, Tensor]:
    """Code points (B, L), mask, and segments of which the second begins in the middle of each row."""
    generator = torch.Generator().manual_seed(1)
    points = torch.randint(1, 0x3000, (len(lengths), padded), generator=generator)
    places, ends = torch.arange(padded), torch.tensor(lengths)[:, None]
    points[:, 0], points[places == ends - 1] = CLS, SEP
    points[places >= ends] = PAD
    mask = places < ends
    return points, mask, ((places >= ends // 2) & mask).long()


def theirs(model: nn.Module, points: Tensor, mask: Tensor, segments: Tensor | None = None) -> Tensor:
    logits: Tensor = model(points, attention_mask=mask.long(), token_type_ids=segments).logits
    return logits


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("lengths", "padded"),
    [
        ([4, 4], 4),  # the smallest: the deep layers see CLS alone
        ([12, 9, 2], 12),
        ([16, 3], 16),  # one whole block
        ([61, 16, 40, 33], 64),  # several blocks, some of them all padding
        ([70, 18], 72),  # a shorter last block
    ],
)
def test_logits_equal_transformers(lengths: list[int], padded: int) -> None:
    model = classifier(3, **SMALL)
    points, mask, segments = inputs(lengths, padded)
    ours = Ours(model, CONFIG, 512).eval()(points, mask, segments)
    assert ours.shape == (len(lengths), 3)
    assert (ours - theirs(model, points, mask, segments)).abs().max().item() < 1e-5


@pytest.mark.e2e
def test_logits_equal_transformers_at_the_published_shape() -> None:
    """google/canine-c with one of its twelve deep layers and fewer buckets; a block of 128 and part of a second."""
    model = classifier(**BASE_SHAPED)
    points, mask, segments = inputs([148, 90], 148)
    ours = Ours(model, replace(SIZES["base"], layers=1, max_positions=1024), 1024).eval()
    difference = ours(points, mask, segments) - theirs(model, points, mask, segments)
    assert difference.abs().max().item() < 1e-5


def test_gradients_equal_transformers_in_training_without_dropout() -> None:
    model = classifier(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, **SMALL).train()
    ours = Ours(model, replace(CONFIG, dropout=0.0, attention_dropout=0.0), 512).train()
    points, mask, segments = inputs([44, 20], 44)
    ours(points, mask, segments).pow(3).sum().backward()
    theirs(model, points, mask, segments).pow(3).sum().backward()
    query = model.canine.initial_char_encoder.layer[0].attention.self.query.weight.grad
    torch.testing.assert_close(ours.encoder.local.qkv.weight.grad[:32], query, atol=1e-5, rtol=1e-4)
    convolution = model.canine.chars_to_molecules.conv.weight.grad  # (d, d, 4)
    found = ours.encoder.downsample.weight.grad.unflatten(1, (4, 32)).permute(0, 2, 1)
    torch.testing.assert_close(found, convolution, atol=1e-5, rtol=1e-4)
    tables = [getattr(model.canine.char_embeddings, f"HashBucketCodepointEmbedder_{k}").weight.grad for k in range(8)]
    torch.testing.assert_close(ours.embedding.weight.grad, torch.cat(tables), atol=1e-5, rtol=1e-4)


def test_single_states_equal_those_of_all() -> None:
    ours = Ours(classifier(**SMALL), CONFIG, 512).eval()
    points, mask, segments = inputs([40, 21], 40)
    vectors = ours.embedding.embed_types(points.flatten()[:, None]).unflatten(0, points.shape)
    columns, kept = torch.tensor([[0, 7], [3, 0]]), torch.tensor([0, 1, 2])
    states = ours.encoder(vectors, mask, segments)
    wanted = torch.stack([states[0, 0], states[0, 7], states[1, 3]])
    torch.testing.assert_close(ours.encoder.at(vectors, mask, segments, columns, kept), wanted, atol=1e-5, rtol=1e-5)
    both = ours.encoder.at(vectors, mask, segments, columns[:, :1], None)
    torch.testing.assert_close(both, torch.stack([states[0, 0], states[1, 3]]), atol=1e-5, rtol=1e-5)


def test_segments_count() -> None:
    ours = Ours(classifier(**SMALL), CONFIG, 512).eval()
    points, mask, segments = inputs([24], 24)
    none = ours(points, mask)
    assert torch.equal(ours(points, mask, torch.zeros_like(segments)), none)
    assert (ours(points, mask, segments) - none).abs().max().item() > 1e-3


@pytest.mark.parametrize("length", [2, 5, 16, 31])
def test_padding_changes_nothing(length: int) -> None:
    """To a multiple of four it is the same as to any other, and a length that is none is filled up to one."""
    ours = Ours(classifier(**SMALL), CONFIG, 512).eval()
    points, mask, segments = inputs([length], 40)
    long = ours(points, mask, segments)
    for shorter in (-(-length // 4) * 4, length):
        cut = (points[:, :shorter], mask[:, :shorter], segments[:, :shorter])
        torch.testing.assert_close(ours(*cut), long, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(ours(points[:, :length], None, segments[:, :length]), long, atol=1e-5, rtol=1e-5)


def test_transformers_itself_depends_on_padding_below_a_multiple_of_four() -> None:
    """Why templates pad to one: 18 characters have another result at length 18 than at 20."""
    model = classifier(**SMALL)
    points, mask, _ = inputs([18], 24)
    at_18, at_20, at_24 = (theirs(model, points[:, :n], mask[:, :n]) for n in (18, 20, 24))
    torch.testing.assert_close(at_20, at_24, atol=1e-5, rtol=1e-5)
    assert (at_18 - at_20).abs().max().item() > 1e-3


def influence(config: CanineConfig, length: int) -> tuple[Tensor, Tensor]:
    """Which characters move which characters (L, L) in the local layer, and which molecules (L / 4, L) before the deep
    ones: by gradients."""
    torch.manual_seed(0)
    encoder = CanineEncoder(replace(config, layers=1, dropout=0.0, attention_dropout=0.0))
    vectors = torch.randn(1, length, config.dim, requires_grad=True)
    states = encoder.local(vectors, None)
    local = [torch.autograd.grad(states[0, i].square().sum(), vectors, retain_graph=True)[0] for i in range(length)]
    given = torch.randn(1, length, config.dim, requires_grad=True)
    made = encoder._molecules(given)
    weights = torch.randn(config.dim)
    molecules = [
        torch.autograd.grad((made[0, j] * weights).sum(), given, retain_graph=True)[0] for j in range(length // 4)
    ]
    return tuple(torch.stack([g[0].abs().sum(-1) > 0 for g in found]) for found in (local, molecules))


def test_blocks_and_molecules_are_those_of_the_plain_version() -> None:
    """Blocks of 16: the third one has 8 characters; 10 molecules."""
    local, molecules = influence(CONFIG, 40)
    for place in range(40):
        assert local[place].nonzero()[:, 0].tolist() == oracle.neighbours(place, 40, block=16)
    for molecule in range(10):
        assert molecules[molecule].nonzero()[:, 0].tolist() == oracle.blocks_of_molecule(molecule, 40)


def test_there_are_fewer_states_than_characters() -> None:
    encoder = CanineEncoder(CONFIG)
    mask = torch.arange(10) < torch.tensor([[10], [4], [1]])
    assert encoder.states_mask(mask).tolist() == [[True] * 3, [True, False, False], [True, False, False]]
    assert encoder(torch.randn(3, 10, 32), mask).shape == (3, 3, 32)
    assert encoder.max_length == 512 and CanineEncoder(replace(CONFIG, max_positions=510)).max_length == 508


def test_fewer_positions_than_the_published_model_are_cut() -> None:
    """It has 16,384 of which 2,048 were trained."""
    model = classifier(**SMALL)
    encoder = CanineEncoder(replace(CONFIG, max_positions=100))
    encoder.load_state_dict(encoder.from_published(published(model)))
    assert torch.equal(encoder.positions.weight, model.canine.char_embeddings.char_position_embeddings.weight[:100])


def test_too_long_an_input() -> None:
    with pytest.raises(InputError, match="encoder: 516 characters, positions for 512; shorten max_length"):
        CanineEncoder(CONFIG)(torch.zeros(1, 516, 32), None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"heads": 2}, r"^weights test: num_attention_heads is 4, but heads of this encoder is 2; take the encoder"),
        ({"block": 128}, r"local_transformer_stride is 16, but block of this encoder is 128"),
        ({"layers": 3}, r"num_hidden_layers is 2, but layers of this encoder is 3"),
    ],
)
def test_another_shape_is_refused_even_where_no_tensor_shows_it(change: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        CanineEncoder(replace(CONFIG, **change)).from_published(published(classifier(**SMALL)))


def test_another_activation_is_refused() -> None:
    with pytest.raises(InputError, match="hidden_act is relu, only gelu is known; take other weights"):
        CanineEncoder(CONFIG).check_published({"hidden_act": "relu"}, "weights x")


def test_weights_of_another_model_are_refused() -> None:
    weights = published(classifier(**SMALL))
    other = replace(weights, tensors={"bert.embeddings.weight": torch.zeros(1)})
    with pytest.raises(InputError, match="no tensor 'chars_to_molecules.conv.weight' among 1; these are no weights of"):
        CanineEncoder(CONFIG).from_published(other)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"downsampling": 0}, "downsampling 0 is no whole number from 1 on; correct it"),
        ({"block": 0}, "block 0 is no whole number from 1 on; correct it"),
        ({"max_positions": 3}, "max_positions 3 are fewer than downsampling 4, the characters of one state; raise"),
    ],
)
def test_sizes_that_cannot_be(change: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=f"^encoder: {message}"):
        replace(CONFIG, **change)


@pytest.mark.parametrize("length", [16, 40])
def test_characters_have_states_again_as_in_transformers(length: int) -> None:
    """Without padding the way back to characters is that of `CanineModel`, given its weights."""
    model = classifier(**SMALL)
    ours = Ours(model, CONFIG, 512).eval()
    theirs_model, up = model.canine, ours.encoder.token_layers().eval()
    convolution = theirs_model.projection.conv
    up.up.weight.data = convolution.weight.permute(0, 2, 1).flatten(1)
    up.up.bias.data = convolution.bias
    up.norm.load_state_dict(theirs_model.projection.LayerNorm.state_dict())
    layer = published_layer(published(model), "layer", "final_char_encoder.layer.0")
    up.layer.load_state_dict({name.removeprefix("layer."): tensor for name, tensor in layer.items()})
    points, mask, _ = inputs([length], length)
    with torch.inference_mode():
        expected = theirs_model(points, attention_mask=mask.long()).last_hidden_state
        vectors = ours.embedding.embed_types(points.flatten()[:, None]).unflatten(0, points.shape)
        found = up(ours.encoder.token_states(vectors, None), None)
    assert torch.allclose(found, expected, atol=1e-5)


def test_padding_does_not_reach_the_states_of_characters() -> None:
    torch.manual_seed(0)
    encoder = CanineEncoder(CONFIG).eval()
    up = encoder.token_layers().eval()
    vectors = torch.randn(1, 21, 32)
    mask = torch.ones(1, 36, dtype=torch.bool)
    mask[:, 21:] = False
    padded = torch.cat([vectors, torch.randn(1, 15, 32)], dim=1)
    with torch.inference_mode():
        alone = up(encoder.token_states(vectors, None), None)
        beside = up(encoder.token_states(padded, mask), mask)[:, :21]
    assert alone.shape == (1, 21, 32) and torch.allclose(alone, beside, atol=1e-5)
