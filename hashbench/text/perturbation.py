"""Seeded noise in texts, before any tokenizer: a share of the words of a text is changed, the same for every model.

A word is a run of letters, apostrophes inside included; the rate is the share of a text's words that are changed. How a
text is changed is a function of (seed, kind, rate, text) alone, never of its place, its batch or the worker. A higher
rate changes the words that a lower one changes, in the same way, and some more; at rate 0 a text stays as it is. Words
that a kind cannot change (a word that is on no list, a single letter) are passed over for others of the text, so that
the share falls short of the rate only where a text has too few of them.
"""

from __future__ import annotations

import csv
import hashlib
import math
import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from importlib.resources import files
from typing import Literal, get_args

import numpy as np

from hashbench.errors import InputError, near_match
from hashbench.splitmix import GAMMA, mix
from hashbench.text.inflections import unseen_form

Kind = Literal["swap", "delete", "insert", "keyboard", "case", "misspelling", "unseen"]
KINDS: tuple[Kind, ...] = get_args(Kind)
# Of what the kinds do and of the list of misspellings; a change makes all robustness runs anew.
VERSION = 1
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
KEYBOARD = {  # letter -> the letters beside it on a QWERTY keyboard
    "q": "wa", "w": "qeas", "e": "wrsd", "r": "etdf", "t": "ryfg", "y": "tugh", "u": "yihj", "i": "uojk", "o": "ipkl",
    "p": "ol", "a": "qwsz", "s": "weadzx", "d": "ersfxc", "f": "rtdgcv", "g": "tyfhvb", "h": "yugjbn", "j": "uihknm",
    "k": "iojlm", "l": "opk", "z": "asx", "x": "sdzc", "c": "dfxv", "v": "fgcb", "b": "ghvn", "n": "hjbm", "m": "jkn",
}  # fmt: skip
# A word and a random number -> the changed word, None where it has none.
Change = Callable[[str, int], str | None]


def perturbed(
    text: str, kind: Kind, rates: Sequence[float], *, seed: int, seen: frozenset[str] | None = None
) -> list[str]:
    """The text with each share of its words changed, in the order of the rates, each from 0 to 1.

    `seen`: of kind unseen alone, the lower-cased words that a pre-training saw. Of n words, rate n on average are
    changed: the fraction of a word is rounded up or down at random, for all rates of a text by the same number.

    >>> perturbed("The movie was really good.", "swap", [0.0, 0.5, 1.0], seed=0)
    ['The movie was really good.', 'hTe movie was realyl good.', 'hTe mvoie aws realyl godo.']
    """
    words = list(WORD.finditer(text))
    most = max(rates, default=0.0)
    if not words or most == 0:
        return [text] * len(rates)
    change = _change_of(kind, seen)
    draws = _draws(f"{seed} {kind}\0{text}", 2 * len(words) + 1)
    fraction = (int(draws[0]) >> 11) * 2.0**-53
    budgets = [math.floor(rate * len(words) + fraction) for rate in rates]
    # Of the words in random order: begin, end, what stands there now.
    changed: list[tuple[int, int, str]] = []
    for i in np.argsort(draws[1 : len(words) + 1], kind="stable").tolist():
        if len(changed) == max(budgets):
            break
        if (word := change(words[i].group(), int(draws[1 + len(words) + i]))) is not None:
            changed.append((*words[i].span(), word))
    return [_with(text, changed[:budget]) for budget in budgets]


def n_words(text: str) -> int:
    """Words of a text, of which a rate is a share.

    >>> n_words("it 's 2 o'clock")
    3
    """
    return sum(1 for _ in WORD.finditer(text))


def _with(text: str, changed: Sequence[tuple[int, int, str]]) -> str:
    parts, at = [], 0
    for begin, end, word in sorted(changed):
        parts += [text[at:begin], word]
        at = end
    return "".join([*parts, text[at:]])


def _draws(key: str, n: int) -> np.ndarray:
    """`n` 64-bit random numbers that are a function of the key alone, (n,) uint64: SplitMix64 from a hash of it."""
    # surrogatepass: what a data set holds is perturbed as it stands, even where it is no well-formed text
    digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    start = np.uint64(int.from_bytes(digest, "little"))
    return mix(start + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(GAMMA))


def _change_of(kind: str, seen: frozenset[str] | None) -> Change:
    if kind == "unseen":
        if seen is None:
            raise ValueError("kind unseen needs the words that a pre-training saw")
        return partial(_unseen, seen=seen)
    if kind not in CHANGES:
        hint = near_match(kind, list(KINDS)) or f"; there are: {', '.join(KINDS)}"
        raise InputError(f"unknown perturbation {kind!r}{hint}")
    return CHANGES[kind]


def swap(word: str, draw: int) -> str | None:
    """Two neighbours that differ trade places."""
    places = [i for i in range(len(word) - 1) if word[i].lower() != word[i + 1].lower()]
    if not places:
        return None
    i = places[draw % len(places)]
    return word[:i] + word[i + 1] + word[i] + word[i + 2 :]


def delete(word: str, draw: int) -> str | None:
    """One character is left out of a word of two or more."""
    if len(word) < 2:
        return None
    i = draw % len(word)
    return word[:i] + word[i + 1 :]


def insert(word: str, draw: int) -> str | None:
    """A letter from a to z enters at any place."""
    i, letter = divmod(draw % ((len(word) + 1) * len(LETTERS)), len(LETTERS))
    return word[:i] + LETTERS[letter] + word[i:]


def keyboard(word: str, draw: int) -> str | None:
    """One letter becomes one beside it on a QWERTY keyboard, in the same case."""
    places = [i for i, letter in enumerate(word) if letter.lower() in KEYBOARD]
    if not places:
        return None
    rest, place = divmod(draw, len(places))
    i = places[place]
    beside = KEYBOARD[word[i].lower()]
    letter = beside[rest % len(beside)]
    return word[:i] + (letter.upper() if word[i].isupper() else letter) + word[i + 1 :]


def case(word: str, draw: int) -> str | None:
    """The whole word in another case: lower, Capitalised or UPPER."""
    forms = [form for form in dict.fromkeys((word.lower(), word.capitalize(), word.upper())) if form != word]
    return forms[draw % len(forms)] if forms else None


def misspelling(word: str, draw: int) -> str | None:
    """A common misspelling of a word on the list."""
    known = misspellings()
    lower = word.lower().replace("’", "'")
    if lower not in known:
        return None
    wrong = known[lower]
    return as_cased(wrong[draw % len(wrong)], word)


def _unseen(word: str, draw: int, *, seen: frozenset[str]) -> str | None:
    form = unseen_form(word.lower(), draw, seen)
    return None if form is None else as_cased(form, word)


def as_cased(word: str, like: str) -> str:
    """A lower-cased word in the case of another one.

    >>> as_cased("teh", "The"), as_cased("teh", "THE"), as_cased("teh", "the")
    ('Teh', 'TEH', 'teh')
    """
    if like.isupper() and len(like) > 1:
        return word.upper()
    return word[0].upper() + word[1:] if like[0].isupper() else word


@lru_cache(maxsize=1)
def misspellings() -> dict[str, tuple[str, ...]]:
    """Common misspellings by the right word, lower-cased."""
    text = (files("hashbench.text") / "misspellings.csv").read_text(encoding="utf-8")
    return {row["word"]: tuple(row["misspellings"].split()) for row in csv.DictReader(text.splitlines())}


CHANGES: dict[str, Change] = {
    "swap": swap,
    "delete": delete,
    "insert": insert,
    "keyboard": keyboard,
    "case": case,
    "misspelling": misspelling,
}
