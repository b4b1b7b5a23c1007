"""The tokenizers by name: the suite's, and those of plug-ins and user-defined files."""

from __future__ import annotations

from collections.abc import Mapping

from hashbench.common.registry import class_of, make, registered
from hashbench.models.text.base import Tokenizer


def tokenizers() -> Mapping[str, type[Tokenizer]]:
    """All tokenizers by kind. Raises InputError where two have one kind."""
    return registered("tokenizer")


def find_tokenizer(kind: str) -> type[Tokenizer] | None:
    """The class of a kind, also of one in an imported user-defined file; None where there is none."""
    return class_of("tokenizer", kind)


def make_tokenizer(kind: str, **arguments: object) -> Tokenizer:
    """A tokenizer by name.

    >>> make_tokenizer("words").tokenize("Don't stop!!!")
    ['don', "'", 't', 'stop', '!!!']

    Raises:
        InputError: unknown name or argument, or a value that the tokenizer refuses.
    """
    tokenizer: Tokenizer = make("tokenizer", kind, arguments)
    return tokenizer
