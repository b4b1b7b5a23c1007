"""Code points of characters."""

from __future__ import annotations

from hashbench.models.coders.codepoints import CodePoints


def test_a_character_is_its_code_point() -> None:
    assert CodePoints().encode(["a", "\0", "é", "日", "\U0010ffff"])[:, 0].tolist() == [97, 0, 233, 0x65E5, 0x10FFFF]


def test_what_is_no_character_is_the_replacement_character() -> None:
    assert CodePoints().encode(["ab", "", "\ufffd"])[:, 0].tolist() == [0xFFFD] * 3
