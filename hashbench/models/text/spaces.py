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

from hashbench.common.errors import InputError
from hashbench.models.portable.spaces import edits, spaces
from hashbench.models.text.base import PortablePart, Tokenizer
from hashbench.models.text.shipped import SURROGATES, packed, rules_of
from hashbench.models.text.types import DictInterner, Interner
from hashbench.models.text.unicode import CLASS_BITS, CODE_POINTS, NOT_BY_CHARACTER, fold_table

# What `str.lower` does not do by character: in Unicode's simple map i, and the sigma that is not final.
SIMPLE = dict(zip(NOT_BY_CHARACTER, ("i", "\u03c3"), strict=True))
NO_SPACES, ANY = re.compile("[^ ]+"), re.compile(".", re.DOTALL)  # tokens, and characters


class SpaceTokenizer(Tokenizer):
    """A tokenizer to what is between spaces, lower-cased, with the options of the released projection."""

    kind = "spaces"
    makes_words = True
    lowercase = True  # always

    def __init__(
        self,
        separators: str = "",
        contract: bool = False,
        alphabet: str = "",
        letters_only: bool = False,
        split: bool = True,
    ) -> None:
        """`separators`: ASCII characters with a space put before and behind each, but none behind an apostrophe.

        `contract`: patterns of one character, then of two and of three, three times or more in a row, are
        cut to two (soooo, hahaha), but not if they begin with a digit. `alphabet`: the only characters that are kept,
        in lower case, or "" for all; `letters_only`: letters and spaces are kept. Without `split` each character is a
        token, spaces too.

        Raises InputError for a value of another kind, separators outside ASCII, and an alphabet with capitals.
        """
        for name, value in (("separators", separators), ("alphabet", alphabet)):
            if not isinstance(value, str):
                raise InputError(f"tokenizer spaces: {name} {value!r} is no text; put it in quotes")
        for name, switch in (("contract", contract), ("letters_only", letters_only), ("split", split)):
            if not isinstance(switch, bool):
                raise InputError(f"tokenizer spaces: {name} {switch!r}; give true or false")
        if not separators.isascii():
            raise InputError(f"tokenizer spaces: separators {separators!r}; only ASCII characters can be separators")
        if alphabet != alphabet.lower():
            raise InputError(f"tokenizer spaces: alphabet {alphabet!r} has capitals; tokens are in lower case")
        if alphabet and letters_only:
            raise InputError("tokenizer spaces: alphabet and letters_only; leave one of them out")
        self.separators, self.alphabet = "".join(sorted(set(separators) - {" "})), "".join(sorted(set(alphabet)))
        self.contract, self.letters_only, self.split = contract, letters_only, split
        self.makes_words = split
        self._step: Callable[[str], list[str]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_step": None}  # a function within a function, made again where it is needed

    def recipe(self) -> dict[str, object]:
        """The kind and all options."""
        return {
            "kind": self.kind, "separators": self.separators, "contract": self.contract, "alphabet": self.alphabet,
            "letters_only": self.letters_only, "split": self.split,
        }  # fmt: skip

    def tokenize(self, text: str) -> list[str]:
        """The tokens of one text.

        >>> SpaceTokenizer().tokenize("It's  GOOD. \u0130\u03a3")
        ["it's", 'good.', 'i\u03c3']
        >>> SpaceTokenizer(separators="'.", contract=True, letters_only=True).tokenize("It's soooo 99")
        ['it', 's', 'soo', '']
        """
        if self._step is None:
            self._step = spaces(self._values(), str)
        return self._step(text)

    def reach(self, texts: Sequence[str], kept: Sequence[int]) -> list[int]:
        """The number of characters of each text up to the end of its first `kept` tokens."""
        changes = edits(self._values())
        return [self._end(text, n, changes) for text, n in zip(texts, kept, strict=True)]

    def _end(self, text: str, kept: int, changes: Sequence[tuple[re.Pattern[str], str]]) -> int:
        """The end of the first `kept` tokens of a text. Where each character of the edited text ends is kept."""
        ends = list(range(1, len(text) + 1))
        for pattern, replacement in changes:
            text, ends = _edited(text, ends, pattern, replacement)
        tokens = NO_SPACES.finditer(text) if self.split else ANY.finditer(text)
        return max((ends[token.end() - 1] for token in islice(tokens, kept)), default=0)

    def portable(self) -> PortablePart:
        """The step for a device without hashbench: its values are the options, and how letters are lower-cased."""
        return PortablePart("spaces", "spaces", self._values(), needs=("letters",))

    def interner(self) -> Interner:
        """A counter of types."""
        return DictInterner(self.tokenize)

    def _values(self) -> dict[str, Any]:
        values = {"split": self.split, "contract": self.contract, "separators": self.separators, **simple_lower()}
        return values | ({"kept": kept_characters(self.alphabet)} if self.alphabet or self.letters_only else {})


def _edited(text: str, ends: list[int], pattern: re.Pattern[str], replacement: str) -> tuple[str, list[int]]:
    """A text after one of `edits`, and for each of its characters the end of what it was made from."""
    parts, new_ends, done = [], [], 0
    for match in pattern.finditer(text):
        old, new, place = match[0], match.expand(replacement), ends[match.start() : match.end()]
        if new.endswith(old):  # a space before
            place = [ends[match.start() - 1], *place]
        elif new.startswith(old):  # a space behind
            place = [*place, place[-1]]
        else:  # repetitions are left out
            place = [*place[: len(new) - 1], place[-1]]
        parts += [text[done : match.start()], new]
        new_ends += [*ends[done : match.start()], *place]
        done = match.end()
    return "".join(parts) + text[done:], new_ends + ends[done:]


@lru_cache(maxsize=1)
def simple_lower() -> dict[str, Any]:
    """Unicode's lower case of single characters, as portable/letters.py reads it."""
    lowered = fold_table(True, True) >> CLASS_BITS  # (0x110000,)
    odd = [ord(character) for character in NOT_BY_CHARACTER]
    changed = [point for point in np.flatnonzero(lowered != np.arange(CODE_POINTS)).tolist() if point not in odd]
    return {"lower": rules_of({point: int(lowered[point]) for point in changed}), "lower_others": SIMPLE}


@lru_cache(maxsize=4)
def kept_characters(alphabet: str) -> str:
    """A set of characters, packed: those of an alphabet, or for an empty one all letters and the space."""
    kept = np.zeros(CODE_POINTS, bool)
    if alphabet:
        kept[[ord(character) for character in alphabet]] = True
        return packed(kept)
    kept[ord(" ")] = True
    for point in range(CODE_POINTS):
        kept[point] |= point not in SURROGATES and chr(point).isalpha()
    return packed(kept)
