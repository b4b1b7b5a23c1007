"""Perturbations like slips of pen and keyboard: a changed letter, another case, or a common misspelling.

`distortion` is that of training texts in the released code of PRADO and pQRNN. Of a word to change one character is
drawn: with 33 % it is left out, with 33 % moved to another place of a word of three or more (never to the end), else
the one that was left out or moved last is put in before it.

Differs from the released code: words are those of base.py, before any lower-casing, and characters are code points, not
units of UTF-16. The last character is of the same text, in the order in which its words are drawn; there it is of any
earlier word of the training. A word that would stay as it is, or become empty, is passed over for another one.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.resources import files

from hashbench.data.perturbations.base import Change, Perturbation, as_cased

LETTERS = "abcdefghijklmnopqrstuvwxyz"
KEYBOARD = {  # letter -> the letters beside it on a QWERTY keyboard
    "q": "wa", "w": "qeas", "e": "wrsd", "r": "etdf", "t": "ryfg", "y": "tugh", "u": "yihj", "i": "uojk", "o": "ipkl",
    "p": "ol", "a": "qwsz", "s": "weadzx", "d": "ersfxc", "f": "rtdgcv", "g": "tyfhvb", "h": "yugjbn", "j": "uihknm",
    "k": "iojlm", "l": "opk", "z": "asx", "x": "sdzc", "c": "dfxv", "v": "fgcb", "b": "ghvn", "n": "hjbm", "m": "jkn",
}  # fmt: skip


def swap(word: str, draw: int) -> str | None:
    """The word with two different neighbouring characters swapped; None where it has none."""
    places = [i for i in range(len(word) - 1) if word[i].lower() != word[i + 1].lower()]
    if not places:
        return None
    i = places[draw % len(places)]
    return word[:i] + word[i + 1] + word[i] + word[i + 2 :]


def delete(word: str, draw: int) -> str | None:
    """The word without one of its characters; None for a word of one character."""
    if len(word) < 2:
        return None
    i = draw % len(word)
    return word[:i] + word[i + 1 :]


def insert(word: str, draw: int) -> str | None:
    """The word with a letter from a to z inserted at any position."""
    i, letter = divmod(draw % ((len(word) + 1) * len(LETTERS)), len(LETTERS))
    return word[:i] + LETTERS[letter] + word[i:]


def keyboard(word: str, draw: int) -> str | None:
    """The word with one letter replaced by a QWERTY neighbour in the same case; None where it has no such letter."""
    places = [i for i, letter in enumerate(word) if letter.lower() in KEYBOARD]
    if not places:
        return None
    rest, place = divmod(draw, len(places))
    i = places[place]
    beside = KEYBOARD[word[i].lower()]
    letter = beside[rest % len(beside)]
    return word[:i] + (letter.upper() if word[i].isupper() else letter) + word[i + 1 :]


def case(word: str, draw: int) -> str | None:
    """The whole word in another case (lower, Capitalised or UPPER); None where that changes nothing."""
    forms = [form for form in dict.fromkeys((word.lower(), word.capitalize(), word.upper())) if form != word]
    return forms[draw % len(forms)] if forms else None


def misspelling(word: str, draw: int) -> str | None:
    """A common misspelling of the word, in its case; None for a word that is not on the list."""
    by_word = misspellings()
    lower = word.lower().replace("’", "'")
    if lower not in by_word:
        return None
    wrong = by_word[lower]
    return as_cased(wrong[draw % len(wrong)], word)


@lru_cache(maxsize=1)
def misspellings() -> dict[str, tuple[str, ...]]:
    """Common misspellings by the correctly spelled, lower-cased word."""
    text = (files("hashbench.data.perturbations") / "misspellings.csv").read_text(encoding="utf-8")
    return {row["word"]: tuple(row["misspellings"].split()) for row in csv.DictReader(text.splitlines())}


LEFT_OUT, MOVED = 33, 66  # of a hundred, the first 33 and the next 33
SHORTEST_MOVED = 3  # characters of a word in which one is moved


def distorted(word: str, draw: int, last: list[str]) -> str | None:
    """The word with one change, None where it would not change; `last` is the last character that was taken out."""
    draw, kind = divmod(draw, 100)
    draw, at = divmod(draw, len(word))
    rest = word[:at] + word[at + 1 :]
    if kind < LEFT_OUT:
        if rest:
            last[:] = word[at]
        return rest or None
    if kind < MOVED:
        if len(word) < SHORTEST_MOVED:
            return None
        last[:] = word[at]
        to = draw % len(rest)
        moved = rest[:to] + word[at] + rest[to:]
        return moved if moved != word else None
    return word[:at] + last[0] + word[at:] if last else None


@dataclass(frozen=True)
class Distortion(Perturbation):
    """A perturbation whose change of a word depends on the words of the text that were changed before it."""

    def knowing(self, seen: frozenset[str] | None) -> Change:
        """The function (word, random number) -> changed word or None, for the words of one text."""
        return partial(self.change, last=[])


PERTURBATIONS = (
    Perturbation("swap", "adjacent characters swapped", swap),
    Perturbation("delete", "a character left out", delete),
    Perturbation("insert", "a letter put in", insert),
    Perturbation("keyboard", "a letter of a neighbouring key", keyboard),
    Perturbation("case", "another case", case),
    Perturbation("misspelling", "common misspellings", misspelling),
    Distortion("distortion", "a character left out, moved, or put into another word", distorted),
)
