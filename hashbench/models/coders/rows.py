"""Coders that are their portable step, since that is fast enough for any corpus: rows, keys, bytes, characters.

- `word-keys`: x, the first 8 bytes of the MD5 of a string's UTF-8, little-endian. The i-th hash of x is the i-th output
  of SplitMix64 seeded with x (Steele, Lea and Flood 2014), so that any number of hashes costs one MD5.
- `hash-rows`: rows of a table chosen by k hashes, and a row of factors: hash embeddings (Svenstrup et al. 2017).
- `codepoints`, `byte-rows`: of types that are one character or one byte. A code point is no bucket number, since how
  many buckets there are and how large a table is are sizes of the embedding: one code serves them all, and is an eighth
  as large.
- `word-bytes`: the bytes of a word as ids of characters, which CharacterBERT reads (El Boukkouri et al., COLING 2020).
- `vocabulary`: the row of each known type, <unk> for every other.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from hashbench.common.splitmix import GAMMA, mix
from hashbench.models.coders.base import (
    FIRST_ROW,
    UNKNOWN_ROW,
    Coder,
    PortableCoder,
    checked_count,
    checked_signs,
    checked_switch,
)
from hashbench.models.text.base import PortablePart
from hashbench.models.text.compiled import inlined
from hashbench.models.text.types import TypeTable
from hashbench.models.text.unicode import pack, split

STEP = np.uint64(GAMMA)
mix_one = inlined(mix)  # in a kernel, where numba takes a number for the array


@inlined
def sign_of(x: np.uint64, i: int, signs: int) -> int:
    """The index of the sign vector for the i-th hash of a number, computed inside a kernel."""
    return int(np.int64(mix_one(x + np.uint64(i + 1) * STEP) % np.uint64(signs)))  # type: ignore[arg-type]


class WordKeys(PortableCoder):
    """Codes (n, 1) int64: the number x of each string, its bits read as a signed number."""

    name = "word-keys"
    width = 1
    dtype = np.int64

    def portable(self) -> PortablePart:
        """The step for a device without hashbench, which needs no values."""
        return PortablePart("word_bytes", "word_keys", {}, needs=("hashing",))


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


NO_CHARACTER = 0xFFFD  # Unicode's replacement character


class CodePoints(PortableCoder):
    """The code point of a type that is one character; U+FFFD for any other string, which no text gives."""

    name = "codepoints"
    width = 1
    dtype = np.int64
    reads = "characters"

    def portable(self) -> PortablePart:
        """The step for a device without hashbench: its one value is the code of other strings."""
        return PortablePart("tokens", "codepoints", {"other": NO_CHARACTER}, needs=("letters",))


class ByteRows(PortableCoder):
    """Row 5 + b of byte b; row 3 (<unk>) for any other string, which no text gives."""

    name = "byte-rows"
    width = 1
    dtype = np.int64
    reads = "bytes"

    def portable(self) -> PortablePart:
        """The step for a device without hashbench: its values are the first row and the row of other strings."""
        values = {"first_row": FIRST_ROW, "unknown_row": UNKNOWN_ROW}
        return PortablePart("tokens", "byte_rows", values, needs=("letters",))


LENGTH = 50  # ids of a word, its frame included
# Ids that frame a word, whose other ids are bytes. Each is raised by 1, so that 0 is padding.
BEGIN, END = 258, 259
ROWS = 263  # of the table


class WordBytes(PortableCoder):
    """A coder of words as the ids of their bytes between a begin and an end id, filled up with 0: (n, 50) int16."""

    name = "word-bytes"
    width = LENGTH
    dtype = np.int16

    def portable(self) -> PortablePart:
        """The step for a device without hashbench: its values are the length and the ids of begin and end."""
        values = {"length": LENGTH, "begin": BEGIN, "end": END}
        return PortablePart("word_bytes", "word_bytes", values, needs=("hashing",))


class Vocabulary(Coder):
    """Row 5 + index of a piece, in the vocabulary's order; row 3 (<unk>) for a type that is not in it."""

    name = "vocabulary"
    width = 1
    dtype = np.int64
    needs_fit = True
    unknown_row = UNKNOWN_ROW

    def __init__(self) -> None:
        self._blob: np.ndarray | None = None
        self._offsets = np.zeros(1, dtype=np.int64)
        self._rows: dict[bytes, int] = {}

    @property
    def num_rows(self) -> int:
        """Rows of a table for this vocabulary, special tokens included."""
        return FIRST_ROW + len(self._rows)

    def strings(self) -> list[str]:
        """The pieces in the order of their rows, the first of which is row 5."""
        return [string.decode() for string in self._rows]

    def fit(self, types: TypeTable) -> None:
        """Takes every type of the table as the vocabulary, in its order."""
        self._take(np.asarray(types.blob), np.asarray(types.offsets))

    def fit_pieces(self, pieces: Sequence[str]) -> bool:
        """Takes the pieces of a tokenizer as the vocabulary, in its order; returns False where it has none."""
        if pieces:
            self._take(*pack(pieces))
        return bool(pieces)

    def portable(self) -> PortablePart:
        """The step for a device without hashbench, with the vocabulary in the order of its rows as a file."""
        listed = json.dumps(self.strings(), ensure_ascii=False).encode()
        values = {"first_row": FIRST_ROW, "unknown_row": UNKNOWN_ROW}
        return PortablePart("tokens", "vocabulary", values, {"rows.json": listed}, needs=("letters",))

    def encode_utf8(self, blob: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Packed strings -> rows (n, 1) int64."""
        if self._blob is None:
            raise RuntimeError("coder vocabulary: not fitted; call fit, fit_pieces or restore first")
        rows = [self._rows[string] if string in self._rows else UNKNOWN_ROW for string in split(blob, offsets)]
        return np.array(rows, dtype=np.int64).reshape(-1, 1)

    def state(self) -> dict[str, np.ndarray]:
        """The vocabulary as packed strings."""
        if self._blob is None:
            return {}
        return {"blob": self._blob, "offsets": self._offsets}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Restores the vocabulary that `state` returned."""
        self._take(state["blob"], state["offsets"])

    def _take(self, blob: np.ndarray, offsets: np.ndarray) -> None:
        self._blob, self._offsets = blob, offsets
        self._rows = {string: FIRST_ROW + i for i, string in enumerate(split(blob, offsets))}
