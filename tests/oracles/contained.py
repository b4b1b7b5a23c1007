"""Which rows lie in which, by comparing each with each."""

from __future__ import annotations

from collections.abc import Sequence

from hashbench.models.text.words import UnicodeTokenizer


def lies_in(first: str, second: str) -> bool:
    """True where the words of the first text stand in the second, one behind the other; without words where equal."""
    short, long = (UnicodeTokenizer(version=2).tokenize(text) for text in (first, second))
    if not short:
        return not long
    return any(long[at : at + len(short)] == short for at in range(len(long) - len(short) + 1))


def row_lies_in(first: Sequence[str], second: Sequence[str]) -> bool:
    """True where each text of the first row lies in its own of the second; of a pair in either order."""
    orders = [tuple(second), tuple(reversed(second))]
    return any(all(map(lies_in, first, order)) for order in orders)
