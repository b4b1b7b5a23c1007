"""common/numbers.py: whole numbers that a text writes."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from hashbench.common.showing import whole_number


@given(st.integers(0, 10**18 - 1))
def test_digits_are_their_number(number: int) -> None:
    assert whole_number(str(number)) == number


@given(st.text(st.characters(categories=["Nd", "No", "Nl", "Pd", "Zs"]), max_size=30))
def test_any_text_is_a_number_or_none(text: str) -> None:
    number = whole_number(text)
    assert (number is None) == (not text or len(text) > 18 or not all(letter in "0123456789" for letter in text))


def test_what_isdigit_takes_for_digits_is_none() -> None:
    assert "\u00b2".isdigit() and unicodedata.normalize("NFKC", "\u00b2") == "2"
    assert whole_number("\u00b2") is whole_number("9" * 5000) is whole_number("") is None
