"""The ternary projection of PRADO and pQRNN (Kaliamoorthi, Ravi and Kozareva, EMNLP 2019; arXiv 2101.08890): a hash.

The whole word is hashed to numbers of 64 bits, low and high by turns, two for each 64 features. Feature 32 i + j is
bits 2 j and 2 j + 1 of number i, the lowest first: 00 is 0, 01 is 1, 10 is -1, 11 is 0. The empty word is hashed as
<null>.

- `murmur`: the first number is MurmurHash64A with seed 0, the second a mix of its inner states; both give all further
  ones, so that a code holds 128 bits of information, whatever its size. No word is like another to it.
- `xfixhash8`, `xfixhash16`, `xfixhash32`: running products over the bytes of the word from both ends, again and again;
  each step gives 8, 16 or 32 bits. Words of one length share what they have in common at their ends.

Bytes are unsigned here. In the released code `murmur` reads them as `char`, so that words outside ASCII have other
codes where that is signed (x86) than where it is not (ARM). Its features of position, length and case are left out: a
code depends on the word alone.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from hashbench.common.errors import InputError
from hashbench.models.coders.base import Coder, checked_count
from hashbench.models.coders.murmur import A_FACTOR, A_SHIFT, little
from hashbench.models.text.base import PortablePart
from hashbench.models.text.compiled import compiled, inlined

GOLDEN = np.uint64(0x9E3779B97F4A7835)  # the second factor of the released code
NULL = np.frombuffer(b"<null>", dtype=np.uint8)  # what the empty word is hashed as
FEATURES = 512  # of both public configurations
# Chosen here, beyond the 4,096 of the released code: a budget decides how many features there are.
MOST_FEATURES = 1 << 16
BLOCK_FEATURES, BLOCK_BYTES = 64, 16  # features of a low and a high number, and their bytes
Hash = Literal["murmur", "xfixhash8", "xfixhash16", "xfixhash32"]
BITS_OF_STEP: dict[str, int] = {"murmur": 0, "xfixhash8": 8, "xfixhash16": 16, "xfixhash32": 32}


@inlined
def shift_mixed(value: np.uint64) -> np.uint64:
    """A 64-bit number xor its upper bits."""
    return value ^ (value >> A_SHIFT)


@compiled
def write_murmur(data: np.ndarray, start: int, stop: int, out: np.ndarray) -> None:
    """Writes the numbers (2 blocks,) of the bytes start..stop of `data` (b,) to `out`; the first is MurmurHash64A."""
    h, g = np.uint64(stop - start) * A_FACTOR, np.uint64(0)
    while stop - start >= 8:
        h = (h ^ (shift_mixed(little(data, start, 8) * A_FACTOR) * A_FACTOR)) * A_FACTOR
        g ^= h
        start += 8
    if stop > start:
        h = (h ^ little(data, start, stop - start)) * A_FACTOR
        g ^= h
    h = shift_mixed(h) * A_FACTOR
    low, high = shift_mixed(h), shift_mixed((g ^ h) * GOLDEN) * GOLDEN
    for i in range(0, len(out), 2):
        out[i], out[i + 1] = low, high
        h = shift_mixed(low) * A_FACTOR
        low, high = shift_mixed((high ^ h) * GOLDEN) * GOLDEN, shift_mixed(h)


@compiled
def write_xfix(data: np.ndarray, start: int, stop: int, bits: int, out: np.ndarray) -> None:
    """Writes the numbers (2 blocks,) of the bytes start..stop of `data` (b,) to `out`; each step gives `bits` of one.

    The first two have one step less, since the number of bytes comes before it.
    """
    n, at, step = stop - start, 0, np.uint64(bits)
    mask = (np.uint64(1) << step) - np.uint64(1)
    low, high = np.uint64(n) * A_FACTOR, np.uint64(n) * GOLDEN
    front, back = A_FACTOR, GOLDEN
    for i in range(0, len(out), 2):
        for _ in range(64 // bits - (1 if i == 0 else 0)):
            front = ((front << np.uint64(8)) | np.uint64(data[start + at])) * A_FACTOR
            back = ((back << np.uint64(8)) | np.uint64(data[stop - 1 - at])) * GOLDEN
            low, high = (low << step) | (front & mask), (high << step) | (back & mask)
            at = at + 1 if at + 1 < n else 0
        out[i], out[i + 1] = low, high


@compiled
def project(blob: np.ndarray, offsets: np.ndarray, bits: int, n_numbers: int) -> np.ndarray:
    """Packed strings -> (n, n_numbers) uint64; `bits` of a step, 0 for murmur."""
    n_types = len(offsets) - 1
    numbers = np.empty((n_types, n_numbers), dtype=np.uint64)
    for t in range(n_types):
        start, stop = offsets[t], offsets[t + 1]
        if bits == 0 and stop > start:
            write_murmur(blob, start, stop, numbers[t])
        elif bits == 0:
            write_murmur(NULL, 0, len(NULL), numbers[t])
        elif stop > start:
            write_xfix(blob, start, stop, bits, numbers[t])
        else:
            write_xfix(NULL, 0, len(NULL), bits, numbers[t])
    return numbers


class TernaryProjection(Coder):
    """A coder of words: features -1, 0 and 1, four in a byte of little-endian 64-bit numbers: (n, 16 blocks) uint8.

    A block is two numbers, 64 features. Of the last block `features` may name fewer; who reads them cuts the rest off.
    """

    name = "ternary-projection"
    dtype = np.uint8

    def __init__(self, features: int = FEATURES, hash: Hash = "murmur") -> None:
        """`features`: F. Raises InputError for a number out of range, or an unknown hash."""
        if hash not in BITS_OF_STEP:
            raise InputError(f"coder {self.name}: hash {hash!r}; choose {', '.join(BITS_OF_STEP)}")
        self.features = checked_count(self.name, "features", features, most=MOST_FEATURES)
        self.hash = hash
        self.width = BLOCK_BYTES * -(-self.features // BLOCK_FEATURES)

    def portable(self) -> PortablePart:
        """The step for a device without hashbench: its values are the width of a code and the bits of a step."""
        values = {"width": self.width, "bits": BITS_OF_STEP[self.hash]}
        return PortablePart("ternary_projection", "ternary_projection", values, needs=("hashing",))

    def comparable(self, codes: np.ndarray) -> np.ndarray:
        """Codes (n, c) -> their features (n, F) int8."""
        return unpacked(codes, self.features)

    def encode_utf8(self, blob: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Packed strings, `blob` (bytes,) and `offsets` (n + 1,) -> codes (n, c)."""
        numbers = project(blob, np.asarray(offsets, dtype=np.int64), BITS_OF_STEP[self.hash], self.width // 8)
        return numbers.astype("<u8", copy=False).view(np.uint8)  # (n, c / 8) -> (n, c)


def unpacked(codes: np.ndarray, features: int) -> np.ndarray:
    """Codes (n, c) uint8 -> features (n, F) int8: of each two bits the lower one minus the upper one.

    >>> unpacked(TernaryProjection().encode(["hello"]), 8).tolist()
    [[0, 1, 1, 0, 1, 0, 0, 0]]
    """
    bits = np.unpackbits(codes, axis=1, bitorder="little").astype(np.int8)  # (n, 8 c)
    return (bits[:, ::2] - bits[:, 1::2])[:, :features]
