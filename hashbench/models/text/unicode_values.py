"""The letters of this Python's Unicode, as values that ship with a model for portable/letters.py to read."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import numpy as np

from hashbench.models.text.unicode import (
    CLASS_BITS,
    CODE_POINTS,
    LETTER,
    MARK,
    NOT_BY_CHARACTER,
    SPACE,
    WORD,
    fold_table,
    unicode_table,
)

SIGMA = "\u03a3"
SURROGATES = range(0xD800, 0xE000)
# One character of a regular expression: a set, a class, or itself; and the text between two such parts
CLASS_OF_CHARACTERS = re.compile(r"(\[\^?(?:\\.|[^\]\\\[])+\]|\\[wWdDsS]|[\w-])(\+?)", re.ASCII)
SEPARATOR = re.compile(r"\|(?![^\[]*\])")
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def packed(points: np.ndarray) -> str:
    """A set of code points, bool (0x110000,) or shorter, as portable/letters.py unpacks it.

    >>> packed(np.array([0, 0, 1, 1, 1, 0, 1], bool))
    '2 3 1 1'
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], points, [False]])))  # first, end, first, end, ...
    return " ".join(base_36(number) for number in np.diff(edges, prepend=0).tolist())


def base_36(number: int) -> str:
    """A whole number in base 36.

    >>> base_36(46655)
    'zzz'
    """
    digits = ""
    while number >= 36:
        number, digit = divmod(number, 36)
        digits = DIGITS[digit] + digits
    return DIGITS[number] + digits


def rules_of(meaning: dict[int, int]) -> list[list[int]]:
    """Code points and what each becomes, as rules (first, count, step, delta), the steps 1 or 2.

    >>> rules_of({65: 97, 66: 98, 67: 99, 256: 257, 258: 259})
    [[65, 3, 1, 32], [256, 2, 2, 1]]
    """
    rules: list[list[int]] = []
    for point in sorted(meaning):
        delta = meaning[point] - point
        if rules and rules[-1][3] == delta:
            first, count, step, _ = rules[-1]
            gap = point - (first + (count - 1) * step)
            if gap in (1, 2) and (count == 1 or gap == step):
                rules[-1] = [first, count + 1, gap, delta]
                continue
        rules.append([point, 1, 1, delta])
    return rules


@lru_cache(maxsize=1)
def case_values() -> dict[str, Any]:
    """How `str.lower` works: rules for single characters, and which characters it looks at around a capital sigma."""
    lowered = fold_table(True, True) >> CLASS_BITS
    odd = [ord(character) for character in NOT_BY_CHARACTER]
    changed = [point for point in np.flatnonzero(lowered != np.arange(CODE_POINTS)).tolist() if point not in odd]
    cased, behind = np.zeros((2, CODE_POINTS), bool)
    final = SIGMA.lower() != f"a{SIGMA}".lower()[1:]
    assert final  # this Python knows final sigma
    for point in range(CODE_POINTS):
        if point not in SURROGATES:
            character = chr(point)
            cased[point] = f"{character}{SIGMA}".lower()[-1] != SIGMA.lower()
            behind[point] = f"a{character}{SIGMA}".lower()[-1] != SIGMA.lower()
    return {
        "lower": rules_of({point: int(lowered[point]) for point in changed}),
        "lower_others": {character: character.lower() for character in NOT_BY_CHARACTER},
        "ignorable": packed(behind & ~cased),
        "cased": packed(cased),
    }


@lru_cache
def alternatives(pattern: str) -> list[list[str]] | None:
    """Each alternative of a regular expression as the characters that it takes and "+" for a run of them; None for a
    pattern that is more than such classes.

    >>> [many for _, many in alternatives(r"[^\\W\\d_]+|\\d")], alternatives(r"a(b|c)")
    (['+', ''], None)
    """
    parts = [CLASS_OF_CHARACTERS.fullmatch(part) for part in SEPARATOR.split(pattern)]
    everything = "".join(chr(point) for point in range(CODE_POINTS) if point not in SURROGATES)
    ranges = []
    for part in parts:
        if part is None:
            return None
        taken = np.zeros(CODE_POINTS, bool)
        taken[np.frombuffer("".join(re.findall(part[1], everything)).encode("utf-32-le"), np.uint32)] = True
        ranges.append([packed(taken), part[2]])
    return ranges


@lru_cache(maxsize=2)
def class_values(words_apart: bool) -> dict[str, str]:
    """Characters of white space, and, where words are separated by it, the word characters."""
    classes = fold_table(words_apart, False) & ((1 << CLASS_BITS) - 1)
    return {"word": packed(classes == WORD), "space": packed(classes == SPACE)}


@lru_cache(maxsize=3)
def unicode_values(version: int) -> dict[str, str]:
    """The classes of characters by Unicode's categories, as a version of the tokenizer `unicode` has them."""
    classes = unicode_table(False, version) & ((1 << CLASS_BITS) - 1)
    names = {"word": WORD, "space": SPACE, "letter": LETTER, "mark": MARK}
    return {name: packed(classes == value) for name, value in names.items()}
