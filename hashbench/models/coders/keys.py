"""A 64-bit number of each string, from which table rows, factors and signs are hashed.

x is the first 8 bytes of the MD5 of the string's UTF-8, little-endian. The i-th hash of x is the i-th output of
SplitMix64 seeded with x (Steele, Lea and Flood 2014), so that any number of hashes costs one MD5.
"""

from __future__ import annotations

import numpy as np

from hashbench.common.splitmix import GAMMA, mix
from hashbench.models.coders.base import PortableCoder
from hashbench.models.text.base import PortablePart
from hashbench.models.text.compiled import inlined

STEP = np.uint64(GAMMA)
mix_one = inlined(mix)  # in a kernel, where numba takes a number for the array


@inlined
def sign_of(x: np.uint64, i: int, signs: int) -> int:
    """The index of the sign vector for the i-th hash of a number, computed inside a kernel."""
    return int(np.int64(mix_one(x + np.uint64(i + 1) * STEP) % np.uint64(signs)))  # type: ignore[arg-type]


class WordKeys(PortableCoder):
    """Codes (n, 1) int64: the number x of each string, its bits read as a signed number."""

    name = "word-keys"
    width = 1
    dtype = np.int64

    def portable(self) -> PortablePart:
        """The step for a device without hashbench, which needs no values."""
        return PortablePart("word_bytes", "word_keys", {}, needs=("hashing",))
