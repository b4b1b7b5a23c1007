"""Codes of characters and bytes."""

from __future__ import annotations

import pytest

from hashbench.models.coders.base import Coder
from hashbench.models.coders.rows import ByteRows, CodePoints
from hashbench.models.portable import tokens
from hashbench.models.text.characters import ByteTokenizer


def test_a_character_is_its_code_point() -> None:
    assert CodePoints().encode(["a", "\0", "é", "日", "\U0010ffff"])[:, 0].tolist() == [97, 0, 233, 0x65E5, 0x10FFFF]


def test_what_is_no_character_is_the_replacement_character() -> None:
    assert CodePoints().encode(["ab", "", "\ufffd"])[:, 0].tolist() == [0xFFFD] * 3


def test_each_byte_has_a_row_of_its_own() -> None:
    assert ByteRows().encode([chr(byte) for byte in range(256)])[:, 0].tolist() == list(range(5, 261))


def test_rows_of_a_text() -> None:
    assert ByteRows().encode(ByteTokenizer().tokenize("né"))[:, 0].tolist() == [5 + 0x6E, 5 + 0xC3, 5 + 0xA9]


def test_what_is_no_byte_is_unknown() -> None:
    assert ByteRows().encode(["", "ab", "Ā"])[:, 0].tolist() == [3, 3, 3]


@pytest.mark.parametrize("coder", [ByteRows(), CodePoints()])
def test_the_step_for_a_device_gives_the_same_rows(coder: Coder) -> None:
    part = coder.portable()
    assert part is not None
    step = getattr(tokens, part.entry)(part.values, str)
    given = ["", "ab", "Ā", "日", *map(chr, range(256))]
    assert list(map(step, given)) == coder.encode(given).tolist()
