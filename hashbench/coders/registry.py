"""The coders by name."""

from __future__ import annotations

import inspect

from hashbench.coders.base import Coder
from hashbench.coders.bloom import Bloom
from hashbench.coders.codepoints import CodePoints
from hashbench.coders.lsh import LshBits, LshRows
from hashbench.coders.md5 import Md5Bits, Md5Rows
from hashbench.coders.ngram_pooling import NgramPooling
from hashbench.coders.projection import Projection
from hashbench.coders.vocabulary import Vocabulary
from hashbench.errors import InputError, near_match

CODERS: dict[str, type[Coder]] = {
    coder.name: coder
    for coder in (Vocabulary, Md5Rows, Md5Bits, LshRows, LshBits, NgramPooling, Projection, CodePoints, Bloom)
}


def make_coder(name: str, **arguments: object) -> Coder:
    """A coder by name.

    >>> coder = make_coder("md5-bits")
    >>> coder.describe(coder.encode(["play"])[0])
    '95ea122b0b72902c5a95d7ba740ff838'

    Raises:
        InputError: unknown name or argument, or a value that the coder refuses.
    """
    if name not in CODERS:
        hint = f"{near_match(name, list(CODERS))}; choose from {', '.join(CODERS)}"
        raise InputError(f"coder: unknown name {name!r}{hint}")
    known = list(inspect.signature(CODERS[name]).parameters)
    for argument in arguments:
        if argument not in known:
            hint = f"{near_match(argument, known)}; it takes {', '.join(known) or 'none'}"
            raise InputError(f"coder {name}: unknown argument {argument!r}{hint}")
    return CODERS[name](**arguments)
