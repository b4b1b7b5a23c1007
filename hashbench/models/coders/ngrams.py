"""The features of HashFormers' LSH (Xue and Aletras 2022, section 3.3): character n-grams, or BPE pieces of splits.

`NgramFeatures` are the paper's, n-grams of 1 to 4 characters, counted. The dictionary holds the most frequent ones of a
corpus. Chosen here, where the paper is silent: weighted by how often each type occurs, no boundary markers, ranked by
(count descending, code points); n-grams outside it are dropped. In the compiled loops an n-gram is two numbers: three
times 21 bits (code point + 1) and the fourth character's, so equal keys are equal n-grams. Tables are open-addressing
with linear probing, at most half full.

`SplitFeatures` are the released code's: byte-level BPE of a word and of its splits, for the pieces f
x_f = count_f / max(len(word) + 1 - len(f), 1).
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from hashbench.models.text.compiled import code_point, compiled, longest_string
from hashbench.models.text.subwords import SubwordTokenizer
from hashbench.models.text.types import TypeTable
from hashbench.models.text.unicode import offsets_from, split

LONGEST_NGRAM = 4  # characters of an n-gram
# Ids (m,) int32, weights (m,) float64, bounds (n + 1,) int64.
Features = tuple[np.ndarray, np.ndarray, np.ndarray]


class NgramFeatures:
    """Sparse features of types: feature f counts how often the n-gram of rank f occurs in a type."""

    def __init__(self, max_features: int) -> None:
        self.max_features = max_features
        self.ngrams: np.ndarray | None = None  # (features, 4) int32: code point + 1, 0 behind the end
        self._lookup: np.ndarray | None = None

    def __len__(self) -> int:
        return 0 if self.ngrams is None else len(self.ngrams)

    def fit(self, types: TypeTable) -> None:
        """Learns the most frequent n-grams of the corpus that the types come from."""
        keys, sums = count_ngrams(np.asarray(types.blob), np.asarray(types.offsets), np.asarray(types.counts))
        self.restore(_most_frequent(key_columns(keys), sums, self.max_features))

    def restore(self, ngrams: np.ndarray) -> None:
        """Takes a dictionary of n-grams (features, 4) that was fitted before."""
        self.ngrams = np.ascontiguousarray(ngrams, dtype=np.int32).reshape(-1, LONGEST_NGRAM)
        self._lookup = build_lookup(self.ngrams)

    def strings(self) -> list[str]:
        """The n-grams in the order of their ranks."""
        rows = [] if self.ngrams is None else self.ngrams.tolist()
        return ["".join(chr(point - 1) for point in row if point) for row in rows]

    def features(self, blob: np.ndarray, offsets: np.ndarray) -> Features:
        """Packed strings -> ids (m,) and weights (m,) of all features, bounds (n + 1,); ids ascend within a type."""
        assert self._lookup is not None  # the coder asks for features of a fitted dictionary alone
        ids, weights, bounds = find_features(blob, np.asarray(offsets, dtype=np.int64), self._lookup)
        return ids[: bounds[-1]], weights[: bounds[-1]], bounds


def _most_frequent(columns: np.ndarray, counts: np.ndarray, most: int) -> np.ndarray:
    """N-grams (n, 4) and counts -> the first `most` by (count descending, code points)."""
    # Sort only what can be among them: ties at the cut are all kept here.
    if len(counts) > most:
        enough = counts >= np.partition(counts, len(counts) - most)[len(counts) - most]
        columns, counts = columns[enough], counts[enough]
    # a 0 behind the end sorts a prefix before what it begins, as strings do
    order = np.lexsort((columns[:, 3], columns[:, 2], columns[:, 1], columns[:, 0], -counts))
    return columns[order[:most]]


MIX_A = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio
MIX_B = np.uint64(0xC2B2AE3D27D4EB4F)  # xxHash's second prime
POINT_BITS = np.uint64(21)  # a code point + 1 is below 2^21
POINT_MASK = np.uint64(2**21 - 1)
FIRST_SLOTS = 1 << 16


@compiled
def shift_of(n_slots: int) -> np.uint64:
    """The shift to the right that makes a mixed 64-bit key a slot of a table of 2^k slots: 64 - k."""
    return np.uint64(64 - int(np.round(np.log2(n_slots))))


@compiled
def place(low: np.uint64, high: np.uint64, shift: np.uint64) -> int:
    """The first slot of a key in a table of 2^(64 - shift) slots."""
    mixed = (low ^ (low >> np.uint64(31))) * MIX_A + high * MIX_B
    return int(np.int64(((mixed ^ (mixed >> np.uint64(29))) * MIX_A) >> shift))


@compiled
def decode(blob: np.ndarray, start: int, stop: int, points: np.ndarray) -> int:
    """Writes the code points + 1 of a UTF-8 string in `blob` (b,) to `points` (n,); returns their number."""
    n = 0
    while start < stop:
        point, width = code_point(blob, start)
        points[n] = np.uint64(point + 1)
        start += width
        n += 1
    return n


@compiled
def key_from(low: np.uint64, high: np.uint64, point: np.uint64, length: int) -> tuple[np.uint64, np.uint64]:
    """The key of an n-gram of `length` characters, given as `low` and `high`, extended by one more character."""
    if length < 3:
        return low | (point << (POINT_BITS * np.uint64(length))), high
    return low, point


@compiled
def count_into(
    blob: np.ndarray, offsets: np.ndarray, counts: np.ndarray, first: int, keys: np.ndarray, sums: np.ndarray, used: int
) -> tuple[int, int]:
    """Counts the n-grams of types from `first` on -> (the type to go on with, slots used). Stops when half full.

    `keys` (s, 2) and `sums` (s,) are the table.
    """
    n_slots = len(sums)
    mask = n_slots - 1
    shift = shift_of(n_slots)
    points = np.empty(longest_string(offsets, first), dtype=np.uint64)
    for t in range(first, len(counts)):
        if 2 * (used + 4 * (offsets[t + 1] - offsets[t])) > n_slots:
            return t, used
        n = decode(blob, offsets[t], offsets[t + 1], points)
        for i in range(n):
            low, high = np.uint64(0), np.uint64(0)
            for length in range(min(4, n - i)):
                low, high = key_from(low, high, points[i + length], length)
                slot = place(low, high, shift)
                while sums[slot] != 0 and (keys[slot, 0] != low or keys[slot, 1] != high):
                    slot = (slot + 1) & mask
                if sums[slot] == 0:
                    keys[slot, 0], keys[slot, 1] = low, high
                    used += 1
                sums[slot] += counts[t]
    return len(counts), used


@compiled
def reinsert(keys: np.ndarray, sums: np.ndarray, new_keys: np.ndarray, new_sums: np.ndarray) -> None:
    """Moves a table, keys (s, 2) and sums (s,), into a larger one."""
    mask = len(new_sums) - 1
    shift = shift_of(len(new_sums))
    for old in range(len(sums)):
        if sums[old] != 0:
            slot = place(keys[old, 0], keys[old, 1], shift)
            while new_sums[slot] != 0:
                slot = (slot + 1) & mask
            new_keys[slot] = keys[old]
            new_sums[slot] = sums[old]


def count_ngrams(blob: np.ndarray, offsets: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Packed types and their counts -> (keys (n, 2) uint64, occurrences (n,) int64), in no order."""
    keys, sums = np.zeros((FIRST_SLOTS, 2), dtype=np.uint64), np.zeros(FIRST_SLOTS, dtype=np.int64)
    done = used = 0
    while True:
        done, used = count_into(blob, offsets, counts, done, keys, sums, used)
        if done == len(counts):
            return keys[sums > 0], sums[sums > 0]
        needed = 2 * (used + 4 * int(offsets[done + 1] - offsets[done]))
        larger = max(4 * len(sums), 1 << needed.bit_length())
        new_keys, new_sums = np.zeros((larger, 2), dtype=np.uint64), np.zeros(larger, dtype=np.int64)
        reinsert(keys, sums, new_keys, new_sums)
        keys, sums = new_keys, new_sums


