"""Projections of words in context and of sentences: worked examples, the definition in plain Python, exact counts."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from hashbench.common.errors import InputError
from hashbench.data.sources.batching import Collator, encode_rows
from hashbench.models.coders.projection import ProjectionCoder
from hashbench.models.embeddings.base import PAD, SPECIALS, Batch, ModelSpec
from hashbench.models.embeddings.proformer import SENTENCE_BITS, Proformer, SentenceProjection
from hashbench.models.embeddings.registry import build_embedding, find_model, groups
from hashbench.models.text.types import TokenizedTexts
from hashbench.running.efficiency.parameters import Counts, count
from tests.oracles import proformer as oracle

SENTENCE = ["show", "flights", "to", "boston"]
SENTENCE_CODER = {"bits": SENTENCE_BITS, "places": 1}


def batch_of(*sentences: list[str], padding: int = 0, **coder: int) -> Batch:
    """Sentences as a batch; words are numbered in order of appearance."""
    types = list(dict.fromkeys(word for words in sentences for word in words))
    longest = max(map(len, sentences)) + padding
    positions = torch.full((len(sentences), longest), PAD)
    for row, words in zip(positions, sentences, strict=True):
        row[: len(words)] = torch.tensor([len(SPECIALS) + types.index(word) for word in words])
    return Batch(torch.from_numpy(ProjectionCoder(**coder).encode(types)), positions, positions != PAD)


def sums_of(embedding: Proformer, batch: Batch) -> Tensor:
    """S (B, L, T), by a map that shows the bits: T dimensions, one a bit."""
    with torch.no_grad():
        embedding.weight.copy_(torch.eye(len(embedding.weight)))
    return embedding(batch)


def bits_of(embedding: Proformer, batch: Batch) -> list[list[list[int]]]:
    return sums_of(embedding, batch).int().tolist()


@pytest.mark.parametrize(("word", "ones", "first"), [("flights", 218, "4890dd7cf93b5bcb"), ("show", 222, None)])
def test_worked_examples_in_context(word: str, ones: int, first: str | None) -> None:
    """Of "show flights to boston", context 1."""
    bits = bits_of(Proformer(420, own_weight=2), batch_of(SENTENCE))[0][SENTENCE.index(word)]
    assert sum(bits) == ones
    if first:
        assert oracle.hexadecimal(bits[:64]) == first


def test_the_oracle_gives_the_worked_sums() -> None:
    flights, show = (oracle.in_context(SENTENCE, i, own_weight=2) for i in (1, 0))
    assert flights[:8] == [-10, -6, -8, 12, -20, -22, 10, -18] and sum(flights) == 184 and flights.count(0) == 15
    assert show[:8] == [-26, -8, 6, 12, -4, -2, -2, 0] and sum(show) == -234 and show.count(0) == 39


@pytest.mark.parametrize("context", [0, 1])
def test_bits_equal_the_definition(context: int) -> None:
    others = ["to", "flights"]
    found = bits_of(Proformer(420, context=context), batch_of(SENTENCE, others))
    for row, words in zip(found, (SENTENCE, others), strict=True):
        expected = [oracle.bits_of(oracle.in_context(words, i, context)) for i in range(len(words))]
        assert row[: len(words)] == expected
        assert row[len(words) :] == [[0] * 420] * (len(SENTENCE) - len(words))  # padding: zeros


def test_signed_bits_are_minus_one_and_one() -> None:
    plain, signed = (sums_of(Proformer(420, signed=s), batch_of(SENTENCE)) for s in (False, True))
    assert torch.equal(signed, 2 * plain - 1)


def test_own_weight_counts_the_word_itself() -> None:
    """With weight 16 the neighbours decide hardly more than ties."""
    alone = sums_of(Proformer(420, context=0), batch_of(SENTENCE))
    heavy = sums_of(Proformer(420, own_weight=16), batch_of(SENTENCE))
    assert (alone == heavy).float().mean() > 0.8  # sums of 0 are frequent in short words
    assert not torch.equal(alone, heavy)


def test_sums_do_not_overflow() -> None:
    """1,534 features, sixteen times, and two such neighbours: 27,612. Of one letter all features but ten are equal."""
    long = "x" * 256
    found = bits_of(Proformer(420, own_weight=16), batch_of([long, long, long]))[0][1]
    places = [oracle.sums(long, place) for place in range(3)]
    expected = [16 * own + left + right for own, left, right in zip(*places, strict=True)]
    assert max(map(abs, expected)) > 20_000 and found == oracle.bits_of(expected)


def test_padding_changes_nothing() -> None:
    embedding = Proformer(6)
    plain, padded = embedding(batch_of(SENTENCE)), embedding(batch_of(SENTENCE, padding=3))
    torch.testing.assert_close(padded[:, :4], plain)  # a product of more rows
    assert not padded[:, 4:].any()


def test_a_word_alone_is_what_embed_types_gives() -> None:
    embedding = Proformer(6)
    batch = batch_of(["boston"])
    torch.testing.assert_close(embedding(batch)[0], embedding.embed_types(batch.codes))


def test_a_pair_has_a_separator_that_is_a_word() -> None:
    spec = find_model("proformer")
    texts = [TokenizedTexts(np.array(ids, np.int32), np.array([0, len(ids)])) for ids in ([0, 1], [2])]
    rows = encode_rows(texts, spec.text.template, max_length=64)
    codes = ProjectionCoder().encode(["show", "flights", "boston"])
    batch = Collator(codes, spec.text.template)(rows.padded(np.array([0]), -2), row_ids=np.array([0]))
    found = bits_of(Proformer(420), batch)[0]
    words = ["show", "flights", "[sep]", "boston"]
    assert found == [oracle.bits_of(oracle.in_context(words, i)) for i in range(4)]


def test_special_tokens_are_words_and_padding_is_zero() -> None:
    embedding = Proformer(6)
    rows = embedding.special_rows()
    assert not rows[PAD].any()
    torch.testing.assert_close(rows[2:3], embedding.embed_types(torch.from_numpy(ProjectionCoder().encode(["[sep]"]))))


def test_only_the_map_is_learned() -> None:
    embedding = Proformer(6)
    assert [name for name, _ in embedding.named_parameters()] == ["weight"] == list(embedding.state_dict())
    assert embedding.embedding_parameters() == 6 * 420


def test_coder_arguments_reach_the_embedding() -> None:
    spec = find_model("proformer").with_args(code={"bits": 100, "seed": 3})
    embedding = build_embedding(spec, 6)
    assert isinstance(embedding, Proformer) and embedding.weight.shape == (6, 100)
    expected = torch.from_numpy(ProjectionCoder(bits=100, seed=3).encode(["[sep]"]))
    assert torch.equal(embedding.special_sums[2:3], expected)


def test_a_sentence_is_one_sum_and_one_sign() -> None:
    embedding = SentenceProjection(SENTENCE_BITS, hashing=SENTENCE_CODER)
    with torch.no_grad():
        embedding.first.weight.copy_(torch.eye(SENTENCE_BITS))
        embedding.first.bias.zero_()
    sentences = [["show", "flights"], ["boston"]]
    batch = batch_of(*sentences, padding=2, **SENTENCE_CODER)
    vectors = embedding(batch)
    assert vectors.shape == (2, 1, SENTENCE_BITS) and embedding.vectors_mask(batch.mask).tolist() == [[True], [True]]
    for row, words in zip(vectors[:, 0].int().tolist(), sentences, strict=True):
        total = np.sum([oracle.sums(word, 0, SENTENCE_BITS) for word in words], axis=0)
        assert row == oracle.bits_of(total.tolist())


def test_a_sentence_of_many_long_words_does_not_overflow() -> None:
    embedding = SentenceProjection(64, hashing={"bits": 64, "places": 1})
    with torch.no_grad():
        embedding.first.weight.copy_(torch.eye(64))
        embedding.first.bias.zero_()
    long = "x" * 256
    found = embedding(batch_of([long] * 400, bits=64, places=1))[0, 0].int().tolist()
    assert found == oracle.bits_of(oracle.sums(long, 0, 64))


# Exact counts (tables, section 4, and appendix B of HashFormers): projection 322,560, LayerNorm 1,536, a layer of 3,072
# 7,087,872 or of 768 3,546,624, groups 2,363,904, pooler 590,592, head 769 a class.
COUNTS = {
    "proformer": Counts(14_501_378, 322_560),
    "proformer-k4": Counts(16_865_282, 322_560),
    "proformer-i768": Counts(7_418_882, 322_560),
    "proformer-i768-k4": Counts(9_782_786, 322_560),
    "proformer-glue": Counts(15_091_970, 322_560),
    "sgnn": Counts(354_310, 0),
    "bert-2l-560": Counts(25_239_766, 17_092_320),
    "bert-2l-840": Counts(43_739_646, 25_638_480),
    "bert-2l": Counts(38_603_520, 23_440_896),
}
BY_TASK = {  # 6, 21, 4 and 10 classes: MRDA, ATIS, AG News, Yahoo! Answers
    "proformer": {6: 14_504_454, 21: 14_515_989, 4: 14_502_916, 10: 14_507_530, 0: 14_499_840},
    "proformer-k4": {6: 16_868_358, 21: 16_879_893, 4: 16_866_820, 10: 16_871_434},
}


@pytest.mark.parametrize("name", COUNTS)
def test_exact_counts(name: str) -> None:
    assert count(find_model(name)) == COUNTS[name]


@pytest.mark.parametrize("name", BY_TASK)
def test_exact_counts_by_task(name: str) -> None:
    """0 classes: the 14.4 M of section 4."""
    for classes, total in BY_TASK[name].items():
        assert count(find_model(name), n_classes=classes or 1).total - (0 if classes else 769) == total


def test_sgnn_with_420_bits() -> None:
    spec = find_model("sgnn").with_args(code={"bits": 420, "places": 1})
    assert count(spec).total == 175_110


def with_encoder(name: str, **values: int) -> ModelSpec:
    spec = find_model(name)
    return spec.with_args(encoder=values)


def test_counts_of_other_readings() -> None:
    """Learned positions 393,216; a 2-layer BERT of intermediate size d."""
    assert count(with_encoder("proformer", max_positions=512)).total - 14_501_378 == 393_216
    assert count(with_encoder("bert-2l-560", feed_forward=560)).total == 21_473_206
    assert count(with_encoder("bert-2l-840", feed_forward=840)).total == 35_267_406


def test_groups() -> None:
    assert groups()["proformers"] == ["proformer", "proformer-k4"]
    assert groups()["two-layer-berts"] == ["bert-2l-560", "bert-2l-840"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"context": 2}, r"^context 2 is neither 0 nor 1"),
        ({"own_weight": 0}, r"^own_weight 0 is no whole number from 1 to 16; correct it$"),
        ({"hashing": {"places": 1}}, r"^context 1 needs the sums of three places; write coder: \{places: 3\}"),
        ({"hashing": {"bits": 0}}, r"^coder projection: bits 0 is no whole number"),
    ],
)
def test_wrong_arguments(arguments: dict, text: str) -> None:
    with pytest.raises(InputError, match=text):
        Proformer(6, **arguments)
