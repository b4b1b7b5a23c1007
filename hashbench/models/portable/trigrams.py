"""Byte trigrams of a word between two spaces, each with several rows of a table: T-FREE."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from hashbench.models.portable.murmur import signed_row


def trigrams(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[int]]:
    """A function from a word to the rows of its trigrams, -1 behind the last."""
    buckets, hashes, shared = values["num_buckets"], values["hashes"], values["lowercase_rows"]
    signs, most = values["signs"], values["most"]
    known: dict[bytes, list[int]] = {}

    def distinct_rows(trigram: bytes) -> list[int]:
        found: list[int] = []
        for k in range(hashes):
            j = 0
            while len(found) == k:
                text = f"{int.from_bytes(trigram, 'little')}_{k}_{j}"
                digest = hashlib.md5(text.encode(), usedforsecurity=False).digest()
                row = int.from_bytes(digest, "big") % buckets
                j += 1
                if row not in found:
                    found.append(row)
        return sorted(found)

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
        found: list[int] = []
        for trigram in windows:
            if trigram not in known:
                if len(known) >= values["remembered"]:
                    known.clear()
                known[trigram] = rows_of(trigram)
            found += known[trigram]
        return found + [-1] * (most * hashes - len(found))

    return encode
