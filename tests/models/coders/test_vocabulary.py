"""Rows of a vocabulary."""

from __future__ import annotations

import pytest

from hashbench.models.coders.base import make_coder
from hashbench.models.coders.rows import Vocabulary
from hashbench.models.text.types import TypeTable


def test_pieces_in_their_order_stand_behind_the_specials() -> None:
    coder = Vocabulary()
    coder.fit_pieces(["Ġthe", "é", "a"])
    assert coder.encode(["a", "Ġthe", "é", "unseen", ""])[:, 0].tolist() == [7, 5, 6, 3, 3]
    assert coder.num_rows == 8


def test_types_in_the_order_of_their_table() -> None:
    coder = Vocabulary()
    coder.fit(TypeTable.from_counts({"rare": 1, "often": 9}))
    assert coder.encode(["rare", "often"])[:, 0].tolist() == [6, 5]


def test_a_special_token_in_a_text_is_no_special_token() -> None:
    coder = Vocabulary()
    coder.fit_pieces(["a"])
    assert coder.encode(["<s>", "<mask>"])[:, 0].tolist() == [3, 3]


def test_a_tokenizer_without_pieces_leaves_types_to_be_learned() -> None:
    coder = Vocabulary()
    assert not coder.fit_pieces([]) and coder.state() == {}
    assert coder.fit_pieces(["a"]) and coder.strings() == ["a"]


def test_a_coder_that_hashes_learns_no_pieces_and_numbers_no_rows() -> None:
    coder = make_coder("md5-bits")
    assert not coder.fit_pieces(["a"]) and coder.num_rows is None and coder.strings() is None


def test_unfitted_says_so() -> None:
    with pytest.raises(RuntimeError, match="not fitted; call fit, fit_pieces or restore first"):
        Vocabulary().encode(["a"])
