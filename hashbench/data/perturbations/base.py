"""What a perturbation is.

A perturbation is an entry of the list `PERTURBATIONS` in which a file of this folder ends. Its name is stored and
stands in files of users.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

# A word and a random number -> the changed word, None where it has none.
Change = Callable[[str, int], str | None]


@dataclass(frozen=True)
class Perturbation:
    """One way to change a word."""

    name: str  # as stored
    words: str  # as tables call it
    # (word, random number) -> the changed word, None where it has none; with `seen` where it needs a corpus
    change: Callable[..., str | None]
    needs_corpus: bool = False  # whether the change depends on the words that a pre-training saw

    def knowing(self, seen: frozenset[str] | None) -> Change:
        """The change, with the lower-cased words that a pre-training saw.

        Raises ValueError where it needs them and they are None.
        """
        if not self.needs_corpus:
            return self.change
        if seen is None:
            raise ValueError(f"kind {self.name} needs the words that a pre-training saw")
        return partial(self.change, seen=seen)


def as_cased(word: str, like: str) -> str:
    """A lower-cased word in the case of another one.

    >>> as_cased("teh", "The"), as_cased("teh", "THE"), as_cased("teh", "the")
    ('Teh', 'TEH', 'teh')
    """
    if like.isupper() and len(like) > 1:
        return word.upper()
    return word[0].upper() + word[1:] if like[0].isupper() else word
