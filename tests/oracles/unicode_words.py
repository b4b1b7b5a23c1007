"""Words of any script in slow, plain Python: character by character, by its category and its name."""

from __future__ import annotations

import unicodedata

# How Unicode's names of letters begin in scripts that put no white space between words
NAMES = (
    "CJK ", "HIRAGANA ", "KATAKANA", "HALFWIDTH KATAKANA", "HENTAIGANA ", "BOPOMOFO ", "IDEOGRAPHIC ", "MASU ",
    "HANGZHOU NUMERAL", "VERTICAL KANA", "VERTICAL IDEOGRAPHIC", "THAI ", "LAO ", "KHMER ", "MYANMAR ",
)  # fmt: skip


def kind(character: str) -> str:
    """space, mark, letter (a token by itself), word or other."""
    category = unicodedata.category(character)
    name = unicodedata.name(character, "")
    if character.isspace():
        return "space"
    of_the_cluster = name in ("THAI CHARACTER SARA AM", "LAO VOWEL SIGN AM")
    if category.startswith("M") or character in "\u200c\u200d" or of_the_cluster:
        return "mark"
    if category[0] in "LN" or category == "Pc":
        return "letter" if name.startswith(NAMES) and category not in ("Nd", "No", "Pc") else "word"
    return "other"


def words(text: str, lowercase: bool = True) -> list[str]:
    """The definition, one character at a time."""
    tokens: list[str] = []
    before = "space"
    for character in text.lower() if lowercase else text:
        now = kind(character)
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
