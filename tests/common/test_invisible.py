"""Characters that show nothing: the list is Unicode's, and notes name them."""

from __future__ import annotations

import unicodedata

import pytest

from hashbench.common.invisible import INVISIBLE, JOINERS, UNSEEN, invisible_notes, without
from hashbench.data.sources.labels import variant_key

LISTED = {point for first, last in INVISIBLE for point in range(first, last + 1)}
# Format characters that are seen: signs that enclose a number or word, and controls of hieroglyphs
SEEN = {*range(0x0600, 0x0606), 0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2, 0x110BD, 0x110CD, *range(0x13430, 0x13440)}


def test_the_list_is_unicodes_property() -> None:
    """4,174 code points are Default_Ignorable_Code_Point in Unicode 15 and 16; three annotate."""
    assert len(LISTED) == 4_174 + 3
    cf = {point for point in range(0x110000) if unicodedata.category(chr(point)) == "Cf"}
    assert cf - LISTED == SEEN & cf
    others = {unicodedata.name(chr(p), "")[:9] for p in LISTED - cf if unicodedata.category(chr(p)) != "Cn"}
    assert others == {
        "COMBINING",
        "HANGUL CH",
        "HANGUL JU",
        "HANGUL FI",
        "HALFWIDTH",
        "KHMER VOW",
        "MONGOLIAN",
        "VARIATION",
    }


def test_the_list_is_that_of_the_library_regex() -> None:
    regex = pytest.importorskip("regex")
    ignorable = regex.compile(r"\p{Default_Ignorable_Code_Point}")
    found = {p for p in range(0x110000) if not 0xD800 <= p < 0xE000 and ignorable.match(chr(p))}
    assert LISTED - {0xFFF9, 0xFFFA, 0xFFFB} == found


@pytest.mark.parametrize("point", [0xAD, 0x200B, 0x200D, 0xFE0F, 0x3164, 0xFFF9, 0xE0061, 0x2065])
def test_labels_and_notes_know_the_same(point: int) -> None:
    assert UNSEEN.fullmatch(chr(point)) and variant_key(f"co{chr(point)}ld") == "cold"
    (note,) = invisible_notes({"train": [["cold"], ["cold"]], "test": [["x"], [f"co{chr(point)}ld", "a"]]})
    assert f"U+{point:04X}" in note and "in 1 text of test;" in note and "train" not in note.partition(";")[0]


def test_joiners_are_noted_where_they_show_nothing() -> None:
    fine = ["می\u200cخواهم", "क्\u200dष", "👩\u200d👧", "plain"]
    assert invisible_notes({"train": [fine]}) == []
    (note,) = invisible_notes({"train": [["co\u200dld", "\u200ccold", *fine]]})
    assert note.startswith("characters that show nothing: U+200C ZERO WIDTH NON-JOINER in 1 text of train, U+200D")
    assert note.endswith("tokenizer: unicode leaves them out, but for U+200C and U+200D")


def test_many_characters_make_one_note() -> None:
    (note,) = invisible_notes({"a": [["\u00ad\u2060", "\u00ad", "\u200e\u200f\u034f\ufeff"]]})
    assert (
        note.startswith("characters that show nothing: U+00AD SOFT HYPHEN in 2 texts of a, U+034F")
        and ", 2 more;" in note
    )


def test_ranges_without_points() -> None:
    left = without(INVISIBLE, map(ord, JOINERS))
    assert {point for first, last in left for point in range(first, last + 1)} == LISTED - set(map(ord, JOINERS))
