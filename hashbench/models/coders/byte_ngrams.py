"""Hashed n-grams of a word's bytes: by position (`byte-ngrams`), and trigrams as a set (`trigrams`).

`byte-ngrams`: BLT (Pagnoni et al., ACL 2025, section 3.2.1). Ids are byte + 4, a word is framed by two ids 3, which BLT
leaves unused. The n-gram that ends at position i has the hash sum_j w_j a^j of its n ids, the oldest first, a =
1,000,000,007, in 64-bit integers that wrap; its row is that modulo V with the sign of V. Positions with fewer than n
ids before them have none, as in the paper; `pad` fills them up with 0, as the released code does.

Chosen here: the frame, so that a code depends on the word alone; of a word with more than MOST_POSITIONS
positions the first ones are kept.

`trigrams`: byte trigrams of " word ", each with m rows of a table, T-FREE (Deiseroth et al., EMNLP 2024). The trigrams
of a word are a set, windows of three over the UTF-8 of the word between two spaces. A trigram is numbered b0 + 256 b1 +
65536 b2. Its m rows are distinct: for k = 0 to m - 1, MD5 of the text "{number}_{k}_{j}" modulo v, j = 0, 1, ... until
the row is new; they are kept sorted. The last c rows of a trigram of ASCII letters and spaces with a capital are those
of its lower-case form.

Chosen here: of a word with more than MOST_TRIGRAMS trigrams the first stay.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hashbench.common.errors import InputError
from hashbench.models.coders.base import Coder, checked_count, checked_signs, checked_switch
from hashbench.models.coders.md5 import START, finish_message
from hashbench.models.coders.rows import sign_of
from hashbench.models.text.base import PortablePart
from hashbench.models.text.compiled import compiled, inlined

# Positions of a word, its frame included. Chosen here: words of up to 22 bytes are whole, and codes stay small.
MOST_POSITIONS = 24
# BLT's ids of bytes begin behind four special ones; the fourth is its delimiter of BPE tokens.
OFFSET, FRAME = 4, 3
ROWS = 256 + OFFSET  # of the table of bytes
# The first of the primes in BLT's released code, which takes it where there is one function.
PRIME = np.int64(1_000_000_007)
# The paper has 3 to 8 (section 4.8) for texts. Chosen here: a word has few n-grams of the longer sizes, and short ones
# matter most (table 8).
SIZES = (3, 4, 5)
# Size of an n-gram. Chosen here: twice the paper's largest.
LARGEST_NGRAM = 16


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
        self.sizes = [checked_count(self.name, "sizes", size, most=LARGEST_NGRAM) for size in listed]
        self.pad = checked_switch(self.name, "pad", pad)
        self.signs = checked_signs(self.name, signs, num_buckets, self.dtype)
        self.width = MOST_POSITIONS * (1 + len(self.sizes))

    def portable(self) -> PortablePart:
        """The step for a device without hashbench: its values are the arguments and constants of this coder."""
        values = {**self.recipe(), "most": MOST_POSITIONS, "frame": FRAME, "offset": OFFSET, "prime": int(PRIME)}
        return PortablePart("word_bytes", "byte_ngrams", values, needs=("hashing",))

    def encode_utf8(self, blob: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Packed strings, `blob` (bytes,) and `offsets` (n + 1,) -> codes (n, T (1 + s)) int32.

        For each of T = MOST_POSITIONS positions: the id of its byte or of the frame, then a row for each n-gram size;
        -1 for none.
        """
        sizes = np.array(self.sizes, dtype=np.int64)
        return position_rows(
            blob, np.asarray(offsets, dtype=np.int64), sizes, self.num_buckets, self.pad, self.signs, MOST_POSITIONS
        )


MOST_TRIGRAMS = 32  # trigrams of a word; chosen here, so that codes have one width
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
        self.width = MOST_TRIGRAMS * self.hashes

    def portable(self) -> PortablePart:
        """The step for a device without hashbench: its values are the arguments and constants of this coder."""
        values = {**self.recipe(), "most": MOST_TRIGRAMS, "remembered": REMEMBERED}
        return PortablePart("ngrams", "trigrams", values, needs=("hashing",))

    def encode_utf8(self, blob: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Packed strings, `blob` (bytes,) and `offsets` (n + 1,) -> rows (n, T m)."""
        arguments = self.num_buckets, self.hashes, self.lowercase_rows, self.signs
        return trigram_rows(blob, np.asarray(offsets, dtype=np.int64), *arguments, MOST_TRIGRAMS)
