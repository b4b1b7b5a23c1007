"""The projection of ProFormer (Sankar, Ravi and Kozareva 2021, section 2.1): hashed hyperplanes over n-grams of a word.

The paper publishes T = 420 bits, n-grams to 5, skip-grams of 1 and features of the context words; the rest is chosen
here. A word between ^ and $ gives its substrings of 1 to 5 characters but for the two bare markers, and its pairs of
characters one apart. Feature f lies on side r_j(f, p) = +1 or -1 of hyperplane j, as place p (0 the word itself, 1 the
left neighbour, 2 the right one) sees it; the side is a bit of a hash, so that no hyperplane is stored.

A code is the sums s^p_j = sum_f r_j(f, p) of one word, before any sign: who adds the sums of neighbours, or of all
words of a sentence, before taking the sign gets the projection of the words together.

In the compiled loop over UTF-8 sides come 64 in a number and are counted without unpacking: `planes[k]` holds bit k of
64 counters, and a number is added to all 64 by carrying, which touches two planes on average.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hashbench.common.splitmix import GAMMA, mix
from hashbench.models.coders.base import Coder, checked_count
from hashbench.models.coders.md5 import START, finish_message
from hashbench.models.coders.rows import STEP, mix_one
from hashbench.models.portable.projection import projection
from hashbench.models.text.base import PortablePart
from hashbench.models.text.compiled import compiled, longest_string
from hashbench.models.text.unicode import pack, split
from hashbench.models.text.unicode_values import case_values

LONGEST_NGRAM = 5  # characters of an n-gram: the paper, section 3
# Bits of a counter, which stays below 4,096: a word of 256 characters has 1,534 features.
PLANES = 12
# An n-gram is hashed as n:cat, a pair of characters one apart as s:ct.
KIND_N, KIND_S, COLON = np.uint8(ord("n")), np.uint8(ord("s")), np.uint8(ord(":"))
MESSAGE_BYTES = 2 + 4 * LONGEST_NGRAM  # the longest feature: MD5 sees one block


@compiled
def fingerprint_of(message: np.ndarray, n: int, state: np.ndarray, words: np.ndarray) -> np.uint64:
    """The first eight bytes of the MD5 of message[:n] (m,), little-endian; `state` and `words` are scratch."""
    state[:] = START
    finish_message(message, 0, n, 0, state, words)
    return np.uint64(state[0]) | (np.uint64(state[1]) << np.uint64(32))


@compiled
def count_sides(fingerprint: np.uint64, planes: np.ndarray) -> None:
    """Adds the sides of one feature, a bit for each hyperplane, to the counters (PLANES, numbers)."""
    value = fingerprint
    for block in range(planes.shape[1]):
        value += STEP
        carry, plane = mix_one(value), 0  # type: ignore[arg-type]  # numba takes a number for the array
        while carry != 0:
            both = planes[plane, block] & carry
            planes[plane, block] ^= carry
            carry = both
            plane += 1


@compiled
def read_counters(planes: np.ndarray, n_features: int, sums: np.ndarray) -> None:
    """Writes sums (places, T) int16 from counters (PLANES, places * blocks): as many +1 as counted, the rest -1."""
    places, n_bits = sums.shape
    blocks = planes.shape[1] // places
    used = 0
    while (n_features >> used) > 0:
        used += 1
    for place in range(places):
        for j in range(n_bits):
            block, shift = place * blocks + (j >> 6), np.uint64(j & 63)
            ones = 0
            for plane in range(used):
                ones |= int((planes[plane, block] >> shift) & np.uint64(1)) << plane
            sums[place, j] = 2 * ones - n_features


@compiled
def characters(blob: np.ndarray, start: int, stop: int, starts: np.ndarray) -> int:
    """Writes where each character of UTF-8 in `blob` (b,) begins, and the end, to `starts` (n,); returns how many."""
    n = 0
    for at in range(start, stop):
        if blob[at] & np.uint8(0xC0) != 0x80:  # no byte within a character
            starts[n] = at
            n += 1
    starts[n] = stop
    return n


@compiled
def project(blob: np.ndarray, offsets: np.ndarray, flip: np.uint64, n_bits: int, places: int) -> np.ndarray:
    """Packed words, each between its markers -> sums int16 (n, places * T). Fingerprints are xor-ed with `flip`."""
    n_types = len(offsets) - 1
    starts = np.empty(longest_string(offsets, 0) + 1, dtype=np.int64)
    message = np.empty(MESSAGE_BYTES, dtype=np.uint8)
    message[1] = COLON
    state, words = np.empty(4, dtype=np.uint32), np.empty(16, dtype=np.uint32)
    planes = np.empty((PLANES, places * ((n_bits + 63) >> 6)), dtype=np.uint64)
    sums = np.empty((n_types, places, n_bits), dtype=np.int16)
    for t in range(n_types):
        n = characters(blob, offsets[t], offsets[t + 1], starts)
        planes[:] = 0
        count = 0
        message[0] = KIND_N
        for i in range(n):
            for length in range(1, min(LONGEST_NGRAM, n - i) + 1):
                if length == 1 and (i == 0 or i == n - 1):
                    continue  # a bare marker
                first, size = starts[i], starts[i + length] - starts[i]
                message[2 : 2 + size] = blob[first : first + size]
                count_sides(fingerprint_of(message, 2 + size, state, words) ^ flip, planes)
                count += 1
        message[0] = KIND_S
        for i in range(n - 2):
            first_size, second_size = starts[i + 1] - starts[i], starts[i + 3] - starts[i + 2]
            message[2 : 2 + first_size] = blob[starts[i] : starts[i + 1]]
            message[2 + first_size : 2 + first_size + second_size] = blob[starts[i + 2] : starts[i + 3]]
            count_sides(fingerprint_of(message, 2 + first_size + second_size, state, words) ^ flip, planes)
            count += 1
        read_counters(planes, count, sums[t])
    return sums.reshape(n_types, places * n_bits)


BITS = 420  # T of the paper, section 3
MOST_CHARACTERS = 256  # of a word, chosen here: |s| <= 1,534 features fits an int16
BEGIN, END = "^", "$"
WITHOUT_CASE = {"lower": [], "lower_others": {}, "ignorable": "", "cased": ""}  # in the portable step


class ProjectionCoder(Coder):
    """A coder of words: sums of hyperplane sides over a word's features, int16 (n, places * T), place by place."""

    name = "projection"
    dtype = np.int16

    def __init__(self, bits: int = BITS, places: int = 3, seed: int = 0) -> None:
        """`places` 1 leaves out the sums of a neighbour, which the projection of a whole sentence has no use for."""
        # `bits` itself belongs to codes that are packed bits.
        self.n_bits = checked_count(self.name, "bits", bits)
        self.places = checked_count(self.name, "places", places, most=3)
        self.seed = checked_count(self.name, "seed", seed, least=0)
        self.width = self.places * self.n_bits

    def encode_utf8(self, blob: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Packed strings -> sums (n, places * T). Types are lower-cased, and cut behind 256 characters."""
        words = [string.decode().lower()[:MOST_CHARACTERS] for string in split(blob, offsets)]
        return project(*pack([f"{BEGIN}{word}{END}" for word in words]), self._flip(), self.n_bits, self.places)

    def encode_few(self, strings: Sequence[str]) -> np.ndarray:
        """Sums (n, places * T) of a handful of strings, without waiting for numba.

        They are lower-cased here: the table of all letters, by which a device does it, takes as long as numba.
        """
        sums_of = projection(self._sizes() | WITHOUT_CASE, str)
        return np.array([sums_of(string.lower()) for string in strings], self.dtype).reshape(-1, self.width)

    def portable(self) -> PortablePart:
        """The step for a device without hashbench: its values are the sizes, and how words are lower-cased."""
        return PortablePart("projection", "projection", self._sizes() | case_values(), needs=("letters", "hashing"))

    def _sizes(self) -> dict[str, Any]:
        return {
            "bits": self.n_bits, "places": self.places, "flip": str(self._flip()), "longest": LONGEST_NGRAM,
            "most_characters": MOST_CHARACTERS,
        }  # fmt: skip

    def _flip(self) -> np.uint64:
        """The number that fingerprints are xor-ed with; 0 for seed 0."""
        return mix(np.array([self.seed * GAMMA % 2**64], dtype=np.uint64))[0]

    def recipe(self) -> dict[str, object]:
        """Name and arguments."""
        return super().recipe() | {"bits": self.n_bits}
