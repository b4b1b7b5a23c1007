"""Character n-grams of a framed word as rows of a table: fastText's subwords (Bojanowski et al. 2017) and floret's.

A word is framed as <word>. Its entries are the n-grams of `minn` to `maxn` characters, each as often as it occurs, but
no lone < or >; with `word` the framed word too (floret). Rows: FNV-1a over sign-extended bytes, modulo the buckets
(fastText); or the first k of the four 32-bit parts of MurmurHash3_x64_128 with seed 2166136261 (floret).

Chosen here: of a word with more than MOST_ENTRIES entries the framed word and the shortest n-grams stay.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from hashbench.common.errors import InputError
from hashbench.models.coders.base import Coder, checked_count, checked_signs, checked_switch
from hashbench.models.coders.murmur import murmur3, quarter
from hashbench.models.coders.rows import sign_of
from hashbench.models.text.base import PortablePart
from hashbench.models.text.compiled import code_point, compiled, inlined, longest_string

# Entries of a word. Chosen here: all of one of 13 characters with n from 3 to 6.
MOST_ENTRIES = 48
# Offset basis and prime of 32-bit FNV-1a (Fowler, Noll and Vo), as fastText has them.
FNV_START, FNV_FACTOR = np.uint32(2166136261), np.uint32(16777619)
SEED = 2166136261  # floret's, the same number
OPEN, CLOSE = np.uint8(ord("<")), np.uint8(ord(">"))
MOST_HASHES = 4  # the 32-bit parts of one MurmurHash3, as in floret


@compiled
def fnv(data: np.ndarray, start: int, stop: int) -> np.uint32:
    """fastText's hash of the bytes start..stop of `data` (b,): each byte is sign-extended before the xor."""
    h = FNV_START
    for i in range(start, stop):
        h = np.uint32(np.uint32(h ^ np.uint32(np.int32(np.int8(data[i])))) * FNV_FACTOR)
    return h


@inlined
def write_rows(
    frame: np.ndarray, start: int, stop: int, use_fnv: bool, buckets: int, hashes: int, signs: int, out: np.ndarray
) -> None:
    """Writes the table rows of one n-gram, the bytes start..stop of `frame` (b,), to `out` (h,)."""
    if use_fnv:
        h = fnv(frame, start, stop)
        out[0] = np.int64(h) % buckets + (buckets * sign_of(np.uint64(h), 0, signs) if signs else 0)
        return
    h1, h2 = murmur3(frame, start, stop, SEED)
    for i in range(hashes):
        row = np.int64(quarter(h1, h2, i) % np.uint64(buckets))
        out[i] = row + (buckets * sign_of(h1, i, signs) if signs else 0)


@compiled
def bucket_rows(
    blob: np.ndarray, offsets: np.ndarray, least: int, most: int, word: bool, use_fnv: bool, buckets: int, hashes: int,
    signs: int, longest_list: int,
) -> np.ndarray:  # fmt: skip
    """Packed strings -> table rows of their n-grams (n, T h) int32, -1 behind the last."""
    n_types = len(offsets) - 1
    rows = np.full((n_types, longest_list * hashes), -1, dtype=np.int32)
    longest = longest_string(offsets, 0) + 2
    frame, starts = np.empty(longest, dtype=np.uint8), np.empty(longest + 1, dtype=np.int64)
    for t in range(n_types):
        size = offsets[t + 1] - offsets[t] + 2
        frame[0], frame[size - 1] = OPEN, CLOSE
        frame[1 : size - 1] = blob[offsets[t] : offsets[t + 1]]
        n, at = 0, 0
        while at < size:
            starts[n] = at
            at += code_point(frame, at)[1]
            n += 1
        starts[n] = size
        end = 0
        if word:
            write_rows(frame, 0, size, use_fnv, buckets, hashes, signs, rows[t, :hashes])
            end = 1
        for length in range(least, min(most, n) + 1):
            for i in range(n - length + 1):
                if end == longest_list:
                    break
                if length == 1 and (i == 0 or i == n - 1):
                    continue
                entry = rows[t, end * hashes : (end + 1) * hashes]
                write_rows(frame, starts[i], starts[i + length], use_fnv, buckets, hashes, signs, entry)
                end += 1
    return rows


class NgramBuckets(Coder):
    """A coder of words: k table rows for each n-gram of a word, (n, T k) int32, -1 behind the last."""

    name = "ngram-buckets"
    dtype = np.int32

    def __init__(
        self,
        num_buckets: int = 50_000,
        minn: int = 3,
        maxn: int = 6,
        hashes: int = 1,
        hash: Literal["murmur", "fnv"] = "murmur",
        word: bool = True,
        signs: int = 0,
    ) -> None:
        """`signs`: see `embeddings.rows.HashedRows`. Raises InputError for values that make no entries."""
        if hash not in ("murmur", "fnv"):
            raise InputError(f"coder {self.name}: hash {hash!r}; choose murmur or fnv")
        self.num_buckets = checked_count(self.name, "num_buckets", num_buckets)
        self.minn = checked_count(self.name, "minn", minn)
        self.maxn = checked_count(self.name, "maxn", maxn, least=self.minn)
        self.hashes = checked_count(self.name, "hashes", hashes, most=1 if hash == "fnv" else MOST_HASHES)
        self.signs = checked_signs(self.name, signs, num_buckets, self.dtype)
        self.hash, self.word = hash, checked_switch(self.name, "word", word)
        self.width = MOST_ENTRIES * self.hashes

    def portable(self) -> PortablePart:
        """The step for a device without hashbench: its values are the arguments and constants of this coder."""
        values = {**self.recipe(), "most": MOST_ENTRIES, "seed": SEED}
        return PortablePart("ngrams", "ngram_buckets", values, needs=("hashing",))

    def encode_utf8(self, blob: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Packed strings, `blob` (bytes,) and `offsets` (n + 1,) -> table rows (n, T k)."""
        arguments = self.minn, self.maxn, self.word, self.hash == "fnv", self.num_buckets, self.hashes, self.signs
        return bucket_rows(blob, np.asarray(offsets, dtype=np.int64), *arguments, MOST_ENTRIES)
