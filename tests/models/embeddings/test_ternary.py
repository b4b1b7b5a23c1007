"""A dense layer over ternary features: its vectors, its counts, its special tokens."""

from __future__ import annotations

import pytest
import torch

from hashbench.common.errors import InputError
from hashbench.models.coders.ternary_projection import TernaryProjection
from hashbench.models.embeddings.base import PAD, Batch
from hashbench.models.embeddings.pqrnn import TernaryDense
from hashbench.models.embeddings.registry import find_model
from hashbench.models.encoders.base import architectures, make_encoder
from hashbench.running.experiment.sizing import with_budget
from tests.models.coders.test_ternary_projection import slowly

WORDS = ["cat", "", "日本", "x" * 100]


def by_hand(embedding: TernaryDense, features: list[int]) -> torch.Tensor:
    y = embedding.dense.weight @ torch.tensor(features, dtype=torch.float32) + embedding.dense.bias
    y = (y - y.mean()) / (y.var(correction=0) + 1e-5).sqrt()
    return (embedding.norm.weight * y + embedding.norm.bias).clamp(min=0)


def drawn(dim: int, **arguments: object) -> TernaryDense:
    torch.manual_seed(0)
    embedding = TernaryDense(dim, **arguments)  # type: ignore[arg-type]
    for parameter in embedding.parameters():
        torch.nn.init.normal_(parameter)
    return embedding


@pytest.mark.parametrize("hash", ["murmur", "xfixhash16"])
def test_vectors_are_a_layer_over_the_features(hash: str) -> None:
    hashing = {"features": 70, "hash": hash}
    embedding, coder = drawn(6, hashing=hashing), TernaryProjection(**hashing)  # type: ignore[arg-type]
    vectors = embedding.embed_types(torch.from_numpy(coder.encode(WORDS)))
    for vector, word in zip(vectors, WORDS, strict=True):
        torch.testing.assert_close(vector, by_hand(embedding, slowly(word, 70, hash)))


def test_what_follows_from_its_options_is_not_among_its_weights() -> None:
    assert set(TernaryDense(6).state_dict()) == {"dense.weight", "dense.bias", "norm.weight", "norm.bias"}


def test_a_bottleneck_is_mapped_to_the_width_of_the_encoder() -> None:
    embedding, coder = drawn(6, bottleneck=5, hashing={"features": 70}), TernaryProjection(features=70)
    (vector,) = embedding.embed_types(torch.from_numpy(coder.encode(["cat"])))
    assert isinstance(embedding.last, torch.nn.Linear)
    inner = by_hand(embedding, slowly("cat", 70))
    torch.testing.assert_close(vector, embedding.last.weight @ inner + embedding.last.bias)
    with pytest.raises(InputError, match="bottleneck 0 is no whole number from 1 on; correct it"):
        TernaryDense(6, bottleneck=0)


def test_special_tokens_are_hashed_as_their_names() -> None:
    embedding = drawn(6)
    begin, padding, end, unknown, mask = embedding.special_rows()
    for vector, name in ((begin, "<BOS>"), (end, "<EOS>"), (unknown, "<unk>"), (mask, "<mask>")):
        torch.testing.assert_close(vector, by_hand(embedding, slowly(name)))
    torch.testing.assert_close(padding, by_hand(embedding, [0] * 512))


@pytest.mark.parametrize(
    ("features", "dim", "count"), [(512, 64, 32_960), (512, 256, 131_840), (1_024, 256, 262_912), (512, 128, 65_920)]
)
def test_published_counts(features: int, dim: int, count: int) -> None:
    """F b + 3 b, the projection of pQRNN's sizes; PRADO's two layers of 64 units are one of 128."""
    with torch.device("meta"):
        embedding = TernaryDense(dim, hashing={"features": features})
    assert embedding.embedding_parameters() == count
    assert embedding.multiply_adds() == features * dim


def test_a_budget_sets_the_features() -> None:
    sized = with_budget(find_model("ternary-dense"), 128, 230_000)
    assert (sized.size, sized.parameters) == (1_794, 230_016)
    assert with_budget(find_model("ternary-dense"), 128, 6_400_000).size == 49_997


# Of one vector a text; and of another library, which need not be installed.
APART = {"perceptron", "transformers"}


@pytest.mark.parametrize("kind", sorted(set(architectures()) - APART))
def test_every_encoder_reads_it(kind: str) -> None:
    """Padding changes no state of a token, and gradients reach the dense layer."""
    torch.manual_seed(0)
    encoder = make_encoder(kind, "tiny", dim=16)
    embedding = TernaryDense(encoder.config.dim, hashing={"features": 70})
    codes = torch.from_numpy(TernaryProjection(features=70).encode(WORDS))
    states = []
    for padding in (4, 8):  # with two special tokens two blocks of CANINE, then three
        positions = torch.tensor([[0, 5, 6, 7, 8, 2, *[PAD] * (padding - 2)]])
        batch = Batch(codes, positions, positions != PAD)
        encoder.train(False)
        states.append(encoder(embedding(batch), batch.mask)[:, :1])
    torch.testing.assert_close(*states, atol=1e-5, rtol=1e-5)
    encoder(embedding(batch), batch.mask).square().sum().backward()
    assert embedding.dense.weight.grad is not None and bool(embedding.dense.weight.grad.any())
