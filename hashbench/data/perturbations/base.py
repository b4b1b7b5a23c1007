"""Seeded noise in texts, before any tokenizer: a share of the words of a text is changed, the same for every model.

A word is a run of letters, apostrophes inside included; the rate is the share of a text's words that are changed. How a
text is changed is a function of (seed, kind, rate, text) alone, never of its row, its batch or the worker. A higher
rate changes the words that a lower one changes, in the same way, and some more; at rate 0 a text stays as it is. Words
that a kind cannot change (a word that is on no list, a single letter) are passed over for others of the text, so that
the share falls short of the rate only where a text has too few words that can be changed.

A perturbation is an entry of the list `PERTURBATIONS` in which a file of this folder ends. Its name is stored, and
experiment files name it.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from hashbench.common.errors import InputError, near_match
from hashbench.common.registry import registered, unreadable
from hashbench.common.splitmix import GAMMA, mix

# A word and a random number -> the changed word, None where it has none.
Change = Callable[[str, int], str | None]
# Version of what the kinds do and of the list of misspellings; a change makes all robustness runs anew.
VERSION = 1
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


@dataclass(frozen=True)
class Perturbation:
    """One way to change a word."""

    name: str  # as stored
    words: str  # as tables call it
    # (word, random number) -> the changed word, None where it has none; with `seen` where it needs a corpus
    change: Callable[..., str | None]
    needs_corpus: bool = False  # whether the change depends on the words that a pre-training saw

    def knowing(self, seen: frozenset[str] | None) -> Change:
        """The function (word, random number) -> changed word or None, given the words (lower-cased) of a pre-training.

        Raises ValueError where it needs them and they are None.
        """
        if not self.needs_corpus:
            return self.change
        if seen is None:
            raise ValueError(f"kind {self.name} needs the words that a pre-training saw")
        return partial(self.change, seen=seen)


def as_cased(word: str, like: str) -> str:
    """A lower-cased word in the case of `like`: UPPER, Capitalised or lower.

    >>> as_cased("teh", "The"), as_cased("teh", "THE"), as_cased("teh", "the")
    ('Teh', 'TEH', 'teh')
    """
    if like.isupper() and len(like) > 1:
        return word.upper()
    return word[0].upper() + word[1:] if like[0].isupper() else word


def perturbed(
    text: str, kind: str, rates: Sequence[float], *, seed: int, seen: frozenset[str] | None = None
) -> list[str]:
    """Copies of the text, one for each of the rates (from 0 to 1), with that share of its words changed.

    `seen`: for kinds that need it, the lower-cased words that a pre-training saw. Of n words, rate n on average are
    changed: the fraction of a word is rounded up or down at random, for all rates of a text by the same number.

    >>> perturbed("The movie was really good.", "swap", [0.0, 0.5, 1.0], seed=0)
    ['The movie was really good.', 'hTe movie was realyl good.', 'hTe mvoie aws realyl godo.']
    """
    return [copy for copy, _ in counted(text, kind, rates, seed=seed, seen=seen)]


def counted(
    text: str, kind: str, rates: Sequence[float], *, seed: int, seen: frozenset[str] | None = None
) -> list[tuple[str, int]]:
    """The copies of `perturbed`, each with the number of its words that were changed.

    >>> counted("The movie was really good.", "swap", [0.0, 0.5], seed=0)
    [('The movie was really good.', 0), ('hTe movie was realyl good.', 2)]
    """
    words = list(WORD.finditer(text))
    most = max(rates, default=0.0)
    if not words or most == 0:
        return [(text, 0)] * len(rates)
    change = find_perturbation(kind).knowing(seen)
    draws = _draws(f"{seed} {kind}\0{text}", 2 * len(words) + 1)
    fraction = (int(draws[0]) >> 11) * 2.0**-53
    budgets = [math.floor(rate * len(words) + fraction) for rate in rates]
    # By word, in random order: begin, end, and the word in its place.
    changed: list[tuple[int, int, str]] = []
    for i in np.argsort(draws[1 : len(words) + 1], kind="stable").tolist():
        if len(changed) == max(budgets):
            break
        if (word := change(words[i].group(), int(draws[1 + len(words) + i]))) is not None:
            changed.append((*words[i].span(), word))
    return [(_with(text, changed[:budget]), len(changed[:budget])) for budget in budgets]


def n_words(text: str) -> int:
    """The number of words of a text; a perturbation's rate is a share of it.

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
    # surrogatepass: a text is perturbed as it is, even where it is no well-formed Unicode
    digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    start = np.uint64(int.from_bytes(digest, "little"))
    return mix(start + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(GAMMA))


def perturbations() -> Mapping[str, Perturbation]:
    """Every perturbation by name. Raises InputError where two have one name."""
    return registered("perturbation")


def find_perturbation(name: str) -> Perturbation:
    """The named perturbation. Raises InputError where there is none of this name."""
    by_name = perturbations()
    if name not in by_name:
        hint = near_match(name, list(by_name)) or f"; there are: {', '.join(by_name)}"
        raise InputError(f"unknown perturbation {name!r}{hint}{unreadable()}")
    return by_name[name]
