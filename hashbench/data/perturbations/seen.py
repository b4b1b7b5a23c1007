"""Which words a corpus holds, asked of its type table without holding the table in memory."""

from __future__ import annotations

import numpy as np

from hashbench.data.perturbations.inflections import derived, inflected
from hashbench.models.text.types import TypeTable

BLOCK = 1_000_000  # types turned into strings at a time


def seen_among(wanted: frozenset[str], types: TypeTable) -> frozenset[str]:
    """Those of the words that are types of the table."""
    found: set[str] = set()
    for start in range(0, len(types), BLOCK):
        ids = np.arange(start, min(start + BLOCK, len(types)))
        found.update(wanted.intersection(types.strings(ids)))
    return frozenset(found)


def with_forms(words: frozenset[str]) -> frozenset[str]:
    """The words and all forms that could replace them."""
    plain = [word for word in words if len(word) > 2 and word.isascii() and word.isalpha()]
    return words.union(form for word in plain for form in (*inflected(word), *derived(word)))
