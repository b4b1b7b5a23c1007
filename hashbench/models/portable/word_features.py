"""spaCy's four features of a word and the rows of their tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hashbench.models.portable.hashing import murmur3, murmur64a, quarter, signed_row
from hashbench.models.portable.letters import lowering, members


def word_features(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[int]]:
    """A function from a word to the table rows of its features."""
    upper, alpha, digits = (members(values[kind]) for kind in ("upper", "alpha", "digits"))
    longest, run, hashes, signs = values["long_shape"], values["longest_run"], values["hashes"], values["signs"]

    def shown(character: str) -> str:
        kinds = ((upper, "X"), (alpha, "x"), (digits, "d"))
        return next((letter for kind, letter in kinds if character in kind), character)

    def shape(word: str) -> str:
        if len(word) >= longest:
            return str(values["long_text"])
        letters = ""
        for letter in map(shown, word):
            if letters[-run:] != letter * run:
                letters += letter
        return letters

    makers: dict[str, Callable[[str], str]] = {
        "norm": lowering(values),
        "prefix": lambda word: word[:1],
        "suffix": lambda word: word[-values["suffix_length"] :],
        "shape": shape,
    }

    def encode(token: str) -> list[int]:
        rows = []
        for name, buckets, seed in values["tables"]:
            number = murmur64a(makers[name](token).encode(), values["string_seed"])
            halves = murmur3(number.to_bytes(8, "little"), seed)
            rows += [signed_row(quarter(halves, i) % buckets, buckets, number, i, signs) for i in range(hashes)]
        return rows

    return encode
