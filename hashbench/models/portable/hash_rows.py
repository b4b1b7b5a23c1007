"""Rows and a row of factors, chosen by hashes of a token: hash embeddings."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from hashbench.models.portable.splitmix import ALL_64, GAMMA_64, mix64


def hash_rows(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[int]]:
    """A function from a token to its row of factors and its rows."""
    buckets, count, signs = values["num_buckets"], values["hashes"], values["signs"]

    def nth(key: int, i: int) -> int:
        return mix64((key + (i + 1) * GAMMA_64) & ALL_64)

    def encode(token: str) -> list[int]:
        key = int.from_bytes(hashlib.md5(token.encode(), usedforsecurity=False).digest()[:8], "little")
        factors = nth(key, 0) % values["factor_rows"]
        if values["nested"]:
            key = factors
        rows = [nth(key, 1 + i) % buckets for i in range(count)]
        if signs:
            rows = [row + buckets * (nth(key, 1 + count + i) % signs) for i, row in enumerate(rows)]
        return [factors, *rows]

    return encode
