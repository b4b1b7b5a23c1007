"""The interface of a tokenizer: from a text to token types; and the tokenizers by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

from hashbench.common.registry import class_of, make, registered
from hashbench.models.text.types import Interner


@dataclass(frozen=True)
class PortablePart:
    """One step from a text to tokens, or from a token to its code (a list of numbers), on a device without hashbench.

    `source`.py and `source`.js of models/portable/ each have the function `entry`, which gets `values` and a function
    that reads one of `files`, and returns the step.
    """

    source: str
    entry: str  # as Python spells it; JavaScript has it in camel case
    values: Mapping[str, Any]  # plain JSON
    files: Mapping[str, bytes] = field(default_factory=dict)  # tables that were fitted, by the names they ship under
    needs: tuple[str, ...] = ()  # further sources that the source calls


class Tokenizer(ABC):
    """From texts to tokens. Special tokens never arise from a text, whatever it spells."""

    kind: str  # the name that a model gives
    # Whether its tokens are meant to be words of a text, whatever the language.
    makes_words = False
    # The token of a word that it cannot spell; None: it spells all.
    unknown: str | None = None
    # Of a vocabulary of pieces (`text.pieces`): its name in messages, and the argument that names it; None: no pieces.
    title = ""
    argument: str | None = None
    # Whether `pretrain.vocabulary` of a recipe may replace that argument.
    from_recipe = False
    # Whether the vocabulary comes, or will come, from the corpora.
    trained = False
    vocabulary_size: int | None = None  # requested for training, specials included

    @property
    def needs_training(self) -> bool:
        """True where a vocabulary must be learned or loaded before anything else."""
        return False

    @property
    def pieces(self) -> list[str]:
        """The vocabulary in the order of its ids, without special tokens that never arise from a text; empty: none."""
        return []

    def spellings(self) -> list[str]:
        """The string of every id, specials included; ids without a piece are empty."""
        return []

    def unreachable(self) -> str | None:
        """A piece that no text can give, however it is spelled, because of how texts are read; None where all can."""
        return None

    def options(self) -> dict[str, object]:
        """The options besides the vocabulary that decide the pieces of a text."""
        return {}

    def train(self, texts: Iterable[str], vocabulary_size: int, *, bars: bool = False) -> None:
        """Learns a vocabulary of this size, specials included, where `trained`. The texts may be read more than once.

        `bars`: the library shows on the terminal how far it is with words, pairs and merges.
        """
        raise NotImplementedError(f"tokenizer {self.kind} learns nothing from texts")

    def load(self, folder: Path) -> None:  # noqa: B027  # most have nothing to read
        """Loads a trained vocabulary that `save` wrote."""

    def recipe(self) -> dict[str, object]:
        """The kind and arguments of this tokenizer, as plain values without a path: part of a run's identity."""
        return {"kind": self.kind}

    @abstractmethod
    def tokenize(self, text: str) -> list[str]:
        """The tokens of one text."""

    @abstractmethod
    def interner(self) -> Interner:
        """A fresh counter of types for many texts."""

    def reach(self, texts: Sequence[str], kept: Sequence[int]) -> list[int]:
        """The number of characters of each text up to the end of its first `kept` tokens, one number a text.

        `texts` are well-formed. Tokens are looked for in the text, one behind the other and in any case of letters; a
        tokenizer whose tokens are spelled otherwise than the text has its own way.
        """
        return [end_of_tokens(text, self.tokenize(text)[:n]) for text, n in zip(texts, kept, strict=True)]

    def portable(self) -> PortablePart | None:
        """The code and values with which a device tokenizes without hashbench; None where it needs a library."""
        return None

    def save(self, folder: Path) -> None:  # noqa: B027  # most have nothing to write
        """Writes what it needs besides its arguments into a folder, which need not be there."""

    @classmethod
    def saved(cls, folder: Path, arguments: Mapping[str, Any]) -> Tokenizer:
        """The tokenizer with these arguments that `save` wrote into a folder."""
        return cls(**arguments)


def end_of_tokens(text: str, tokens: Iterable[str]) -> int:
    """The number of characters of a text up to the end of the last of these tokens, found one behind the other.

    A token that does not occur counts with its own length, until a later one occurs.

    >>> end_of_tokens("Don't stop!!!", ["don", "'", "t", "stop"])
    10
    """
    lowered, at, missed = text.lower(), 0, 0
    for token in tokens:
        place = lowered.find(token.lower(), at)
        at, missed = (at, missed + len(token)) if place < 0 else (place + len(token.lower()), 0)
    end = min(at + missed, len(lowered))
    if len(lowered) != len(text):  # one character may become several: capital I with a dot
        return bisect_left(list(accumulate(len(character.lower()) for character in text)), end) + 1 if end else 0
    return end


def tokenizers() -> Mapping[str, type[Tokenizer]]:
    """All tokenizers by kind. Raises InputError where two have one kind."""
    return registered("tokenizer")


def find_tokenizer(kind: str) -> type[Tokenizer] | None:
    """The tokenizer class of a kind, also of one in an imported user-defined file; None where there is none."""
    return class_of("tokenizer", kind)


def make_tokenizer(kind: str, **arguments: object) -> Tokenizer:
    """A new tokenizer of a kind, with its arguments.

    >>> make_tokenizer("words").tokenize("Don't stop!!!")
    ['don', "'", 't', 'stop', '!!!']

    Raises:
        InputError: unknown name or argument, or a value that the tokenizer refuses.
    """
    tokenizer: Tokenizer = make("tokenizer", kind, arguments)
    return tokenizer
