"""The tokenizers by name: the classes with a kind in this folder and the one named by HASHBENCH_TOKENIZERS."""

from __future__ import annotations

import inspect

from hashbench.errors import InputError, near_match
from hashbench.listing import by_name, classes_in, modules_in
from hashbench.text.base import Tokenizer

EXTRA_FOLDER = "HASHBENCH_TOKENIZERS"


def tokenizers() -> dict[str, type[Tokenizer]]:
    """All tokenizers by kind. Raises InputError where two have one kind."""
    modules = modules_in("hashbench.text", EXTRA_FOLDER, "tokenizers")
    return by_name(modules, "tokenizer", lambda module: classes_in(module, Tokenizer, "kind"))


def make_tokenizer(kind: str, **arguments: object) -> Tokenizer:
    """A tokenizer by name.

    >>> make_tokenizer("words").tokenize("Don't stop!!!")
    ['don', "'", 't', 'stop', '!!!']

    Raises:
        InputError: unknown name or argument, or a value that the tokenizer refuses.
    """
    known = tokenizers()
    if kind not in known:
        hint = f"{near_match(kind, list(known))}; choose from {', '.join(known)}"
        raise InputError(f"tokenizer: unknown kind {kind!r}{hint}")
    parameters = list(inspect.signature(known[kind]).parameters)
    for name in arguments:
        if name not in parameters:
            hint = f"{near_match(name, parameters)}; it takes {', '.join(parameters) or 'none'}"
            raise InputError(f"tokenizer {kind}: unknown argument {name!r}{hint}")
    return known[kind](**arguments)
