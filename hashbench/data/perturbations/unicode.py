"""Perturbations that hardly show: a zero-width space, a homoglyph of another script, lost diacritics.

Tokenizers differ in what they keep of them by construction (docs/results.md lists it), so that models are compared
within one tokenizer.
"""

from __future__ import annotations

import unicodedata

from hashbench.common.invisible import ZERO_WIDTH_SPACE
from hashbench.data.perturbations.base import Perturbation

# Latin letters and their Cyrillic homoglyphs, which most fonts draw in the same way.
LOOK_ALIKES = {
    "a": "\u0430", "c": "\u0441", "d": "\u0501", "e": "\u0435", "h": "\u04bb", "i": "\u0456", "j": "\u0458",
    "o": "\u043e", "p": "\u0440", "q": "\u051b", "s": "\u0455", "w": "\u051d", "x": "\u0445", "y": "\u0443",
    "A": "\u0410", "B": "\u0412", "C": "\u0421", "E": "\u0415", "H": "\u041d", "K": "\u041a", "M": "\u041c",
    "O": "\u041e", "P": "\u0420", "T": "\u0422",
}  # fmt: skip


def zero_width(word: str, draw: int) -> str | None:
    """The word with a zero-width space (U+200B) between two characters; None for a word of one character.

    >>> zero_width("cat", 1)
    'ca\\u200bt'
    """
    if len(word) < 2:
        return None
    i = 1 + draw % (len(word) - 1)
    return word[:i] + ZERO_WIDTH_SPACE + word[i:]


def look_alike(word: str, draw: int) -> str | None:
    """The word with one letter replaced by its Cyrillic homoglyph; None where no letter has one.

    >>> ascii(look_alike("cat", 0)), look_alike("lung", 0)
    ("'\\\\u0441at'", None)
    """
    places = [i for i, letter in enumerate(word) if letter in LOOK_ALIKES]
    if not places:
        return None
    i = places[draw % len(places)]
    return word[:i] + LOOK_ALIKES[word[i]] + word[i + 1 :]


def without_diacritics(word: str, draw: int) -> str | None:
    """The word without the combining marks of its decomposition (NFD), composed again; None where it has none.

    A stroke is no mark, so that l and o with a stroke stay.

    >>> without_diacritics("na\\u00efve", 0), without_diacritics("naive", 0)
    ('naive', None)
    """
    plain = "".join(letter for letter in unicodedata.normalize("NFD", word) if not unicodedata.combining(letter))
    plain = unicodedata.normalize("NFC", plain)
    return None if plain == unicodedata.normalize("NFC", word) else plain


PERTURBATIONS = (
    Perturbation("zero-width", "a zero-width space put in", zero_width),
    Perturbation("look-alike", "a letter that looks the same, of another script", look_alike),
    Perturbation("diacritics", "lost diacritics", without_diacritics),
)
