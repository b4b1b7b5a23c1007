"""The projection of ProFormer: sums of the sides of hashed hyperplanes over the n-grams of a word.

Sides come 64 in a number; numbers of one word are laid end to end in one long integer, and counted by carrying.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hashbench.portable.letters import lowering
from hashbench.portable.splitmix import ALL_64, GAMMA_64, mix64


def word_features(word: str, longest: int) -> Iterator[str]:
    """n:cat for each n-gram of a word between its markers but for the bare markers, s:ct for pairs one apart."""
    marked = f"^{word}$"
    for start in range(len(marked)):
        for end in range(start + 1, min(start + longest, len(marked)) + 1):
            if end - start > 1 or 0 < start < len(marked) - 1:
                yield "n:" + marked[start:end]
    for start in range(len(marked) - 2):
        yield "s:" + marked[start] + marked[start + 2]


def projection(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[int]]:
    """A function from a word to its sums: those of the first place, then those of the others."""
    lower, bits, places, flip = lowering(values), values["bits"], values["places"], int(values["flip"])
    blocks = (bits + 63) // 64

    def encode(token: str) -> list[int]:
        planes: list[int] = []  # plane k holds bit k of all counters
        features = list(word_features(lower(token)[: values["most_characters"]], values["longest"]))
        for feature in features:
            digest = hashlib.md5(feature.encode(), usedforsecurity=False).digest()
            value = int.from_bytes(digest[:8], "little") ^ flip
            carry = 0
            for block in range(places * blocks):
                value = (value + GAMMA_64) & ALL_64
                carry |= mix64(value) << (64 * block)
            for k, plane in enumerate(planes):
                planes[k], carry = plane ^ carry, plane & carry
            if carry:
                planes.append(carry)
        sums = []
        for place in range(places):
            for j in range(bits):
                at = 64 * place * blocks + j
                ones = sum((plane >> at & 1) << k for k, plane in enumerate(planes))
                sums.append(2 * ones - len(features))
        return sums

    return encode
