"""Rows of a table chosen by k hashes of the type, and a row of factors: hash embeddings (Svenstrup et al. 2017)."""

from __future__ import annotations

import numpy as np

from hashbench.models.coders.base import PortableCoder, checked_count, checked_signs, checked_switch
from hashbench.models.text.base import PortablePart

# Chosen here: far above the paper's two or three, and codes stay small.
MOST_HASHES = 64


class HashRows(PortableCoder):
    """Codes (n, 1 + k): D1 = h_0 mod K, then the rows D2_i = h_i mod B, i = 1 to k, with h_i the i-th output of
    SplitMix64 seeded with the first 8 bytes of the type's MD5, little-endian.

    `nested`: the rows are hashes of D1 in place of the type, as the paper has it, so that types that share D1 share
    everything. `signs`: each row carries one of so many sign vectors, see `embeddings.rows.HashedRows`.
    """

    name = "hash-rows"
    dtype = np.int64

    def __init__(
        self,
        num_buckets: int = 1_000,
        hashes: int = 2,
        factor_rows: int = 50_000,
        nested: bool = False,
        signs: int = 0,
    ) -> None:
        self.num_buckets = checked_count(self.name, "num_buckets", num_buckets)
        self.hashes = checked_count(self.name, "hashes", hashes, most=MOST_HASHES)
        self.factor_rows = checked_count(self.name, "factor_rows", factor_rows)
        self.nested = checked_switch(self.name, "nested", nested)
        self.signs = checked_signs(self.name, signs, num_buckets, self.dtype)
        self.width = 1 + self.hashes

    def portable(self) -> PortablePart:
        """The step for a device without hashbench: its values are the arguments of this coder."""
        return PortablePart("word_bytes", "hash_rows", self.recipe(), needs=("hashing",))
