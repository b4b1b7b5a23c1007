"""Lengths of tokens, which show words that fall apart under a tokenizer, or run together: a warning before training."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

from hashbench.models.text.base import Tokenizer
from hashbench.models.text.unicode import CLASS_BITS, LETTER, unicode_table

# A share of the tokens above which there is a warning; of English texts 3 to 6 % are single letters.
NOTED_SHARE = 0.25
CLASS = (1 << CLASS_BITS) - 1
UNICODE = "tokenizer: unicode keeps marks with their letters, and letters apart where no white space is written"


class TokenLengths(NamedTuple):
    """Statistics of the tokens of some texts that are no mere punctuation."""

    tokens: int
    median: float  # characters a token
    single: float  # share of tokens that are one character
    # Share of tokens that join letters of a script without white space between words.
    joined: float


def token_lengths(tokens: Iterable[str]) -> TokenLengths:
    """Statistics of tokens: how long they are, and how many are single characters or run together.

    >>> token_lengths(["the", "a", ",", "cat"])
    TokenLengths(tokens=3, median=3, single=0.3333333333333333, joined=0.0)
    """

    @functools.cache  # texts repeat their words
    def is_word(token: str) -> bool:
        return any(unicodedata.category(letter)[0] in "LM" for letter in token)

    @functools.cache
    def is_joined(word: str) -> bool:
        return sum(int(classes[ord(letter)]) & CLASS == LETTER for letter in word) > 1

    words = [token for token in tokens if is_word(token)]
    if not words:
        return TokenLengths(0, 0.0, 0.0, 0.0)
    classes, n = unicode_table(False), len(words)
    single, joined = sum(len(word) == 1 for word in words), sum(map(is_joined, words))
    return TokenLengths(n, median(map(len, words)), single / n, joined / n)


def shape_note(shape: TokenLengths) -> str:
    """A warning about the lengths of tokens, without a remedy; "" where they look like words.

    >>> shape_note(TokenLengths(100, 2, 0.45, 0.0))
    'words fall apart: 45 % of tokens are one character, median 2 a token'
    """
    if shape.joined > NOTED_SHARE:
        share = f"{100 * shape.joined:.0f} % of tokens join letters of a script without white space"
        return f"words run together: {share}, median {shape.median:g} characters a token"
    if shape.single > NOTED_SHARE:
        share = f"{100 * shape.single:.0f} % of tokens are one character"
        return f"words fall apart: {share}, median {shape.median:g} a token"
    return ""


def words_note(tokenizer: Tokenizer, texts: Sequence[str]) -> str:
    """`shape_note` of a tokenizer's tokens of some texts, with a remedy that fits them; "" where there is no note.

    Marks that are parted from their letters, and letters without white space between words, are what `unicode` is for.
    """
    note = shape_note(token_lengths(token for text in texts for token in tokenizer.tokenize(text)))
    if note.startswith("words run") or any(unicodedata.category(letter)[0] == "M" for letter in {*"".join(texts)}):
        return f"{note}; {UNICODE}" if note else ""
    return f"{note}; see whether texts, and arguments of the tokenizer, are as they should be" if note else ""
