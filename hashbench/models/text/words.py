"""Words: lower-cased runs of word characters or of punctuation, or any other regular expression."""

from __future__ import annotations

import re
from typing import Any

from hashbench.common.errors import InputError
from hashbench.models.text.base import PortablePart, Tokenizer
from hashbench.models.text.counting import ScanInterner
from hashbench.models.text.shipped import alternatives, case_values, class_values
from hashbench.models.text.types import DictInterner, Interner
from hashbench.models.text.unicode import well_formed

PATTERNS = {
    # The released HashFormers code; `don't` -> don ' t, `!!!` is one token.
    "default": r"\w+|[^\w\s]+",
    "whitespace": r"\S+",
}


class WordTokenizer(Tokenizer):
    """Words by a regular expression, on the text as `str.lower()` makes it."""

    kind = "words"
    makes_words = True

    def __init__(self, pattern: str = "default", lowercase: bool = True) -> None:
        """`pattern`: default, whitespace, or a regular expression whose matches are the tokens."""
        if not isinstance(pattern, str) or not isinstance(lowercase, bool):
            given = f"pattern {pattern!r}, lowercase {lowercase!r}"
            raise InputError(f"tokenizer words: {given}; give a text and true or false")
        self.pattern, self.lowercase = pattern, lowercase
        try:
            self._expression = re.compile(PATTERNS[pattern] if pattern in PATTERNS else pattern)
        except re.error as error:
            wrong = f"pattern {pattern!r} is no regular expression ({error})"
            raise InputError(f"tokenizer words: {wrong}; correct it") from None

    def recipe(self) -> dict[str, object]:
        """The pattern as spelled, so that a renamed pattern is still the same recipe."""
        return {"kind": self.kind, "pattern": self._expression.pattern, "lowercase": self.lowercase}

    def tokenize(self, text: str) -> list[str]:
        """The words of one text."""
        text = well_formed(text)
        matches = self._expression.finditer(text.lower() if self.lowercase else text)
        return [match.group() for match in matches if match.group()]

    def portable(self) -> PortablePart | None:
        """Characters, or runs of them, by classes; None for a regular expression that says more."""
        values: dict[str, Any] = {"lowercase": self.lowercase}
        if self.pattern in PATTERNS:
            values |= class_values(self.pattern == "default")
        elif (parts := alternatives(self._expression.pattern)) is not None:
            values["alternatives"] = parts
        else:
            return None
        values |= case_values() if self.lowercase else {}
        return PortablePart("tokens", "words", values, needs=("letters",))

    def interner(self) -> Interner:
        """A counter of word types: compiled for the named patterns, a dictionary for others."""
        if self.pattern in PATTERNS:
            return ScanInterner(self.pattern == "default", self.lowercase)
        return DictInterner(self.tokenize)