def key_columns(keys: np.ndarray) -> np.ndarray:
    """Keys of n-grams (n, 2) uint64 -> their code points + 1, (n, 4) int32."""
    low, high = keys[:, 0], keys[:, 1]
    columns = [(low >> (POINT_BITS * np.uint64(i))) & POINT_MASK for i in range(3)]
    return np.stack([*columns, high], axis=1).astype(np.int32)


def build_lookup(ngrams: np.ndarray) -> np.ndarray:
    """A dictionary (features, 4) -> table (slots, 2) uint64: the low key; the high key and rank + 1 in one number."""
    n_slots = 1 << max((4 * len(ngrams)).bit_length(), 4)
    lookup = np.zeros((n_slots, 2), dtype=np.uint64)
    fill_lookup(ngrams.astype(np.uint64), lookup)
    return lookup


@compiled
def fill_lookup(ngrams: np.ndarray, lookup: np.ndarray) -> None:
    """Enters n-grams (features, 4) into a lookup table; the rank of an n-gram is its row."""
    mask = len(lookup) - 1
    shift = shift_of(len(lookup))
    for rank in range(len(ngrams)):
        low = ngrams[rank, 0] | (ngrams[rank, 1] << POINT_BITS) | (ngrams[rank, 2] << (POINT_BITS + POINT_BITS))
        slot = place(low, ngrams[rank, 3], shift)
        while lookup[slot, 1] != 0:
            slot = (slot + 1) & mask
        lookup[slot, 0] = low
        lookup[slot, 1] = (ngrams[rank, 3] << np.uint64(32)) | np.uint64(rank + 1)


