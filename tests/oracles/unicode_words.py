"""Words of any script in slow, plain Python: character by character, by its category and its name."""

from __future__ import annotations

import unicodedata
from functools import cache

# How Unicode's names of letters begin in scripts that put no white space between words
NAMES = (
    "CJK ", "HIRAGANA ", "KATAKANA", "HALFWIDTH KATAKANA", "HENTAIGANA ", "BOPOMOFO ", "IDEOGRAPHIC ", "MASU ",
    "HANGZHOU NUMERAL", "VERTICAL KANA", "VERTICAL IDEOGRAPHIC", "THAI ", "LAO ", "KHMER ", "MYANMAR ",
)  # fmt: skip


# Signs that Unicode calls prepended concatenation marks, by the beginnings of their names
ENCLOSING = (
    "ARABIC NUMBER SIGN", "ARABIC SIGN SANAH", "ARABIC FOOTNOTE MARKER", "ARABIC SIGN SAFHA", "ARABIC SIGN SAMVAT",
    "ARABIC NUMBER MARK ABOVE", "ARABIC END OF AYAH", "SYRIAC ABBREVIATION MARK", "ARABIC POUND MARK ABOVE",
    "ARABIC PIASTRE MARK ABOVE", "ARABIC DISPUTED END OF AYAH", "KAITHI NUMBER SIGN",
)  # fmt: skip
# Format characters that can be seen, or change what stands beside them; all others show nothing
SHOWN = (
    "ZERO WIDTH NON-JOINER", "ZERO WIDTH JOINER", "MONGOLIAN VOWEL SEPARATOR", "TAG ", "CANCEL TAG", "INTERLINEAR ",
    "EGYPTIAN HIEROGLYPH ",
)  # fmt: skip
# What version 3 leaves out besides, by the beginnings of their names; tags and marks of interlinear annotation are
# format characters that version 2 keeps
FORMS = (
    "VARIATION SELECTOR", "MONGOLIAN FREE VARIATION SELECTOR", "COMBINING GRAPHEME JOINER", "HANGUL CHOSEONG FILLER",
    "HANGUL JUNGSEONG FILLER", "HANGUL FILLER", "HALFWIDTH HANGUL FILLER", "KHMER VOWEL INHERENT",
    "MONGOLIAN VOWEL SEPARATOR", "TAG ", "CANCEL TAG", "INTERLINEAR ",
)  # fmt: skip
# Unassigned code points of which Unicode says that whatever they become shows nothing
RESERVED = (0x2065, *range(0xFFF0, 0xFFF9), *range(0xE0000, 0xE1000))


@cache
def kind(character: str, version: int = 1) -> str:
    """space, mark, letter (a token by itself), word or other; from version 2 on also nothing."""
    category = unicodedata.category(character)
    name = unicodedata.name(character, "")
    if version == 3 and (name.startswith(FORMS) or ord(character) in RESERVED):
        return "nothing"
    if version > 1 and category == "Cf":
        if name == "ZERO WIDTH SPACE":
            return "space"
        if name.startswith(ENCLOSING):
            return "word"
        return "mark" if name.startswith(SHOWN) else "nothing"
    if character.isspace():
        return "space"
    of_the_cluster = name in ("THAI CHARACTER SARA AM", "LAO VOWEL SIGN AM")
    if category.startswith("M") or character in "\u200c\u200d" or of_the_cluster:
        return "mark"
    if category[0] in "LN" or category == "Pc":
        return "letter" if name.startswith(NAMES) and category not in ("Nd", "No", "Pc") else "word"
    return "other"


def words(text: str, lowercase: bool = True, version: int = 1) -> list[str]:
    """The definition, one character at a time; from version 2 on in the normal form C, its lower case too."""
    if version > 1:
        text = unicodedata.normalize("NFC", "".join(c for c in text if kind(c, version) != "nothing"))
    if lowercase:
        text = text.lower() if version == 1 else unicodedata.normalize("NFC", text.lower())
    tokens: list[str] = []
    before = "space"
    for character in text:
        now = kind(character, version)
        if now == "space":
            before = now
        elif now == "mark" and before != "space":
            tokens[-1] += character
        else:
            now = "word" if now == "mark" else now
            if now == before and now != "letter":
                tokens[-1] += character
            else:
                tokens.append(character)
            before = now
    return tokens
