"""The tokenizers by name, and the interface they share: from a text to token types."""

from __future__ import annotations

import inspect
from typing import Protocol

from hashbench.errors import InputError, near_match
from hashbench.text.characters import CharacterTokenizer
from hashbench.text.items import ItemTokenizer
from hashbench.text.subwords import SubwordTokenizer
from hashbench.text.types import Interner
from hashbench.text.wordpieces import WordPieceTokenizer
from hashbench.text.words import WordTokenizer


class Tokenizer(Protocol):
    """What a tokenizer offers. Special tokens never arise from a text, whatever it spells."""

    kind: str

    def recipe(self) -> dict[str, object]:
        """What makes this tokenizer, as plain values without a path: part of a run's identity."""
        ...

    def tokenize(self, text: str) -> list[str]:
        """The tokens of one text."""
        ...

    def interner(self) -> Interner:
        """A fresh counter of types for many texts."""
        ...


AnyTokenizer = WordTokenizer | SubwordTokenizer | WordPieceTokenizer | CharacterTokenizer | ItemTokenizer
TOKENIZERS: dict[str, type[AnyTokenizer]] = {
    WordTokenizer.kind: WordTokenizer,
    SubwordTokenizer.kind: SubwordTokenizer,
    WordPieceTokenizer.kind: WordPieceTokenizer,
    CharacterTokenizer.kind: CharacterTokenizer,
    ItemTokenizer.kind: ItemTokenizer,
}


def make_tokenizer(kind: str, **arguments: object) -> AnyTokenizer:
    """A tokenizer by name.

    >>> make_tokenizer("words").tokenize("Don't stop!!!")
    ['don', "'", 't', 'stop', '!!!']

    Raises:
        InputError: unknown name or argument, or a value that the tokenizer refuses.
    """
    if kind not in TOKENIZERS:
        hint = f"{near_match(kind, list(TOKENIZERS))}; choose from {', '.join(TOKENIZERS)}"
        raise InputError(f"tokenizer: unknown kind {kind!r}{hint}")
    factory = TOKENIZERS[kind]
    known = list(inspect.signature(factory).parameters)
    for name in arguments:
        if name not in known:
            hint = f"{near_match(name, known)}; it takes {', '.join(known) or 'none'}"
            raise InputError(f"tokenizer {kind}: unknown argument {name!r}{hint}")
    return factory(**arguments)  # type: ignore[arg-type]  # values are checked by the constructor
