"""Seeded noise in texts, before any tokenizer: a share of the words of a text is changed, the same for every model.

A word is a run of letters, apostrophes inside included; the rate is the share of a text's words that are changed. How a
text is changed is a function of (seed, kind, rate, text) alone, never of its place, its batch or the worker. A higher
rate changes the words that a lower one changes, in the same way, and some more; at rate 0 a text stays as it is. Words
that a kind cannot change (a word that is on no list, a single letter) are passed over for others of the text, so that
the share falls short of the rate only where a text has too few of them.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence

import numpy as np

from hashbench.common.splitmix import GAMMA, mix
from hashbench.data.perturbations.registry import find_perturbation

# Of what the kinds do and of the list of misspellings; a change makes all robustness runs anew.
VERSION = 1
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


def perturbed(
    text: str, kind: str, rates: Sequence[float], *, seed: int, seen: frozenset[str] | None = None
) -> list[str]:
    """The text with each share of its words changed, in the order of the rates, each from 0 to 1.

    `seen`: for kinds that need it, the lower-cased words that a pre-training saw. Of n words, rate n on average are
    changed: the fraction of a word is rounded up or down at random, for all rates of a text by the same number.

    >>> perturbed("The movie was really good.", "swap", [0.0, 0.5, 1.0], seed=0)
    ['The movie was really good.', 'hTe movie was realyl good.', 'hTe mvoie aws realyl godo.']
    """
    words = list(WORD.finditer(text))
    most = max(rates, default=0.0)
    if not words or most == 0:
        return [text] * len(rates)
    change = find_perturbation(kind).knowing(seen)
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
