"""Characters that show nothing: one list for labels, words and notes.

It is Unicode's property Default_Ignorable_Code_Point, unassigned code points included, so that it is the same under
every version of Unicode; and the marks of interlinear annotation, which no program shows. Joiners are among them: they
show nothing between Latin, Greek or Cyrillic letters, and change the letters of other scripts and emoji.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

Ranges = tuple[tuple[int, int], ...]  # of code points, both ends included
INVISIBLE: Ranges = (
    (0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
JOINERS = "\u200c\u200d"
ZERO_WIDTH_SPACE = "\u200b"
BYTE_ORDER_MARK = "\ufeff"
NAMED_CHARACTERS = 4  # characters in a note


def characters(ranges: Ranges) -> str:
    """Ranges of code points as a regular expression writes a set of characters, without its brackets."""
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


def without(ranges: Ranges, points: Iterable[int]) -> Ranges:
    """Ranges of code points without some.

    >>> without(((1, 4), (7, 7)), [2, 7])
    ((1, 1), (3, 4))
    """
    for point in points:
        parts = (((first, min(last, point - 1)), (max(first, point + 1), last)) for first, last in ranges)
        ranges = tuple(part for both in parts for part in dict.fromkeys(both) if part[0] <= part[1])
    return ranges


UNSEEN = re.compile(f"[{characters(INVISIBLE)}]")
# Not joiners beside a letter of a script that they change
_NOTED = re.compile(
    f"[{characters(without(INVISIBLE, map(ord, JOINERS)))}]"
    f"|(?<![\u0530-\u200b\u200e-\U0010ffff])[{JOINERS}](?![\u0530-\u200b\u200e-\U0010ffff])"
)


def character_name(character: str) -> str:
    """The code point of a character and its name.

    >>> character_name("\\u00ad"), character_name("\\ufeff"), character_name("\\u2065")
    ('U+00AD SOFT HYPHEN', 'U+FEFF BYTE ORDER MARK', 'U+2065')
    """
    name = "BYTE ORDER MARK" if character == BYTE_ORDER_MARK else unicodedata.name(character, "")
    return f"U+{ord(character):04X} {name}".strip()


def invisible_notes(splits: Mapping[str, Iterable[Sequence[str]]]) -> list[str]:
    """A note on characters of the texts of splits, given as columns, that show nothing; no note where there are none.

    >>> invisible_notes({"train": [["cold"]], "test": [["co\\u00adld", "cold"]]})[0][:70]
    'characters that show nothing: U+00AD SOFT HYPHEN in 1 text of test; a '
    """
    counts: dict[str, Counter[str]] = {}
    for split, columns in splits.items():
        for text in (text for column in columns for text in column if not text.isascii()):
            for character in set(_NOTED.findall(text)):
                counts.setdefault(character, Counter())[split] += 1
    if not counts:
        return []
    most = sorted(counts, key=lambda character: (-counts[character].total(), character))
    listed = [
        f"{character_name(character)} in "
        + " and ".join(f"{n:,} text{'s' if n > 1 else ''} of {split}" for split, n in counts[character].items())
        for character in most[:NAMED_CHARACTERS]
    ]
    more = [f"{len(most) - NAMED_CHARACTERS} more"] if len(most) > NAMED_CHARACTERS else []
    kept = [f"U+{ord(character):04X}" for character in most if character in JOINERS + ZERO_WIDTH_SPACE]
    remedy = "tokenizer: unicode leaves them out" + (f", but for {' and '.join(kept)}" if kept else "")
    reading = "a word with one is another word, also to trivial baselines, which read with tokenizer words"
    return [f"characters that show nothing: {', '.join([*listed, *more])}; {reading}; {remedy}"]
