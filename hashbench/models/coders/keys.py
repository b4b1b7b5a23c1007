"""A 64-bit number of each string, from which table rows, factors and signs are hashed.

x is the first 8 bytes of the MD5 of the string's UTF-8, little-endian. The i-th hash of x is the i-th output of
SplitMix64 seeded with x (Steele, Lea and Flood 2014), so that any number of hashes costs one MD5.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from hashbench.common.splitmix import GAMMA, mix
from hashbench.models.coders.base import Coder
from hashbench.models.text.base import PortablePart
from hashbench.models.text.compiled import inlined
from hashbench.models.text.unicode import split

STEP = np.uint64(GAMMA)
mix_one = inlined(mix)  # in a kernel, where numba takes a number for the array


def string_keys(blob: np.ndarray, offsets: np.ndarray) -> NDArray[np.uint64]:
    """Packed strings -> their numbers (n,) uint64.

    >>> string_keys(np.frombuffer(b"cat", np.uint8), np.array([0, 3])).tolist()
    [1056086271164839888]
    """
    digests = b"".join([hashlib.md5(string, usedforsecurity=False).digest() for string in split(blob, offsets)])
    return np.frombuffer(digests, "<u8")[::2].astype(np.uint64)


def hashes(keys: NDArray[np.uint64], n_hashes: int, first: int = 0) -> NDArray[np.uint64]:
    """Numbers (n,) -> the hashes `first` to `first + n_hashes` of each (n, h) uint64.

    >>> (hashes(np.array([1056086271164839888], np.uint64), 3) % np.uint64(1000)).tolist()
    [[891, 646, 828]]
    """
    steps = [np.uint64((first + i + 1) * GAMMA % 2**64) for i in range(n_hashes)]
    return np.stack([mix(keys + step) for step in steps], axis=1) if steps else np.empty((len(keys), 0), np.uint64)


@inlined
def sign_of(x: np.uint64, i: int, signs: int) -> int:
    """The index of the sign vector for the i-th hash of a number, computed inside a kernel."""
    return int(np.int64(mix_one(x + np.uint64(i + 1) * STEP) % np.uint64(signs)))  # type: ignore[arg-type]


def with_signs(rows: np.ndarray, hashed: NDArray[np.uint64], num_rows: int, signs: int) -> np.ndarray:
    """Rows (n, m) and a hash of each (n, m) -> codes row + num_rows sign, sign = hash mod `signs` (n, m) int64."""
    return rows + np.int64(num_rows) * (hashed % np.uint64(signs)).astype(np.int64) if signs else rows


class WordKeys(Coder):
    """Codes (n, 1) int64: the bits of `keys.string_keys`, read as a signed number."""

    name = "word-keys"
    width = 1
    dtype = np.int64

    def portable(self) -> PortablePart:
        """The step for a device without hashbench, which needs no values."""
        return PortablePart("word_bytes", "word_keys", {}, needs=("hashing",))

    def encode_utf8(self, blob: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Packed strings -> codes (n, 1) int64."""
        return string_keys(blob, offsets).view(np.int64)[:, None]
