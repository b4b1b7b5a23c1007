"""One spelling of a text for its tokenizer: Unicode's normal forms, and characters that show nothing left out.

The same word may be written as several sequences of code points: é is one or two, a word may hold a soft hyphen or a
direction mark. A hash sees other words then. Normal forms are defined by UAX 15, here in this Python's version.

A lower-cased text may leave the form: H with a line below is two code points, h with one is a single one. If a
tokenizer lower-cases, such texts are lower-cased here and brought to the form once more.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np

from hashbench.common.errors import InputError, near_match
from hashbench.common.invisible import Ranges, characters
from hashbench.models.portable.letters import SIGMA
from hashbench.models.text.fast.counting import ScanInterner
from hashbench.models.text.fast.quick_check import change_marks
from hashbench.models.text.types import Distinct, Interner, TokenizedTexts
from hashbench.models.text.unicode import CODE_POINTS, well_formed
from hashbench.models.text.unicode_values import case_values, packed

NormalForm = Literal["none", "NFC", "NFKC"]
FORMS: tuple[NormalForm, ...] = ("none", "NFC", "NFKC")
ARGUMENT = "normalise"  # of every tokenizer


def checked_form(value: object, kind: str) -> NormalForm:
    """The normal form that a tokenizer's argument `normalise` names. Raises InputError for any other value."""
    for form in FORMS:
        if value == form:
            return form
    near = near_match(value, list(FORMS)) if isinstance(value, str) else ""
    raise InputError(f"tokenizer {kind}: {ARGUMENT} {value!r}{near}; choose from {', '.join(FORMS)}")


@dataclass(frozen=True)
class TextForm:
    """A change of a text before it is cut into tokens: to a normal form, without some characters.

    >>> TextForm("NFC", dropped=((0xAD, 0xAD),))("cafe\\u0301 co\\u00adld")
    'café cold'
    >>> TextForm("NFC", lowers=True)("H\\u0331") == "\\u1e96"
    True
    """

    form: NormalForm = "none"
    dropped: Ranges = ()  # code points that are left out
    lowers: bool = False  # whether the form must hold for the lower case, too

    def __call__(self, text: str) -> str:
        """The text, well-formed, without what is left out, in the normal form, and its lower case in the same.

        Capital sigma stays: it has one form, and tokenizers differ in its lower case.
        """
        if text.isascii():
            return text
        text = well_formed(text)
        if self.dropped:
            text = _expression(self.dropped).sub("", text)
        if self.form == "none":
            return text
        text = unicodedata.normalize(self.form, text)
        if not self.lowers:
            return text
        lowered = SIGMA.join(part.lower() for part in text.split(SIGMA))
        again = unicodedata.normalize(self.form, lowered)
        return text if again == lowered else again

    @property
    def is_plain(self) -> bool:
        """True where texts stay as they are."""
        return self == PLAIN

    @cached_property
    def values(self) -> dict[str, Any]:
        """Values for `reading` of portable/letters.py; empty where texts stay as they are.

        A form is normalised by the device's Unicode. Characters that this Python does not know are left alone there,
        too, and known ones have the same normal form in every version of Unicode (the stability policy).
        """
        dropped = {"dropped": packed(members(self.dropped))} if self.dropped else {}
        if self.form == "none":
            return dropped
        cases = {key: case_values()[key] for key in ("lower", "lower_others")} if self.lowers else None
        return {**dropped, "form": self.form, "known": packed(_known()), **({"form_lower": cases} if cases else {})}

    def reach(
        self, texts: Sequence[str], kept: Sequence[int], inner: Callable[[Sequence[str], Sequence[int]], list[int]]
    ) -> list[int]:
        """How many characters of each text make the first `kept` tokens; `inner`: the same for the read text.

        >>> TextForm("NFC").reach(["e\\u0301 a"], [1], lambda texts, kept: [1])
        [2]
        """
        ends = inner([self(text) for text in texts], kept)
        return [self._place(text, end) for text, end in zip(texts, ends, strict=True)]

    def _place(self, text: str, end: int) -> int:
        """The end of the longest beginning of a text that becomes at most `end` characters."""
        if text.isascii() or self(text) == text:
            return end
        return bisect_right(range(len(text) + 1), end, key=lambda n: len(self(text[:n]))) - 1

    def interner(self, inner: Interner) -> Interner:
        """A counter of the types of texts that are read in this way."""
        if self.is_plain:
            return inner
        if isinstance(inner, ScanInterner):
            return inner.read_by(self, change_marks(self.form, self.dropped, inner.lowercase))
        return _PreparedInterner(inner, self)


PLAIN = TextForm()


class _PreparedInterner(Interner):
    """Counts the types of texts after a reading."""

    def __init__(self, inner: Interner, reading: TextForm) -> None:
        self._inner, self._reading = inner, reading

    def add(self, texts: Sequence[str]) -> TokenizedTexts:
        """Texts -> provisional ids."""
        return self._inner.add([self._reading(text) for text in texts])

    def distinct(self) -> tuple[Distinct, np.ndarray]:
        """-> (types that came, index among them of each provisional id (n,) int32, -1 for one that never came)."""
        return self._inner.distinct()


def members(ranges: Ranges) -> np.ndarray:
    """Ranges of code points as a set: bool (0x110000,)."""
    points = np.zeros(CODE_POINTS, bool)
    for first, last in ranges:
        points[first : last + 1] = True
    return points


@lru_cache(maxsize=1)
def _known() -> np.ndarray:
    """The code points to which this Python's Unicode gives characters: bool (0x110000,), surrogates left out."""
    return np.array([unicodedata.category(chr(point)) not in ("Cn", "Cs") for point in range(CODE_POINTS)], bool)


@lru_cache(maxsize=4)
def _expression(ranges: Ranges) -> re.Pattern[str]:
    """A regular expression of the characters of ranges."""
    return re.compile(f"[{characters(ranges)}]")


def form_notes(splits: Mapping[str, Iterable[Sequence[str]]]) -> list[str]:
    """A note on the texts of each split, given as columns, that are not in normal form C; no note where all are.

    >>> form_notes({"train": [["caf\\u00e9"]], "test": [["cafe\\u0301", "cafe"]]})[0][:57]
    'not in one Unicode normal form (NFC): 1 text of test; a w'
    """
    counts = {
        split: sum(
            not text.isascii() and not unicodedata.is_normalized("NFC", text) for column in columns for text in column
        )
        for split, columns in splits.items()
    }
    counted = [f"{n:,} text{'s' if n > 1 else ''} of {split}" for split, n in counts.items() if n]
    remedy = f"a word may have several spellings there, tokenizer: {{{ARGUMENT}: NFC}} makes them one"
    return [f"not in one Unicode normal form (NFC): {', '.join(counted)}; {remedy}"] if counted else []
