"""Bytes by positions against the indices of the authors' package."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.models.coders.byte_positions import BytePositions

LONG, HINDI, TOKYO = "internationalization", "\u0928\u092e\u0938\u094d\u0924\u0947", "\u6771\u4eac"


@pytest.mark.parametrize(
    ("positions", "word", "rows"),
    [
        (16, "", []),
        (16, "the", [1856, 1665, 1618]),
        (16, " the", [512, 1857, 1666, 1619]),
        (16, "caf\u00e9", [1584, 1553, 1634, 3123, 2708]),
        (16, TOKYO, [3680, 2513, 2834, 3651, 2980, 2757]),
        (16, LONG, [1680, 1761, 1858, 1619, 1828, 1765, 1558, 1863, 1688, 1785, 1770, 1563, 1740, 1693, 1966, 1567]),
        # 18 bytes: the sixth letter, which is cut by the sixteenth byte, is left out
        (16, HINDI, [3584, 2625, 2690, 3587, 2628, 2789, 3590, 2631, 2952, 3593, 2650, 2267, 3596, 2637, 2638]),
        (7, "hello", [728, 708, 758, 759, 781]),
        (7, LONG, [735, 771, 814, 710, 802, 775, 685]),
        (7, HINDI, [1568, 1149, 1178, 1571, 1152, 1223]),
    ],
)
def test_known_rows(positions: int, word: str, rows: list[int]) -> None:
    assert BytePositions(positions).encode([word]).tolist() == [rows + [-1] * (positions - len(rows))]


def whole(characters: str, most: int) -> str:
    """The longest beginning of a text that has at most so many bytes."""
    return max((characters[:n] for n in range(len(characters) + 1) if len(characters[:n].encode()) <= most), key=len)


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(1, 20), st.booleans())
def test_kept_are_whole_characters_of_both_ends(word: str, positions: int, ends: bool) -> None:
    kept, last = word, positions // 2 if ends else 0
    if len(word.encode()) > positions:
        kept = whole(word, positions - last) + (whole_end(word, last) if last else "")
    rows = [byte * positions + place for place, byte in enumerate(kept.encode())]
    assert BytePositions(positions, ends).encode([word])[0].tolist() == rows + [-1] * (positions - len(rows))


def whole_end(characters: str, most: int) -> str:
    """The longest end of a text that has at most so many bytes."""
    return max((characters[n:] for n in range(len(characters) + 1) if len(characters[n:].encode()) <= most), key=len)
