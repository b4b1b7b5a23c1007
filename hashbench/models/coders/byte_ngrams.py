"""Hashed n-grams of a word's bytes, position by position: BLT (Pagnoni et al., ACL 2025, section 3.2.1).

Ids are byte + 4, a word is framed by two ids 3, which BLT leaves unused. The n-gram that ends at position i has the
hash sum_j w_j a^j of its n ids, the oldest first, a = 1,000,000,007, in 64-bit integers that wrap; its row is that
modulo V with the sign of V. Positions with fewer than n ids before them have none, as in the paper; `pad` fills them
up with 0, as the released code does.

Chosen here: the frame, so that a code depends on the word alone; of a word with more than MOST positions the first
stay.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hashbench.common.errors import InputError
from hashbench.models.coders.base import Coder, checked_count, checked_signs, checked_switch
from hashbench.models.coders.rows import sign_of
from hashbench.models.text.base import PortablePart
from hashbench.models.text.compiled import compiled

# Positions of a word, its frame included. Chosen here: words of up to 22 bytes are whole, and codes stay small.
MOST = 24
# BLT's ids of bytes begin behind four special ones; the fourth is its delimiter of BPE tokens.
OFFSET, FRAME = 4, 3
ROWS = 256 + OFFSET  # of the table of bytes
# The first of the primes in BLT's released code, which takes it where there is one function.
PRIME = np.int64(1_000_000_007)
# The paper has 3 to 8 (section 4.8) for texts. Chosen here: a word has few n-grams of the longer sizes, and short ones
# matter most (table 8).
SIZES = (3, 4, 5)
# Of the n-grams. Chosen here: twice the paper's largest.
LARGEST = 16


@compiled
def rolled(ids: np.ndarray, last: int, size: int) -> np.int64:
    """The hash of the `size` ids that end at index `last` of `ids` (n,); ids before the first count as 0."""
    total, power = np.int64(0), np.int64(1)
    for j in range(size):
        at = last - size + 1 + j
        if at >= 0:
            total += np.int64(ids[at]) * power
        power *= PRIME
    return total


@compiled
def position_rows(
    blob: np.ndarray, offsets: np.ndarray, sizes: np.ndarray, buckets: int, pad: bool, signs: int, most: int
) -> np.ndarray:
    """Packed strings -> (n, T (1 + s)) int32: of each position its id and a row for each size, -1 for none."""
    n_types, columns = len(offsets) - 1, 1 + len(sizes)
    codes = np.full((n_types, most * columns), -1, dtype=np.int32)
    ids = np.empty(most, dtype=np.int64)
    for t in range(n_types):
        n = min(most, offsets[t + 1] - offsets[t] + 2)
        for i in range(n):
            is_frame = i == 0 or i == offsets[t + 1] - offsets[t] + 1
            ids[i] = FRAME if is_frame else np.int64(blob[offsets[t] + i - 1]) + OFFSET
        for i in range(n):
            codes[t, i * columns] = ids[i]
            for s in range(len(sizes)):
                if i + 1 < sizes[s] and not pad:
                    continue
                total = rolled(ids, i, sizes[s])
                sign = buckets * sign_of(np.uint64(total), s, signs) if signs else 0
                codes[t, i * columns + 1 + s] = total % buckets + sign
    return codes


class ByteNgrams(Coder):
    """A coder of words: (n, T (1 + s)) int32, for each byte its id and a row for each n-gram size, -1 for none."""

    name = "byte-ngrams"
    dtype = np.int32

    def __init__(
        self, num_buckets: int = 5_003, sizes: Sequence[int] = SIZES, pad: bool = False, signs: int = 0
    ) -> None:
        """`num_buckets`: V, of each size's table. `signs`: see `embeddings.rows.HashedRows`."""
        self.num_buckets = checked_count(self.name, "num_buckets", num_buckets)
        listed = list(sizes) if isinstance(sizes, Sequence) and not isinstance(sizes, str) else [sizes]
        if not listed or sorted(set(map(str, listed))) != sorted(map(str, listed)):
            raise InputError(f"coder {self.name}: sizes {listed!r}; give each once, and at least one")
        self.sizes = [checked_count(self.name, "sizes", size, most=LARGEST) for size in listed]
        self.pad = checked_switch(self.name, "pad", pad)
        self.signs = checked_signs(self.name, signs, num_buckets, self.dtype)
        self.width = MOST * (1 + len(self.sizes))

    def portable(self) -> PortablePart:
        """The step for a device without hashbench: its values are the arguments and constants of this coder."""
        values = {**self.recipe(), "most": MOST, "frame": FRAME, "offset": OFFSET, "prime": int(PRIME)}
        return PortablePart("word_bytes", "byte_ngrams", values, needs=("hashing",))

    def encode_utf8(self, blob: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Packed strings, `blob` (bytes,) and `offsets` (n + 1,) -> codes (n, T (1 + s)) int32.

        Of each of T = MOST positions: the id of its byte or of the frame, then a row for each of the s n-gram sizes; -1
        for none.
        """
        sizes = np.array(self.sizes, dtype=np.int64)
        return position_rows(
            blob, np.asarray(offsets, dtype=np.int64), sizes, self.num_buckets, self.pad, self.signs, MOST
        )
