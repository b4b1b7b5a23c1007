"""Signatures of words: K numbers of buckets by K seeds of MurmurHash3 (MultiHashFormer, Xue et al. 2026, 2606.28057).

The released code takes further seeds until no two tokens of its list share a signature. Here a code depends on the
string alone, so that this is left out: of n words about n^2 / (2 (B - 1)^K) pairs share one, 0.05 of 50,000 at 4 x 399.
Its ids by random projections are left out too: they need Gaussian matrices of torch, 33 MB each, on a device.
"""

from __future__ import annotations

import numpy as np

from hashbench.models.coders.base import Coder, checked_count
from hashbench.models.coders.murmur import murmur3
from hashbench.models.text.base import PortablePart
from hashbench.models.text.compiled import compiled

# Chosen here, as for `hash-rows`: far above the two to four of the paper, and codes stay small.
MOST_HASHES = 64
# K and B of what the objective `mlm_signatures` predicts: the tables of MultiHashFormer with 230,000 parameters
PREDICTED_HASHES, PREDICTED_BUCKETS = 4, 399


@compiled
def signatures(blob: np.ndarray, offsets: np.ndarray, hashes: int, num_buckets: int) -> np.ndarray:
    """Packed strings -> ids (n, K) int32. The 128 bits h1 + 2^64 h2 modulo m: ((h2 mod m)(2^64 mod m) + h1) mod m."""
    modulus = np.uint64(num_buckets - 1)  # m
    wrap = (np.uint64(0xFFFFFFFFFFFFFFFF) % modulus + np.uint64(1)) % modulus  # 2^64 mod m
    ids = np.empty((len(offsets) - 1, hashes), dtype=np.int32)
    for t in range(len(ids)):
        for k in range(hashes):
            h1, h2 = murmur3(blob, offsets[t], offsets[t + 1], k)
            ids[t, k] = ((h2 % modulus) * wrap + h1 % modulus) % modulus + np.uint64(1)
    return ids


class Signature(Coder):
    """A coder of words as K ids from 1 to B - 1, one of each of K tables: (n, K) int32. No word has id 0.

    id_k = MurmurHash3 x64 128 (UTF-8, seed k) mod (B - 1) + 1, k from 0.
    """

    name = "signature"
    dtype = np.int32

    def __init__(self, num_buckets: int = 16_384, hashes: int = 4) -> None:
        """`num_buckets`: B, rows of a table, the unused row 0 included; `hashes`: K."""
        self.num_buckets = checked_count(self.name, "num_buckets", num_buckets, least=2)
        self.hashes = checked_count(self.name, "hashes", hashes, most=MOST_HASHES)
        self.width = self.hashes

    def portable(self) -> PortablePart:
        """The step for a device without hashbench: its values are the arguments of this coder."""
        return PortablePart("signature", "signature", self.recipe(), needs=("hashing",))

    def encode_utf8(self, blob: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Packed strings, `blob` (bytes,) and `offsets` (n + 1,) -> ids (n, K)."""
        return signatures(blob, offsets, self.hashes, self.num_buckets)
