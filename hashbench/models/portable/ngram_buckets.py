"""Character n-grams of a framed word as rows of a table: fastText's subwords and floret's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hashbench.models.portable.murmur import murmur3, quarter, signed_row


def fnv(data: bytes) -> int:
    """fastText's FNV-1a of 32 bits: each byte is sign-extended."""
    h = 2166136261
    for byte in data:
        h = (h ^ (byte | 0xFFFFFF00 if byte > 127 else byte)) * 16777619 & 0xFFFFFFFF
    return h


def ngram_buckets(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[int]]:
    """A function from a word to the rows of its entries, -1 behind the last."""
    buckets, hashes, signs, most = values["num_buckets"], values["hashes"], values["signs"], values["most"]

    def entries(word: str) -> Iterator[bytes]:
        framed = f"<{word}>"
        if values["word"]:
            yield framed.encode()
        for length in range(values["minn"], min(values["maxn"], len(framed)) + 1):
            for i in range(len(framed) - length + 1):
                if length > 1 or 0 < i < len(framed) - 1:
                    yield framed[i : i + length].encode()

    def rows_of(entry: bytes) -> list[int]:
        if values["hash"] == "fnv":
            h = fnv(entry)
            return [signed_row(h % buckets, buckets, h, 0, signs)]
        halves = murmur3(entry, values["seed"])
        return [signed_row(quarter(halves, i) % buckets, buckets, halves[0], i, signs) for i in range(hashes)]

    def encode(token: str) -> list[int]:
        found = [row for entry, _ in zip(entries(token), range(most), strict=False) for row in rows_of(entry)]
        return found + [-1] * (most * hashes - len(found))

    return encode
