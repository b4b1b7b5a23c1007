"""The tokenizers by name: the classes with a kind in this folder and the one named by HASHBENCH_TOKENIZERS."""

from __future__ import annotations

from collections.abc import Mapping

from hashbench.common.listing import listed_classes, make_known, own_classes
from hashbench.models.text.base import Tokenizer

EXTRA_FOLDER = "HASHBENCH_TOKENIZERS"


def tokenizers() -> Mapping[str, type[Tokenizer]]:
    """All tokenizers by kind. Raises InputError where two have one kind."""
    return listed_classes("hashbench.models.text", EXTRA_FOLDER, "tokenizer", Tokenizer, "kind")


def find_tokenizer(kind: str) -> type[Tokenizer] | None:
    """The class of a kind, also of one in an imported file of the user's own; None where there is none."""
    return {**own_classes(Tokenizer), **tokenizers()}.get(kind)


def make_tokenizer(kind: str, **arguments: object) -> Tokenizer:
    """A tokenizer by name.

    >>> make_tokenizer("words").tokenize("Don't stop!!!")
    ['don', "'", 't', 'stop', '!!!']

    Raises:
        InputError: unknown name or argument, or a value that the tokenizer refuses.
    """
    return make_known(Tokenizer, tokenizers, what="tokenizer", key="kind", name=kind, arguments=arguments)
