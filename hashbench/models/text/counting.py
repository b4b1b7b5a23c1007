"""The interner for words that a compiled scan reads: a table of types in each thread, united after each call."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hashbench.models.text.compiled import in_threads, thread_count
from hashbench.models.text.scan import PADDING, scan
from hashbench.models.text.table import enter, rehash, translate
from hashbench.models.text.types import Distinct, Interner, TokenizedTexts
from hashbench.models.text.unicode import fold_table, in_chunks, join, lower_utf8, utf8

CHUNK_CHARACTERS = 1 << 20  # of text a thread reads in one go
FIRST_SLOTS = 1 << 12
IdsAndEnds = tuple[np.ndarray, np.ndarray]


class _Types:
    """Types in the order of their discovery, in arrays that double when they are full."""

    def __init__(self) -> None:
        self.blob = np.empty(16 * FIRST_SLOTS, dtype=np.uint8)
        self.offsets = np.zeros(FIRST_SLOTS // 2 + 1, dtype=np.int64)
        # key, id + 1; scan.py says which token goes where.
        self.short = np.zeros((FIRST_SLOTS, 2), dtype=np.uint64)
        self.long = np.zeros((FIRST_SLOTS, 2), dtype=np.uint64)
        self.n = self.n_short = 0

    @property
    def n_bytes(self) -> int:
        return int(self.offsets[self.n])

    def make_room(self, types: int, n_bytes: int) -> None:
        """Grows the arrays so that so many more types and bytes fit."""
        if self.n + types + 1 >= len(self.offsets):
            more = np.zeros(max(len(self.offsets), types + 2), dtype=np.int64)
            self.offsets = np.concatenate([self.offsets, more])
        self.short = _with_room(self.short, self.n_short + types)
        self.long = _with_room(self.long, self.n - self.n_short + types)
        needed = self.n_bytes + n_bytes
        if needed > len(self.blob):
            larger = np.empty(max(2 * len(self.blob), needed + -needed % 8), dtype=np.uint8)
            larger[: self.n_bytes] = self.blob[: self.n_bytes]
            self.blob = larger

    def read(self, data: np.ndarray, ends: np.ndarray, words_apart: bool, fold: np.ndarray) -> IdsAndEnds:
        """Bytes (n,) of texts, where each ends (m,) -> ids of this table (t,) int32, where each text's ids end (m,)."""
        # A token has at least one byte; untouched memory costs nothing.
        ids = np.empty(len(data), dtype=np.int32)
        text_ends = np.empty(len(ends), dtype=np.int64)
        cursor = np.array([0, 0, self.n, self.n_short, 0], dtype=np.int64)
        while True:
            arrays = (self.blob, self.offsets, self.short, self.long)
            done = scan(data, ends, fold, words_apart, *arrays, cursor, ids, text_ends)
            self.n, self.n_short = int(cursor[2]), int(cursor[3])
            if done:
                return ids[: cursor[4]], text_ends
            self.make_room(types=1, n_bytes=2 * int(ends[cursor[0]] - cursor[1]) + PADDING)


def _with_room(slots: np.ndarray, types: int) -> np.ndarray:
    """Slots (s, 2) -> the same table with room for so many types, at most half full: (t, 2)."""
    if 2 * types < len(slots):
        return slots
    larger = np.zeros((1 << (2 * types + 1).bit_length(), 2), dtype=np.uint64)
    rehash(slots, larger)
    return larger


class _Reader:
    """The types that one thread met, their ids in the common table, and how often each came."""

    def __init__(self) -> None:
        self.types = _Types()
        self.meaning = np.zeros(0, dtype=np.int32)  # id here -> id in the common table
        self.counts = np.zeros(0, dtype=np.int64)

    def publish(self, common: _Types) -> None:
        """Enters the types that are new here into the common table."""
        first, last = len(self.meaning), self.types.n
        if common is self.types:
            self.meaning = np.arange(last, dtype=np.int32)
            self.counts = np.append(self.counts, np.zeros(last - first, dtype=np.int64))
            return
        source, offsets = self.types.blob, self.types.offsets
        common.make_room(types=last - first + 1, n_bytes=int(offsets[last] - offsets[first]) + PADDING)
        more = np.zeros(last - first, dtype=np.int32)
        self.meaning, self.counts = np.append(self.meaning, more), np.append(self.counts, more.astype(np.int64))
        tables = (common.blob, common.offsets, common.short, common.long)
        common.n, common.n_short = enter(source, offsets, first, last, *tables, common.n, common.n_short, self.meaning)


class ScanInterner(Interner):
    """Counts words by a compiled scan. Equal to a `DictInterner` of the same words, but for the provisional ids."""

    def __init__(self, words_apart: bool, lowercase: bool, fold: np.ndarray | None = None) -> None:
        """`words_apart`: `\\w+|[^\\w\\s]+`, else `\\S+`; `fold` (n,): another table, ASCII as in the first."""
        self._words_apart, self._encode = words_apart, lower_utf8 if lowercase else utf8
        self._fold = fold_table(words_apart, lowercase) if fold is None else fold
        self._readers = [_Reader() for _ in range(thread_count())]
        # A single reader's table is the common one
        self._common = self._readers[0].types if len(self._readers) == 1 else _Types()

    def add(self, texts: Sequence[str]) -> TokenizedTexts:
        """Texts -> provisional ids, which number the types in the order in which the common table got them."""
        chunks = list(in_chunks(texts, CHUNK_CHARACTERS))
        chunk_ids: list[IdsAndEnds] = [(np.empty(0), np.empty(0))] * len(chunks)
        in_use = self._readers[: max(min(len(self._readers), len(chunks)), 1)]

        def read(r: int, _: int) -> None:
            # Fixed shares: ids do not depend on who is faster.
            for c in range(r, len(chunks), len(in_use)):
                data, offsets = join([self._encode(text) for text in chunks[c]], padding=PADDING)
                chunk_ids[c] = in_use[r].types.read(data, offsets[1:], self._words_apart, self._fold)

        shares = [(r, r + 1) for r in range(len(in_use))]
        in_threads(read, shares)
        for reader in in_use:
            reader.publish(self._common)
        starts = np.cumsum([0, *(len(ids) for ids, _ in chunk_ids)])
        out = np.empty(starts[-1], dtype=np.int32)

        def rename(r: int, _: int) -> None:
            for c in range(r, len(chunks), len(in_use)):
                translate(chunk_ids[c][0], in_use[r].meaning, in_use[r].counts, out[starts[c] : starts[c + 1]])

        in_threads(rename, shares)
        ends = [text_ends + start for (_, text_ends), start in zip(chunk_ids, starts[:-1], strict=True)]
        return TokenizedTexts(out, np.concatenate([np.zeros(1, dtype=np.int64), *ends]))

    def distinct(self) -> tuple[Distinct, np.ndarray]:
        """-> (types, the index of each provisional id among them (n,) int32)."""
        common = self._common
        counts = np.zeros(common.n, dtype=np.int64)
        for reader in self._readers:
            counts += np.bincount(reader.meaning, weights=reader.counts, minlength=common.n).astype(np.int64)
        types = Distinct(common.blob[: common.n_bytes], common.offsets[: common.n + 1], counts)
        return types, np.arange(common.n, dtype=np.int32)
