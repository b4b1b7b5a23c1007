"""N-grams of a word as rows of a table: fastText's subwords, floret's, and the byte trigrams of T-FREE."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hashbench.models.portable.hashing import md5, murmur3, quarter, signed_row


def fnv(data: bytes) -> int:
    """fastText's FNV-1a of 32 bits: each byte is sign-extended."""
    h = 2166136261
    for byte in data:
        h = (h ^ (byte | 0xFFFFFF00 if byte > 127 else byte)) * 16777619 & 0xFFFFFFFF
    return h


def ngram_buckets(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[int]]:
    """A function from a word to the table rows of its n-grams, -1 behind the last."""
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
        numbers = [row for entry, _ in zip(entries(token), range(most), strict=False) for row in rows_of(entry)]
        return numbers + [-1] * (most * hashes - len(numbers))

    return encode


def trigrams(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[int]]:
    """A function from a word to the table rows of its byte trigrams, -1 behind the last."""
    buckets, hashes, shared = values["num_buckets"], values["hashes"], values["lowercase_rows"]
    signs, most = values["signs"], values["most"]
    row_cache: dict[bytes, list[int]] = {}

    def distinct_rows(trigram: bytes) -> list[int]:
        numbers: list[int] = []
        for k in range(hashes):
            j = 0
            while len(numbers) == k:
                text = f"{int.from_bytes(trigram, 'little')}_{k}_{j}"
                digest = md5(text.encode()).digest()
                row = int.from_bytes(digest, "big") % buckets
                j += 1
                if row not in numbers:
                    numbers.append(row)
        return sorted(numbers)

    def rows_of(trigram: bytes) -> list[int]:
        rows = distinct_rows(trigram)
        letters = trigram.replace(b" ", b"")
        if shared and trigram.lower() != trigram and all(65 <= b <= 90 or 97 <= b <= 122 for b in letters):
            rows[hashes - shared :] = distinct_rows(trigram.lower())[hashes - shared :]
        number = int.from_bytes(trigram, "little")
        return [signed_row(row, buckets, number, k, signs) for k, row in enumerate(rows)]

    def encode(token: str) -> list[int]:
        framed = b" " + token.encode() + b" "
        windows = list(dict.fromkeys(framed[i : i + 3] for i in range(len(framed) - 2)))[:most]
        numbers: list[int] = []
        for trigram in windows:
            rows = row_cache.get(trigram)
            if rows is None:
                rows = rows_of(trigram)
                if len(row_cache) >= values["remembered"]:
                    row_cache.clear()
                row_cache[trigram] = rows
            numbers += rows  # not looked up again: another thread may have cleared the cache
        return numbers + [-1] * (most * hashes - len(numbers))

    return encode
