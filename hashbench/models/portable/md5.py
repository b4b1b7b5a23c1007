"""HMAC-MD5 of a token: its 128 bits, highest first, or its number modulo the rows of a table."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any


def md5_of(key: str) -> Callable[[str], bytes]:
    """A function from a token to the 16 bytes of its HMAC (RFC 2104) under a key."""
    secret = key.encode()
    if len(secret) > 64:
        secret = hashlib.md5(secret, usedforsecurity=False).digest()
    padded = secret.ljust(64, b"\0")
    inner, outer = (hashlib.md5(bytes(b ^ mark for b in padded), usedforsecurity=False) for mark in (0x36, 0x5C))

    def digest(token: str) -> bytes:
        within, around = inner.copy(), outer.copy()
        within.update(token.encode())
        around.update(within.digest())
        return around.digest()

    return digest


def md5_bits(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], bytes]:
    """A function from a token to 128 bits, a byte each."""
    digest = md5_of(values["key"])
    bits = [bytes(byte >> place & 1 for place in range(7, -1, -1)) for byte in range(256)]
    return lambda token: b"".join([bits[byte] for byte in digest(token)])


def md5_rows(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[int]]:
    """A function from a token to its row."""
    digest = md5_of(values["key"])
    return lambda token: [values["first_row"] + int.from_bytes(digest(token), "big") % values["num_buckets"]]
