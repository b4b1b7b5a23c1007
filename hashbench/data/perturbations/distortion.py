"""The distortion of training texts in the released code of PRADO and pQRNN: a character left out, moved or put in.

Of a word to change one character is drawn: with 33 % it is left out, with 33 % moved to another place of a word of
three or more (never to the end), else the one that was left out or moved last is put in before it.

Differs from the released code: words are those of base.py, before any lower-casing, and characters are code points, not
units of UTF-16. The last character is of the same text, in the order in which its words are drawn; there it is of any
earlier word of the training. A word that would stay as it is, or become empty, is passed over for another one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from hashbench.data.perturbations.base import Change, Perturbation

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


PERTURBATIONS = (Distortion("distortion", "a character left out, moved, or put into another word", distorted),)
