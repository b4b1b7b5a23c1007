"""The spread of vectors: against plain arithmetic, and what counts as a word's vectors."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from hashbench.models.coders.rows import Vocabulary
from hashbench.models.embeddings.base import Template
from hashbench.models.embeddings.lookup import LookupTable
from hashbench.models.embeddings.superbloom import SuperbloomText
from hashbench.models.encoders.base import make_encoder
from hashbench.running.training.spread import (
    WORDS,
    batch_of_words,
    frequent_words,
    position_spread,
    spread_of,
    word_spread,
)

PIECES = {"cat": ["cat"], "cats": ["cat", "s"], "dog": ["dog"], "": []}
DIM = 4


@pytest.fixture
def table() -> LookupTable:
    torch.manual_seed(3)
    return LookupTable(DIM, 8)


def coder() -> Vocabulary:
    fitted = Vocabulary()
    assert fitted.fit_pieces(["cat", "s", "dog"])
    return fitted


def test_the_list_has_so_many_distinct_words_of_plain_letters() -> None:
    words = frequent_words()
    assert len(words) == len(set(words)) == WORDS
    assert all(word.isascii() and word.isalpha() and word.islower() for word in words)
    assert words[:3] == ("the", "of", "and")


def test_each_word_has_one_weight_however_many_tokens_it_has(table: LookupTable) -> None:
    batch = batch_of_words(PIECES.__getitem__, coder(), Template(), ["cat", "cats", "dog"])
    cat, s, dog = table.weight[5:8].detach().double().numpy()
    mean = (cat + (cat + s) / 2 + dog) / 3
    squares = [((row - mean) ** 2).mean() for row in (cat, s, dog)]
    by_hand = math.sqrt((squares[0] + (squares[0] + squares[1]) / 2 + squares[2]) / 3)
    assert word_spread(table, batch) == pytest.approx(by_hand, rel=1e-6)


def test_words_without_a_token_are_left_out(table: LookupTable) -> None:
    some = batch_of_words(PIECES.__getitem__, coder(), Template(), ["cat", "dog"])
    more = batch_of_words(PIECES.__getitem__, coder(), Template(), ["cat", "", "dog"])
    assert word_spread(table, more) == pytest.approx(word_spread(table, some), rel=1e-6)


def test_what_all_words_share_does_not_count() -> None:
    drawn = torch.from_numpy(np.random.default_rng(0).normal(size=(50, DIM)))
    weights = torch.full((50,), 1 / 50)
    plain = spread_of(drawn, weights)
    assert spread_of(drawn + torch.tensor([1.0, -2.0, 30.0, 0.0]), weights) == pytest.approx(plain)
    assert plain == pytest.approx(float(drawn.std(0, correction=0).square().mean().sqrt()))


def test_position_vectors_are_those_in_use_of_encoder_or_embedding() -> None:
    torch.manual_seed(0)
    encoder = make_encoder("bert", "tiny")
    with torch.no_grad():
        encoder.get_parameter("positions.weight")[:2] = 1e6  # RoBERTa's rows that no token has
    assert position_spread(encoder) == pytest.approx(0.0176, rel=0.02)  # 0.02, cut at two standard deviations
    assert position_spread(make_encoder("plain", "tiny")) is None
    assert position_spread(SuperbloomText(DIM, items=64)) == pytest.approx(0.0176, rel=0.05)
