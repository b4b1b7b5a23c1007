"""spaCy's four features of a word and their table rows: MultiHashEmbed (Miranda et al. 2022, arXiv 2212.09255).

NORM is the lower-cased word, PREFIX its first character, SUFFIX its last three, SHAPE each character as X, x, d or
itself, a run cut after four. A feature's string is numbered by MurmurHash64A with seed 1, and four rows of its table
are the four 32-bit parts of MurmurHash3_x64_128 of that number, modulo the rows.

Chosen here: NORM has none of spaCy's exceptions of a language; an empty word has empty features.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from hashbench.common.errors import InputError, near_match
from hashbench.models.coders.base import Coder, checked_count, checked_signs
from hashbench.models.coders.murmur import murmur3, murmur64a, quarter
from hashbench.models.coders.rows import sign_of
from hashbench.models.text.base import PortablePart
from hashbench.models.text.compiled import code_point, compiled, inlined, longest_string, put
from hashbench.models.text.unicode import CLASS_BITS, CODE_POINTS, NOT_BY_CHARACTER, fold_table, join, split
from hashbench.models.text.unicode_values import case_values, packed

FEATURES = ("norm", "prefix", "suffix", "shape")
# spaCy's: the seed of norm's table, which the other tables' seeds follow (`MultiHashEmbed`), and its strings' seed.
FIRST_SEED, STRING_SEED = 8, 1
# Rows of each table for one of norm's: 5000, 1000, 2500, 2500 in spaCy's defaults.
SHARES = {"norm": 1.0, "prefix": 0.2, "suffix": 0.5, "shape": 0.5}
# spaCy's shape (`lang/lex_attrs.py`): what words of so many characters have in its place, and where a run is cut.
LONG_SHAPE, LONG_TEXT = 100, np.frombuffer(b"LONG", dtype=np.uint8)
LONGEST_RUN = 4
SUFFIX_LENGTH = 3  # spaCy's
# The 32-bit parts of one MurmurHash3, as in thinc's HashEmbed.
HASHES = 4
ALPHA_UPPER, ALPHA, DIGIT = 1, 2, 3  # 0: a character that a shape writes as itself


def table_rows(num_buckets: int, features: Sequence[str]) -> list[int]:
    """Rows of each feature's table.

    >>> table_rows(5_000, FEATURES)
    [5000, 1000, 2500, 2500]
    """
    return [max(1, round(SHARES[feature] * num_buckets)) for feature in features]


@lru_cache(maxsize=1)
def shape_classes() -> np.ndarray:
    """The class of each code point in a word's shape (capital, other letter, digit, other): (0x110000,) uint8."""
    classes = np.zeros(CODE_POINTS, dtype=np.uint8)
    for point in range(CODE_POINTS):
        character = chr(point)
        if character.isalpha():
            classes[point] = ALPHA_UPPER if character.isupper() else ALPHA
        elif character.isdigit():
            classes[point] = DIGIT
    return classes


@inlined
def write_shape(points: np.ndarray, n: int, classes: np.ndarray, out: np.ndarray) -> int:
    """Writes the shape of code points (n,) as UTF-8 to `out`; returns its number of bytes."""
    if n >= LONG_SHAPE:
        out[:4] = LONG_TEXT
        return 4
    end, last, run = 0, -1, 0
    for i in range(n):
        kind = classes[points[i]]
        shown = points[i]
        if kind == ALPHA_UPPER:
            shown = 88  # X
        elif kind == ALPHA:
            shown = 120  # x
        elif kind == DIGIT:
            shown = 100  # d
        run = run + 1 if shown == last else 0
        last = shown
        if run < LONGEST_RUN:
            end += put(shown, out, end)
    return end


@compiled
def feature_rows(
    blob: np.ndarray,
    offsets: np.ndarray,
    fold: np.ndarray,
    classes: np.ndarray,
    chosen: np.ndarray,
    rows: np.ndarray,
    hashes: int,
    signs: int,
) -> np.ndarray:
    """Packed strings -> codes (n, f h) int64; `chosen` (f,) are the features' numbers, `rows` (f,) of their tables."""
    n_types, longest = len(offsets) - 1, longest_string(offsets, 0)
    codes = np.empty((n_types, len(chosen) * hashes), dtype=np.int64)
    points, out = np.empty(longest + 1, dtype=np.int64), np.empty(4 * longest + 4, dtype=np.uint8)
    number = np.empty(8, dtype=np.uint8)  # of a feature's string
    for t in range(n_types):
        n, at = 0, offsets[t]
        while at < offsets[t + 1]:
            point, width = code_point(blob, at)
            points[n] = point
            n += 1
            at += width
        for f in range(len(chosen)):
            feature, end = chosen[f], 0
            if feature == 3:
                end = write_shape(points, n, classes, out)
            else:
                first = max(0, n - SUFFIX_LENGTH) if feature == 2 else 0
                last = min(n, 1) if feature == 1 else n
                for i in range(first, last):
                    end += put(fold[points[i]] >> CLASS_BITS if feature == 0 else points[i], out, end)
            x = murmur64a(out, 0, end, STRING_SEED)
            for i in range(8):
                number[i] = (x >> np.uint64(8 * i)) & np.uint64(0xFF)
            h1, h2 = murmur3(number, 0, 8, FIRST_SEED + feature)
            for i in range(hashes):
                row = np.int64(quarter(h1, h2, i) % np.uint64(rows[f]))
                codes[t, f * hashes + i] = row + rows[f] * sign_of(x, i, signs) if signs else row
    return codes


