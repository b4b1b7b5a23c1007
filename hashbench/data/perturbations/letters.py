"""Perturbations of words: slips of pen and keyboard, another case, common misspellings, and unseen forms.

`distortion` is what the released code of PRADO and pQRNN does to training texts. It draws one character of each word to
change: with 33 % it is left out, with 33 % moved to another place of a word of three or more (never to the end), else
the character that was left out or moved last is put in before it.

Differs from the released code: words are defined by base.py, before any lower-casing, and characters are code points,
not units of UTF-16. The character left out or moved last comes from the same text, in the order in which its words are
drawn; in the released code it may come from any earlier word of the training. A word that would stay as it is, or
become empty, is passed over for another one.

`unseen` replaces English words by forms that pre-training lacks: inflections, else derived words.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.resources import files

import numpy as np

from hashbench.data.perturbations.base import Change, Perturbation, as_cased
from hashbench.models.text.types import TypeTable

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


VOWELS = "aeiou"
SHORTEST_INFLECTED = 3  # letters of a word that is inflected
# Words of grammar: they have no inflections that anyone would write.
FUNCTION_WORDS = frozenset(
    "a about above after again against all although always am among an and another any are as at be because been "
    "before being below between both but by can cannot could did do does doing done down during each either else ever "
    "every few for from further had has have having he her here hers herself him himself his how however i if in into "
    "is it its itself just least less many may me might mine more most much must my myself neither never no none nor "
    "not now of off often on once one only or other our ours ourselves out over own per quite rather same shall she "
    "should since so some still such than that the their theirs them themselves then there these they this those "
    "though three through thus to too two under until up upon us very was we were what when where whether which while "
    "who whom whose why will with within without would yet you your yours yourself".split()
)
STRINGS_AT_ONCE = 1_000_000  # types turned into strings at a time


def unseen(word: str, draw: int, *, seen: frozenset[str]) -> str | None:
    """A form of the word that is not among the words seen, in the word's case; None as in `unseen_form`."""
    form = unseen_form(word.lower(), draw, seen)
    return None if form is None else as_cased(form, word)


def unseen_form(word: str, draw: int, seen: frozenset[str]) -> str | None:
    """A form of a lower-cased word that is not among the words seen, an inflection if possible; None without one.

    None too where the word itself is unseen, short or not of ASCII letters, and for words of grammar.

    >>> unseen_form("walk", 0, frozenset({"walk", "walks", "walked", "walking"}))
    'walker'
    """
    if (
        len(word) < SHORTEST_INFLECTED
        or not (word.isascii() and word.isalpha())
        or word in FUNCTION_WORDS
        or word not in seen
    ):
        return None
    for forms in (inflected(word), derived(word)):
        if new := [form for form in forms if form not in seen]:
            return new[draw % len(new)]
    return None


def inflected(word: str) -> list[str]:
    """The plural or third person, past, participle, comparative and superlative of a word, formed by rule.

    >>> inflected("stop")
    ['stops', 'stopped', 'stopping', 'stopper', 'stoppest']
    >>> inflected("carry")
    ['carries', 'carried', 'carrying', 'carrier', 'carriest']
    >>> inflected("bake")
    ['bakes', 'baked', 'baking', 'baker', 'bakest']
    """
    return [_plural(word), *(_joined(word, ending) for ending in ("ed", "ing", "er", "est"))]


def derived(word: str) -> list[str]:
    """Words that are derived from a word by suffixes and prefixes.

    >>> derived("happy")[:4], derived("happy")[-2:]
    (['happiness', 'happily', 'happiless', 'happylike'], ['nonhappy', 'overhappy'])
    """
    stem = word[:-1] + "i" if _ends_in_consonant_y(word) else word
    endings = [f"{stem}{ending}" for ending in ("ness", "ly", "less")]
    endings += [f"{word}{ending}" for ending in ("like", "ish")]
    return endings + [f"{prefix}{word}" for prefix in ("un", "re", "non", "over")]


def _plural(word: str) -> str:
    if _ends_in_consonant_y(word):
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "z", "ch", "sh")) else f"{word}s"


def _joined(word: str, ending: str) -> str:
    """A word with the ending ed, ing, er or est."""
    if word.endswith("e") and ending != "ing":
        return word + ending[1:]
    if word.endswith("ie"):
        return f"{word[:-2]}y{ending}"
    if word.endswith("e") and not word.endswith("ee"):
        return word[:-1] + ending
    if _ends_in_consonant_y(word) and ending != "ing":
        return f"{word[:-1]}i{ending}"
    return word + word[-1] + ending if _doubles(word) else word + ending


def _ends_in_consonant_y(word: str) -> bool:
    return word.endswith("y") and word[-2] not in VOWELS


def _doubles(word: str) -> bool:
    """True where a word's last letter is doubled before an ending: one vowel, in a final consonant-vowel-consonant."""
    return (
        sum(letter in VOWELS for letter in word) == 1
        and word[-1] not in "aeiouwxy"
        and word[-2] in VOWELS
        and word[-3] not in VOWELS
    )


def seen_among(wanted: frozenset[str], types: TypeTable) -> frozenset[str]:
    """The words that are types of the table."""
    seen: set[str] = set()
    for start in range(0, len(types), STRINGS_AT_ONCE):
        ids = np.arange(start, min(start + STRINGS_AT_ONCE, len(types)))
        seen.update(wanted.intersection(types.strings(ids)))
    return frozenset(seen)


def with_forms(words: frozenset[str]) -> frozenset[str]:
    """The words and all forms that the perturbation `unseen` could replace them by."""
    plain = [word for word in words if len(word) > 2 and word.isascii() and word.isalpha()]
    return words.union(form for word in plain for form in (*inflected(word), *derived(word)))


PERTURBATIONS = (
    Perturbation("swap", "adjacent characters swapped", swap),
    Perturbation("delete", "a character left out", delete),
    Perturbation("insert", "a letter put in", insert),
    Perturbation("keyboard", "a letter of a neighbouring key", keyboard),
    Perturbation("case", "another case", case),
    Perturbation("misspelling", "common misspellings", misspelling),
    Distortion("distortion", "a character left out, moved, or put into another word", distorted),
    Perturbation("unseen", "forms unseen in pre-training", unseen, needs_corpus=True),
)
