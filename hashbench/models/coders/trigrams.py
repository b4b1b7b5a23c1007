"""Byte trigrams of " word ", each with m rows of a table: T-FREE (Deiseroth et al., EMNLP 2024).

The trigrams of a word are a set, windows of three over the UTF-8 of the word between two spaces. A trigram is numbered
b0 + 256 b1 + 65536 b2. Its m rows are distinct: for k = 0 to m - 1, MD5 of the text "{number}_{k}_{j}" modulo v, j = 0,
1, ... until the row is new; they are kept sorted. The last c rows of a trigram of ASCII letters and spaces with a
capital are those of its lower-case form.

Chosen here: of a word with more than MOST trigrams the first stay.
"""

from __future__ import annotations

import numpy as np

from hashbench.models.coders.base import Coder, checked_count, checked_signs
from hashbench.models.coders.md5 import START, finish_message
from hashbench.models.coders.rows import sign_of
from hashbench.models.text.base import PortablePart
from hashbench.models.text.compiled import compiled, inlined

MOST = 32  # trigrams of a word; chosen here, so that codes have one width
SPACE = 32
REMEMBERED = 1 << 16  # trigrams whose rows a device keeps
# Trigrams whose rows are remembered in a call: words of a corpus have some 10,000.
CACHED = 1 << 15
ZERO, UNDERSCORE = 48, 95


@inlined
def write_number(value: int, out: np.ndarray, at: int) -> int:
    """Writes a number in decimal to `out` (b,) from index `at` on; returns the index behind it."""
    digits, rest = 1, value // 10
    while rest > 0:
        digits += 1
        rest //= 10
    for i in range(digits - 1, -1, -1):
        out[at + i] = ZERO + value % 10
        value //= 10
    return at + digits


@compiled
def rows_of(
    trigram: int, buckets: int, out: np.ndarray, text: np.ndarray, state: np.ndarray, words: np.ndarray
) -> None:
    """Writes the m distinct rows of a trigram, sorted, to `out` (m,); text (b,), state (4,), words (16,): scratch."""
    base = np.uint64(2**32 % buckets)
    for k in range(len(out)):
        j = 0
        while True:
            end = write_number(trigram, text, 0)
            text[end] = UNDERSCORE
            end = write_number(k, text, end + 1)
            text[end] = UNDERSCORE
            end = write_number(j, text, end + 1)
            state[:] = START
            finish_message(text, 0, end, 0, state, words)
            row = np.uint64(0)
            for w in range(4):  # the digest as a big-endian number of 128 bits
                word = np.uint64(0)
                for b in range(4):
                    word = (word << np.uint64(8)) | ((np.uint64(state[w]) >> np.uint64(8 * b)) & np.uint64(0xFF))
                row = (row * base + word) % np.uint64(buckets)
            is_double = False
            for i in range(k):
                is_double = is_double or out[i] == np.int64(row)
            if not is_double:
                out[k] = np.int64(row)
                break
            j += 1
    out.sort()


@inlined
def lowered(trigram: int) -> int:
    """A trigram's lower-case form; -1 where it holds anything but ASCII letters and spaces, or no capital."""
    changed, result = False, 0
    for i in range(3):
        byte = (trigram >> (8 * i)) & 0xFF
        if 65 <= byte <= 90:
            changed = True
            byte += 32
        elif byte != SPACE and not 97 <= byte <= 122:
            return -1
        result |= byte << (8 * i)
    return result if changed else -1


@compiled
def trigram_rows(
    blob: np.ndarray, offsets: np.ndarray, buckets: int, hashes: int, shared: int, signs: int, most: int
) -> np.ndarray:
    """Packed strings -> table rows of their trigrams (n, T m) int32, -1 behind the last."""
    n_types = len(offsets) - 1
    codes = np.full((n_types, most * hashes), -1, dtype=np.int32)
    text, state, words = np.empty(64, np.uint8), np.zeros(4, np.uint32), np.zeros(16, np.uint32)
    cached, kept = np.full(CACHED, -1, dtype=np.int64), np.empty((CACHED, hashes), dtype=np.int64)
    seen, below = np.empty(most, dtype=np.int64), np.empty(hashes, dtype=np.int64)
    for t in range(n_types):
        first, n, count = offsets[t], offsets[t + 1] - offsets[t] + 2, 0
        for i in range(n - 2):
            trigram = 0
            for b in range(3):
                at = i + b
                byte = SPACE if at == 0 or at == n - 1 else int(blob[first + at - 1])
                trigram |= byte << (8 * b)
            new = True
            for other in range(count):
                new = new and seen[other] != trigram
            if not new or count == most:
                continue
            slot = (trigram * 2654435761 >> 8) & (CACHED - 1)
            if cached[slot] != trigram:
                rows_of(trigram, buckets, kept[slot], text, state, words)
                small = lowered(trigram) if shared else -1
                if small >= 0:
                    rows_of(small, buckets, below, text, state, words)
                    kept[slot, hashes - shared :] = below[hashes - shared :]
                cached[slot] = trigram
            for k in range(hashes):
                sign = buckets * sign_of(np.uint64(trigram), k, signs) if signs else 0
                codes[t, count * hashes + k] = kept[slot, k] + sign
            seen[count] = trigram
            count += 1
    return codes


class Trigrams(Coder):
    """A coder of words: m table rows for each byte trigram of a word, (n, T m) int32, -1 behind the last."""

    name = "trigrams"
    dtype = np.int32

    def __init__(self, num_buckets: int = 8_000, hashes: int = 10, lowercase_rows: int = 0, signs: int = 0) -> None:
        """`num_buckets`: v; `hashes`: m; `lowercase_rows`: c. `signs`: see `embeddings.rows.HashedRows`."""
        self.num_buckets = checked_count(self.name, "num_buckets", num_buckets)
        self.hashes = checked_count(self.name, "hashes", hashes, most=min(64, self.num_buckets))
        self.lowercase_rows = checked_count(self.name, "lowercase_rows", lowercase_rows, least=0, most=self.hashes)
        self.signs = checked_signs(self.name, signs, num_buckets, self.dtype)
        self.width = MOST * self.hashes

    def portable(self) -> PortablePart:
        """The step for a device without hashbench: its values are the arguments and constants of this coder."""
        values = {**self.recipe(), "most": MOST, "remembered": REMEMBERED}
        return PortablePart("ngrams", "trigrams", values, needs=("hashing",))

    def encode_utf8(self, blob: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Packed strings, `blob` (bytes,) and `offsets` (n + 1,) -> rows (n, T m)."""
        arguments = self.num_buckets, self.hashes, self.lowercase_rows, self.signs
        return trigram_rows(blob, np.asarray(offsets, dtype=np.int64), *arguments, MOST)
