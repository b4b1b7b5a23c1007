"""A perturbation that replaces English words by forms unseen in pre-training: inflections, else derived words."""

from __future__ import annotations

import numpy as np

from hashbench.data.perturbations.base import Perturbation, as_cased
from hashbench.models.text.types import TypeTable

VOWELS = "aeiou"
SHORTEST = 3  # letters of a word that is inflected
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
BLOCK = 1_000_000  # types turned into strings at a time


def unseen(word: str, draw: int, *, seen: frozenset[str]) -> str | None:
    """A form of the word that is not among the words seen, in the word's case; None as in `unseen_form`."""
    form = unseen_form(word.lower(), draw, seen)
    return None if form is None else as_cased(form, word)


PERTURBATIONS = (Perturbation("unseen", "forms unseen in pre-training", unseen, needs_corpus=True),)


def unseen_form(word: str, draw: int, seen: frozenset[str]) -> str | None:
    """A form of a lower-cased word that is not among the words seen, an inflection if possible; None without one.

    None too where the word itself is unseen, short or not of ASCII letters, and for words of grammar.

    >>> unseen_form("walk", 0, frozenset({"walk", "walks", "walked", "walking"}))
    'walker'
    """
    if len(word) < SHORTEST or not (word.isascii() and word.isalpha()) or word in FUNCTION_WORDS or word not in seen:
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
    for start in range(0, len(types), BLOCK):
        ids = np.arange(start, min(start + BLOCK, len(types)))
        seen.update(wanted.intersection(types.strings(ids)))
    return frozenset(seen)


def with_forms(words: frozenset[str]) -> frozenset[str]:
    """The words and all forms that the perturbation `unseen` could replace them by."""
    plain = [word for word in words if len(word) > 2 and word.isascii() and word.isalpha()]
    return words.union(form for word in plain for form in (*inflected(word), *derived(word)))
