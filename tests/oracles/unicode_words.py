"""Words of any script in slow, plain Python: character by character, by its category and its name."""

from __future__ import annotations

import unicodedata

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


def kind(character: str, version: int = 1) -> str:
    """space, mark, letter (a token by itself), word or other; in version 2 also nothing."""
    category = unicodedata.category(character)
    name = unicodedata.name(character, "")
    if version == 2 and category == "Cf":
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
    """The definition, one character at a time; version 2 in the normal form C, its lower case too."""
    if version == 2:
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