class WordFeatures(Coder):
    """A coder of words: k rows in each of f features' tables, (n, f k) int64, features in the order of FEATURES."""

    name = "word-features"
    dtype = np.int64

    def __init__(
        self,
        num_buckets: int = 5_000,
        features: Sequence[str] = FEATURES,
        hashes: int = HASHES,
        signs: int = 0,
    ) -> None:
        """`num_buckets`: rows of norm's table, the others as SHARES says. `signs`: see `embeddings.rows.HashedRows`."""
        self.num_buckets = checked_count(self.name, "num_buckets", num_buckets)
        self.features = checked_features(features)
        self.hashes = checked_count(self.name, "hashes", hashes, most=HASHES)
        self.signs = checked_signs(self.name, signs, num_buckets, self.dtype)
        self.width = len(self.features) * self.hashes

    def portable(self) -> PortablePart:
        """The step for a device without hashbench: sizes and seeds of the tables, letters of this Python's Unicode."""
        classes = shape_classes()
        kinds = {"upper": ALPHA_UPPER, "alpha": ALPHA, "digits": DIGIT}
        sizes = table_rows(self.num_buckets, self.features)
        seeds = [FIRST_SEED + FEATURES.index(feature) for feature in self.features]
        values = {
            **case_values(), **{name: packed(classes == kind) for name, kind in kinds.items()},
            "tables": list(zip(self.features, sizes, seeds, strict=True)), "hashes": self.hashes, "signs": self.signs,
            "string_seed": STRING_SEED, "suffix_length": SUFFIX_LENGTH, "longest_run": LONGEST_RUN,
            "long_shape": LONG_SHAPE, "long_text": LONG_TEXT.tobytes().decode(),
        }  # fmt: skip
        needs = ("letters", "hashing")
        return PortablePart("word_features", "word_features", values, needs=needs)

    def encode_utf8(self, blob: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Packed strings, `blob` (bytes,) and `offsets` (n + 1,) -> codes (n, f k)."""
        chosen = np.array([FEATURES.index(feature) for feature in self.features], dtype=np.int64)
        rows = np.array(table_rows(self.num_buckets, self.features), dtype=np.int64)
        tables = fold_table(True, True), shape_classes()
        codes = feature_rows(blob, offsets, *tables, chosen, rows, self.hashes, self.signs)
        return self._with_odd_letters(codes, blob, offsets, chosen, rows)

    def _with_odd_letters(
        self, codes: np.ndarray, blob: np.ndarray, offsets: np.ndarray, chosen: np.ndarray, rows: np.ndarray
    ) -> np.ndarray:
        """Codes (n, f k) of strings (n,), with the norms of some made by `str.lower`: those with a letter that is not
        lower-cased by itself alone. `chosen` and `rows` (f,)."""
        if FEATURES[0] not in self.features:
            return codes
        odd = [letter.encode() for letter in NOT_BY_CHARACTER]
        if not any(letter in blob[offsets[0] : offsets[-1]].tobytes() for letter in odd):
            return codes
        words = split(blob, offsets)
        affected = [i for i, word in enumerate(words) if any(letter in word for letter in odd)]
        lowered = join([words[i].decode().lower().encode() for i in affected])
        place = self.features.index(FEATURES[0])
        columns = slice(place * self.hashes, (place + 1) * self.hashes)
        tables = fold_table(True, False), shape_classes()
        own = slice(place, place + 1)
        codes[affected, columns] = feature_rows(*lowered, *tables, chosen[own], rows[own], self.hashes, self.signs)
        return codes


def checked_features(features: Sequence[str]) -> list[str]:
    """The features in the order of FEATURES. Raises InputError for none, one twice, or one that there is not."""
    listed = list(features) if isinstance(features, Sequence) and not isinstance(features, str) else [features]
    for feature in listed:
        if feature not in FEATURES:
            near = near_match(str(feature), list(FEATURES))
            raise InputError(
                f"coder {WordFeatures.name}: no feature {feature!r}{near}; features: {', '.join(FEATURES)}"
            )
    if not listed or len(set(listed)) < len(listed):
        raise InputError(f"coder {WordFeatures.name}: features {listed!r}; give each once, and at least one")
    return [feature for feature in FEATURES if feature in listed]
