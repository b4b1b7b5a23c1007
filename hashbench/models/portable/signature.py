"""Signatures of words: numbers of buckets by several seeds of MurmurHash3."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hashbench.models.portable.hashing import murmur3


def signature(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[int]]:
    """A function from a token to its id in each table, from 1 on."""
    hashes, modulus = values["hashes"], values["num_buckets"] - 1

    def encode(token: str) -> list[int]:
        data = token.encode()
        halves = (murmur3(data, seed) for seed in range(hashes))
        return [(low + (high << 64)) % modulus + 1 for low, high in halves]

    return encode
