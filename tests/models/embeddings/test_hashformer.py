"""Pool, Add and Proj against their equations in plain Python, and what special tokens get."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from hashbench.models.embeddings.base import Batch
from hashbench.models.embeddings.hashformer import Add, BitEmbedding, Pool, Projection, chunk_powers, unpack_bits
from tests.oracles import hashformers as oracle

DIM = 6
PLAY = "95ea122b0b72902c5a95d7ba740ff838"  # HMAC-MD5 of "play", key "en" (released code)
PLAYS = "f75bd557c7ca967ff75cdd26f4987fc1"
CODES = [PLAY, PLAYS, "0" * 32, "f" * 32, "0123456789abcdef" * 2]
# Codewords of "play": 12 chunks of ten bits and one of eight, worked out from the digest.
PLAY_CODEWORDS = [599, 673, 138, 779, 458, 258, 790, 661, 862, 935, 259, 1016, 56]
KINDS = [Pool, Add, Projection]


def packed(codes: list[str]) -> Tensor:
    return torch.tensor([list(bytes.fromhex(code)) for code in codes], dtype=torch.uint8)


def made(kind: type[BitEmbedding], **arguments: bool | float) -> BitEmbedding:
    torch.manual_seed(3)
    return kind(DIM, **arguments).eval()  # type: ignore[call-arg]


def by_oracle(embedding: BitEmbedding, code: str) -> list[float]:
    bits = oracle.bits_of(code)
    if isinstance(embedding, Pool):
        return oracle.pool(bits, embedding.codebook.tolist(), embedding.weight.tolist(), 10)
    if isinstance(embedding, Add):
        return oracle.add(bits, *embedding.weight.tolist())
    assert isinstance(embedding, Projection)
    return oracle.projection(bits, embedding.weight.tolist(), 1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("generic_row", [True, False])
def test_types_equal_the_equation(kind: type[BitEmbedding], generic_row: bool) -> None:
    embedding = made(kind, generic_row=generic_row)
    expected = torch.tensor([by_oracle(embedding, code) for code in CODES])
    if generic_row:
        expected = expected + embedding.specials[5]
    torch.testing.assert_close(embedding.embed_types(packed(CODES)), expected, atol=1e-6, rtol=1e-5)


def test_bits_are_unpacked_highest_first() -> None:
    assert unpack_bits(packed([PLAY]))[0].tolist() == oracle.bits_of(PLAY)


def test_codewords_of_play() -> None:
    embedding = made(Pool)
    assert isinstance(embedding, Pool)
    assert embedding.codewords(unpack_bits(packed([PLAY])))[0].tolist() == PLAY_CODEWORDS
    assert oracle.codewords(oracle.bits_of(PLAY), 10) == PLAY_CODEWORDS


def test_chunk_powers_leave_the_last_chunk_unpadded() -> None:
    powers = chunk_powers(128, 10)
    assert powers.shape == (128, 13)
    assert powers.sum(0).tolist() == [1023.0] * 12 + [255.0]


def test_projection_of_constant_bits_is_zero() -> None:
    vectors = made(Projection, generic_row=False).embed_types(packed(["0" * 32, "f" * 32]))
    assert vectors.tolist() == [[0.0] * DIM] * 2


def test_projection_is_float32_under_autocast() -> None:
    embedding = made(Projection)
    plain = embedding.embed_types(packed(CODES))
    with torch.autocast("cpu", torch.bfloat16):
        torch.testing.assert_close(embedding.embed_types(packed(CODES)), plain, atol=0, rtol=0)


def test_pool_codewords_are_exact_under_autocast() -> None:
    embedding = made(Pool)
    assert isinstance(embedding, Pool)
    with torch.autocast("cpu", torch.bfloat16):
        assert embedding.codewords(unpack_bits(packed([PLAY])))[0].tolist() == PLAY_CODEWORDS


@pytest.mark.parametrize("kind", KINDS)
def test_special_rows_are_own_rows_plus_the_equation_at_zero_bits(kind: type[BitEmbedding]) -> None:
    embedding = made(kind)
    base = [0.0] * DIM if kind is Pool else by_oracle(embedding, "0" * 32)  # Pool: the padding codeword, zero
    expected = embedding.specials[:5] + torch.tensor(base)
    torch.testing.assert_close(embedding.special_rows(), expected, atol=1e-6, rtol=1e-5)


def test_pool_padding_codeword_can_be_random_and_is_frozen() -> None:
    embedding = made(Pool, zero_pad_rows=False)
    assert isinstance(embedding, Pool)
    assert not embedding.padding.requires_grad and embedding.padding.abs().min() > 0
    torch.testing.assert_close(embedding.special_rows(), embedding.specials[:5] + embedding.padding)


@pytest.mark.parametrize("kind", KINDS)
def test_forward_lays_types_and_specials_at_their_positions(kind: type[BitEmbedding]) -> None:
    embedding = made(kind)
    positions = torch.tensor([[0, 5, 6, 2, 1], [0, 6, 4, 5, 2]])
    vectors = embedding(Batch(packed([PLAY, PLAYS]), positions, positions != 1))
    types, specials = embedding.embed_types(packed([PLAY, PLAYS])), embedding.special_rows()
    expected = torch.stack([torch.stack([specials[p] if p < 5 else types[p - 5] for p in row]) for row in positions])
    torch.testing.assert_close(vectors, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_of_special_tokens_alone_works(kind: type[BitEmbedding]) -> None:
    embedding = made(kind)
    positions = torch.tensor([[0, 2]])
    vectors = embedding(Batch(packed(CODES)[:0], positions, positions >= 0))
    torch.testing.assert_close(vectors[0], embedding.special_rows()[[0, 2]])


def test_add_drops_weights_once_a_pass_for_all_tokens() -> None:
    """With one mask, equal types and special tokens of a pass share it: two passes differ, two places do not."""
    embedding = made(Add, weight_dropout=0.5).train()
    positions = torch.tensor([[0, 5, 6, 2]])  # both types have bits 0, as special tokens do
    batch = Batch(packed(["0" * 32, "0" * 32]), positions, positions >= 0)
    first, second = embedding(batch), embedding(batch)
    torch.testing.assert_close(first[0, 1], first[0, 2])
    base = first[0, 1] - embedding.specials[5]
    torch.testing.assert_close(first[0, 0] - embedding.specials[0], base)
    torch.testing.assert_close(first[0, 3] - embedding.specials[2], base)
    assert not torch.allclose(first, second)


def test_add_scale_can_be_set() -> None:
    plain, unscaled = made(Add, generic_row=False), made(Add, generic_row=False, add_scale=1.0)
    scaled = plain.embed_types(packed(CODES)) * 128**0.5
    torch.testing.assert_close(unscaled.embed_types(packed(CODES)), scaled)


@pytest.mark.e2e
def test_pool_drops_codewords_elementwise() -> None:
    """With equal codewords, equal weights and p = 0.5 the mean of many dimensions stays; single values do not."""
    torch.manual_seed(0)
    embedding = Pool(20_000, codeword_dropout=0.5, generic_row=False)
    with torch.no_grad():
        embedding.codebook.fill_(1.0)
        embedding.weight.zero_()
    vector = embedding.embed_types(packed([PLAY]))[0]
    # a sum of 13 masks of 0 or 2, divided by 13: mean 1, variance 1/13 = 0.0769
    assert vector.mean().item() == pytest.approx(1.0, abs=0.01)
    assert vector.var().item() == pytest.approx(1 / 13, rel=0.05)


@pytest.mark.parametrize(
    ("kind", "formula_rows"),
    [(Pool, 1024 + 13), (Add, 256), (Projection, 128)],  # appendix B, eq. 13 to 15
)
def test_embedding_parameters_are_the_formula_and_one_row(kind: type[BitEmbedding], formula_rows: int) -> None:
    assert made(kind).embedding_parameters() == (formula_rows + 1) * DIM
    assert made(kind, generic_row=False).embedding_parameters() == formula_rows * DIM


@pytest.mark.parametrize(
    ("kind", "std"),
    [(Add, 0.0176), (Projection, 0.0887), (Pool, 0.0049)],  # std of a fresh token part, measured on the released code
)
def test_scale_of_fresh_vectors(kind: type[BitEmbedding], std: float) -> None:
    torch.manual_seed(0)
    embedding = kind(512, generic_row=False).eval()  # type: ignore[call-arg]
    codes = torch.randint(0, 256, (256, 16), dtype=torch.uint8)
    assert embedding.embed_types(codes).std().item() == pytest.approx(std, rel=0.05)


@pytest.mark.parametrize("kind", [Add, Projection, Pool])
def test_other_code_lengths(kind: type[BitEmbedding]) -> None:
    embedding = kind(DIM, bits=256, generic_row=False).eval()  # type: ignore[call-arg]
    code = PLAY + PLAYS
    expected = torch.tensor(by_oracle(embedding, code))
    torch.testing.assert_close(embedding.embed_types(packed([code]))[0], expected, atol=1e-6, rtol=1e-5)
