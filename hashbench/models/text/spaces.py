"""Tokens between spaces: how the released projection of PRADO and pQRNN (Apache-2.0) splits and normalises a text.

Only U+0020 parts tokens: no tab, no line end, no punctuation mark, so that "good." is one token. Letters are
lower-cased one by one by Unicode's simple map (capital sigma is never a final one), and U+FFFD is left out. A token of
which nothing is left stays one, the empty token.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np

from hashbench.models.portable.spaces import spaces
from hashbench.models.text.base import PortablePart, Tokenizer
from hashbench.models.text.types import DictInterner, Interner
from hashbench.models.text.unicode import CLASS_BITS, CODE_POINTS, NOT_BY_CHARACTER, fold_table
from hashbench.models.text.unicode_values import rules_of

# What `str.lower` does not do by character: in Unicode's simple map i, and the sigma that is not final.
SIMPLE = dict(zip(NOT_BY_CHARACTER, ("i", "\u03c3"), strict=True))
NO_SPACES = re.compile("[^ ]+")
# Options of the released projection that no model takes; runs are known by them.
OPTIONS = {"separators": "", "contract": False, "alphabet": "", "letters_only": False, "split": True}


class SpaceTokenizer(Tokenizer):
    """A tokenizer to what is between spaces, lower-cased."""

    kind = "spaces"
    makes_words = True
    lowercase = True  # always

    def __init__(self) -> None:
        self._step: Callable[[str], list[str]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_step": None}  # a function within a function, made again where it is needed

    def recipe(self) -> dict[str, object]:
        """The kind and all options."""
        return {"kind": self.kind, **OPTIONS}

    def tokenize(self, text: str) -> list[str]:
        """The tokens of one text.

        >>> SpaceTokenizer().tokenize("It's  GOOD. \u0130\u03a3")
        ["it's", 'good.', 'i\u03c3']
        """
        if self._step is None:
            self._step = spaces(simple_lower(), str)
        return self._step(text)

    def reach(self, texts: Sequence[str], kept: Sequence[int]) -> list[int]:
        """The number of characters of each text up to the end of its first `kept` tokens."""
        tokens = (islice(NO_SPACES.finditer(text), n) for text, n in zip(texts, kept, strict=True))
        return [max((token.end() for token in of_text), default=0) for of_text in tokens]

    def portable(self) -> PortablePart:
        """The step for a device without hashbench: its values are how letters are lower-cased."""
        return PortablePart("spaces", "spaces", simple_lower(), needs=("letters",))

    def interner(self) -> Interner:
        """A counter of types."""
        return DictInterner(self.tokenize)


@lru_cache(maxsize=1)
def simple_lower() -> dict[str, Any]:
    """Unicode's lower case of single characters, as portable/letters.py reads it."""
    lowered = fold_table(True, True) >> CLASS_BITS  # (0x110000,)
    odd = [ord(character) for character in NOT_BY_CHARACTER]
    changed = [point for point in np.flatnonzero(lowered != np.arange(CODE_POINTS)).tolist() if point not in odd]
    return {"lower": rules_of({point: int(lowered[point]) for point in changed}), "lower_others": SIMPLE}
