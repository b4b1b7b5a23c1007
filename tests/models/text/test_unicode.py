"""Tables of code points against Python's own `re` and `str.lower`; odd strings as UTF-8."""

from __future__ import annotations

import re

import pytest

from hashbench.models.text.unicode import (
    CLASS_BITS,
    NOT_BY_CHARACTER,
    OTHER,
    SPACE,
    WORD,
    fold_table,
    lower_utf8,
    utf8,
    well_formed,
)

CLASS = (1 << CLASS_BITS) - 1


def test_every_code_point_has_the_class_and_lower_case_of_python() -> None:
    table = fold_table(True, True).tolist()
    word, space = re.compile(r"\w"), re.compile(r"\s")
    for point in range(0x110000):
        character = chr(point)
        if character in NOT_BY_CHARACTER:
            continue
        lowered = character.lower()
        expected = WORD if word.match(lowered) else SPACE if space.match(lowered) else OTHER
        assert table[point] == (ord(lowered) << CLASS_BITS | expected), hex(point)


def test_without_lower_casing_a_character_stays() -> None:
    table = fold_table(True, False)
    assert table[ord("A")] == (ord("A") << CLASS_BITS | WORD)
    assert table[0x130] >> CLASS_BITS == 0x130


def test_whitespace_pattern_makes_no_difference_between_words_and_punctuation() -> None:
    table = fold_table(False, True)
    assert table[ord("a")] & CLASS == table[ord(",")] & CLASS == OTHER
    assert table[ord(" ")] & CLASS == table[0x3000] & CLASS == SPACE  # U+3000: ideographic space


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\ud800b", "a\ufffdb"),
        ("\udc00", "\ufffd"),
        ("end\ud83d", "end\ufffd"),
        ("\ud83d\ude00", "\U0001f600"),  # a pair means one character
        ("nul\0nul", "nul\0nul"),
        ("", ""),
    ],
)
def test_unpaired_surrogates_become_replacement_characters(text: str, expected: str) -> None:
    assert well_formed(text) == expected
    assert utf8(text) == expected.encode()


def test_lower_casing_that_needs_its_context_is_done_by_python() -> None:
    assert lower_utf8("ΟΔΟΣ").decode() == "οδος"  # the last sigma is a final one
    assert lower_utf8("İ").decode() == "i\u0307"
    assert lower_utf8("É").decode() == "É"  # left to the scan
