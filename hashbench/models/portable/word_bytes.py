"""Codes made of the bytes of a word: their ids, hashed n-grams of them, one number for all, or rows that it chooses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hashbench.models.portable.hashing import ALL_64, GAMMA_64, md5, mix64, signed_row


def word_bytes(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[int]]:
    """A function from a word to the ids of its bytes between those of begin and end, filled up with 0."""
    begin, end, length = values["begin"] + 1, values["end"] + 1, values["length"]

    def encode(token: str) -> list[int]:
        ids = [begin, *(byte + 1 for byte in token.encode()[: length - 2]), end]
        return ids + [0] * (length - len(ids))

    return encode


def byte_ngrams(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[int]]:
    """A function from a word to the id of each byte and the rows of the n-grams that end at it, -1 behind the last."""
    frame, offset, prime, sizes = values["frame"], values["offset"], values["prime"], values["sizes"]
    buckets, signs, most = values["num_buckets"], values["signs"], values["most"]

    def encode(token: str) -> list[int]:
        ids = [frame, *(byte + offset for byte in token.encode()), frame][:most]
        numbers = []
        for i, own in enumerate(ids):
            numbers.append(own)
            for s, size in enumerate(sizes):
                if i + 1 < size and not values["pad"]:
                    numbers.append(-1)
                    continue
                missing = max(size - i - 1, 0)
                window = ids[max(i + 1 - size, 0) : i + 1]
                total = sum(number * pow(prime, missing + j, 2**64) for j, number in enumerate(window)) & ALL_64
                row = (total - (total >> 63 << 64)) % buckets  # the 64 bits are a signed number
                numbers.append(signed_row(row, buckets, total, s, signs))
        return numbers + [-1] * (most * (1 + len(sizes)) - len(numbers))

    return encode


def word_keys(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[int]]:
    """A function from a word to the first 8 bytes of its MD5 as a signed number."""

    def encode(token: str) -> list[int]:
        digest = md5(token.encode()).digest()
        return [int.from_bytes(digest[:8], "little", signed=True)]

    return encode


def hash_rows(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[int]]:
    """A function from a token to its row of factors and its rows of the pool."""
    buckets, count, signs = values["num_buckets"], values["hashes"], values["signs"]

    def nth(key: int, i: int) -> int:
        return mix64((key + (i + 1) * GAMMA_64) & ALL_64)

    def encode(token: str) -> list[int]:
        key = int.from_bytes(md5(token.encode()).digest()[:8], "little")
        factors = nth(key, 0) % values["factor_rows"]
        if values["nested"]:
            key = factors
        rows = [nth(key, 1 + i) % buckets for i in range(count)]
        if signs:
            rows = [row + buckets * (nth(key, 1 + count + i) % signs) for i, row in enumerate(rows)]
        return [factors, *rows]

    return encode