@compiled
def find_in(points: np.ndarray, n: int, lookup: np.ndarray, shift: np.uint64, indices: np.ndarray) -> int:
    """Writes ranks of the known n-grams of a decoded string (n,) to `indices` (m,), with repeats; returns how many."""
    mask, m = len(lookup) - 1, 0
    for i in range(n):
        low, high = np.uint64(0), np.uint64(0)
        for length in range(min(4, n - i)):
            low, high = key_from(low, high, points[i + length], length)
            slot = place(low, high, shift)
            while lookup[slot, 1] != 0:
                if lookup[slot, 0] == low and (lookup[slot, 1] >> np.uint64(32)) == high:
                    indices[m] = np.int32(lookup[slot, 1] & np.uint64(0xFFFFFFFF)) - 1
                    m += 1
                    break
                slot = (slot + 1) & mask
    return m


@compiled
def sort_short(values: np.ndarray) -> None:
    """Sorts (n,) in place, by insertion where it is short, since most words have few n-grams."""
    if len(values) > 64:
        values.sort()
        return
    for i in range(1, len(values)):
        value, j = values[i], i
        while j > 0 and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


@compiled
def find_features(
    blob: np.ndarray, offsets: np.ndarray, lookup: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Packed strings -> (ids, weights, bounds) of known n-grams; only bounds[-1] entries of the first two count."""
    n_types = len(offsets) - 1
    shift = shift_of(len(lookup))
    longest = longest_string(offsets, 0)
    points, indices = np.empty(longest, dtype=np.uint64), np.empty(4 * longest, dtype=np.int32)
    most = 4 * (offsets[-1] - offsets[0])
    ids, weights = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.float64)
    bounds = np.zeros(n_types + 1, dtype=np.int64)
    end = 0
    for t in range(n_types):
        m = find_in(points, decode(blob, offsets[t], offsets[t + 1], points), lookup, shift, indices)
        sort_short(indices[:m])
        for k in range(m):
            if k > 0 and indices[k] == indices[k - 1]:
                weights[end - 1] += 1.0
            else:
                ids[end], weights[end] = indices[k], 1.0
                end += 1
        bounds[t + 1] = end
    return ids, weights, bounds


# Characters of a word that is still split; splits of n characters make n^2 to read.
LONGEST_SPLIT = 256
BATCH = 4096  # words a call of the BPE


class SplitFeatures:
    """Features of words, by BPE id: count / max(len(word) + 1 - len(piece), 1), lengths in characters and byte symbols.

    `cat` is read as `cat-c-at-ca-t`; the piece `-` is dropped unless it is the only one. Differs from the released
    code: a word of more than 256 characters is read alone, without its splits.
    """

    def __init__(self, bpe: str) -> None:
        self._tokenizer = SubwordTokenizer(bpe)
        self.n_pieces = len(self._tokenizer.pieces)
        spellings = self._tokenizer.spellings()
        self._lengths = [len(piece) for piece in spellings]
        self._hyphen = spellings.index("-") if "-" in spellings else -1

    def __len__(self) -> int:
        return len(self._lengths)

    def recipe(self) -> dict[str, object]:
        """The recipe of the BPE, which identifies it by its content."""
        return self._tokenizer.recipe()

    def features(self, blob: np.ndarray, offsets: np.ndarray) -> Features:
        """Packed strings -> ids (m,) and weights (m,) of all features, bounds (n + 1,); ids ascend within a type."""
        words = [string.decode() for string in split(blob, offsets)]
        ids: list[int] = []
        weights: list[float] = []
        lengths = []
        for start in range(0, len(words), BATCH):
            batch = words[start : start + BATCH]
            pieces = self._tokenizer.piece_ids([with_splits(word) for word in batch])
            for word, counts in zip(batch, map(Counter, pieces), strict=True):
                if len(counts) > 1:
                    counts.pop(self._hyphen, None)
                ids += sorted(counts)
                weights += [counts[i] / max(len(word) + 1 - self._lengths[i], 1) for i in sorted(counts)]
                lengths.append(len(counts))
        return np.array(ids, dtype=np.int32), np.array(weights, dtype=np.float64), offsets_from(lengths)


def with_splits(word: str) -> str:
    """A word and its splits at each inner position, joined by hyphens.

    >>> with_splits("cat")
    'cat-c-at-ca-t'
    """
    if len(word) > LONGEST_SPLIT:
        return word
    return "-".join([word, *(part for i in range(1, len(word)) for part in (word[:i], word[i:]))])
