"""Counts word types with the compiled scanner: one table per thread, merged after every call.

Words are looked up in a table that all interners of one recipe share, so that a later one finds most of its words
there. It only gives the numbers by which an interner knows a word again. Ids, counts and strings come from the
interner's own texts, so their cost does not depend on the size of the shared table.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, pairwise
from threading import Lock

import numpy as np

from hashbench.models.text.compiled import in_threads, thread_count
from hashbench.models.text.fast import scan as codes
from hashbench.models.text.fast.quick_check import change_marks, changing
from hashbench.models.text.fast.scan import WordArrays, scan
from hashbench.models.text.fast.table import SLACK, gather, rehash, translate, unite
from hashbench.models.text.types import Distinct, Interner, TokenizedTexts
from hashbench.models.text.unicode import (
    fold_table,
    in_chunks,
    join,
    lower_utf8,
    offsets_from,
    packed_utf8,
    read_only,
    utf8,
)

CHUNK_CHARACTERS = 1 << 18  # of text a thread reads in one go
FIRST_SLOTS = 1 << 6
BUFFER_BYTES, BUFFER_TOKENS = 1 << 16, 1 << 14  # of lower-cased text, before its tokens are looked up
SHARED_BYTES = 64 << 20  # of all shared tables of a recipe together
CACHE_LINE = 64  # bytes
CHARACTERS_OF_A_TOKEN = 4  # at least, mostly
PackedUtf8 = tuple[np.ndarray, np.ndarray, np.ndarray]  # texts end to end, where each begins (m,) and ends (m,)


def _empty_slots(n: int) -> np.ndarray:
    """`n` free slots as (4 n,) uint64; no slot lies across two cache lines."""
    numbers = np.zeros(4 * n + CACHE_LINE // 8, dtype=np.uint64)
    skip = -numbers.ctypes.data % CACHE_LINE // 8
    return numbers[skip : skip + 4 * n]


def _longer(array: np.ndarray, n: int) -> np.ndarray:
    """An array (m, ...), followed by zeros if it is shorter than `n`."""
    if len(array) >= n:
        return array
    longer = np.zeros((n, *array.shape[1:]), dtype=array.dtype)
    longer[: len(array)] = array
    return longer


class _Words:
    """Words in the order of their discovery, in arrays that double when they are full, up to a number of bytes."""

    def __init__(self, most_bytes: int | None = None) -> None:
        self.slots = _empty_slots(FIRST_SLOTS)
        self.blob = np.empty(16 * FIRST_SLOTS, dtype=np.uint8)
        self.offsets = np.zeros(FIRST_SLOTS // 2 + 1, dtype=np.int64)
        self.size = np.zeros(1, dtype=np.int64)
        self.is_full, self._most_bytes = False, most_bytes
        self.lock = Lock()

    @property
    def arrays(self) -> WordArrays:
        """Slots, blob, offsets and size, as table.py has them."""
        return self.slots, self.blob, self.offsets, self.size

    def make_room(self, words: int, n_bytes: int) -> None:
        """Grows the arrays so that so many more words and bytes fit; beyond the bound the table is full for good."""
        n, needed = int(self.size[0]) + words, int(self.offsets[self.size[0]]) + n_bytes + SLACK
        n_slots, n_offsets, n_blob = len(self.slots) >> 2, len(self.offsets), len(self.blob)
        n_slots = n_slots if 2 * n <= n_slots else max(2 * n_slots, 1 << (2 * n - 1).bit_length())
        n_offsets = n_offsets if n < n_offsets else max(2 * n_offsets, n + 1)
        n_blob = n_blob if needed <= n_blob else max(2 * n_blob, needed)
        if self._most_bytes is not None and 32 * n_slots + 8 * n_offsets + n_blob > self._most_bytes:
            self.is_full = True
            return
        if n_slots > len(self.slots) >> 2:
            slots = _empty_slots(n_slots)
            rehash(self.slots, slots)
            self.slots = slots
        self.offsets, self.blob = _longer(self.offsets, n_offsets), _longer(self.blob, n_blob)


_shared: dict[Hashable, _Words] = {}


def _shared_words(recipe: Hashable, thread: int) -> _Words:
    """The table of words that all interners of a recipe look up in this thread's share of their texts."""
    key = (recipe, thread)
    if key not in _shared:
        _shared.setdefault(key, _Words(SHARED_BYTES // thread_count()))
    return _shared[key]


def forget_words() -> None:
    """Forgets the shared tables; interners that use one keep it, and enter no more words into it.

    In a process that was forked: another thread of the first one may hold a lock, and there is none here to release it.
    """
    for words in _shared.values():
        words.lock, words.is_full = Lock(), True
    _shared.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_words)


class _Ids:
    """Ids that come in pieces, in one array; its memory costs nothing before it is written."""

    def __init__(self, characters: int) -> None:
        """`characters`: of the texts; a token has some five."""
        n = characters // CHARACTERS_OF_A_TOKEN + min(characters, CHUNK_CHARACTERS)  # a chunk that is being read, too
        self._array, self._n = np.empty(n, np.int32), 0

    def __len__(self) -> int:
        return self._n

    def room(self, n: int) -> np.ndarray:
        """The array (t,), in which there is room for so many more ids."""
        if self._n + n > len(self._array):
            larger = np.empty(2 * (self._n + n), np.int32)
            larger[: self._n] = self._array[: self._n]
            self._array = larger
        return self._array

    def take(self, n: int) -> None:
        """Takes what was written to the first `n` places of the array."""
        self._n = n

    def all(self) -> np.ndarray:
        """All ids (n,); nothing can be written any more."""
        self._array.resize(self._n, refcheck=False)  # gives back what was not written
        return self._array


class _Reader:
    """The types that one thread met: their words, how often each came, and their ids among all threads' types."""

    def __init__(self, shared: _Words) -> None:
        """`shared` is used unless another interner is reading with it when this one begins."""
        self._shared = shared
        self._words: _Words | None = None
        self._own = _Words()  # for what does not fit into the first table
        # A row for each word of either table: its id + 1 here, 0 for a word that was not met, and how often it came
        self._tallies = np.zeros((0, 2), np.int64), np.zeros((0, 2), np.int64)
        # By id: its word in the first table, or -1 - its word in the second
        self._met = np.zeros(FIRST_SLOTS, np.int64)
        self._cursor = np.zeros(codes.PLACES, np.int64)
        self._low, self._tokens = np.empty(BUFFER_BYTES, np.uint8), np.empty((2, BUFFER_TOKENS), np.int64)
        self.meaning = np.zeros(0, np.int32)  # id here -> id among all threads' types

    def __len__(self) -> int:
        return int(self._cursor[codes.N_MET])

    @contextmanager
    def table(self) -> Iterator[_Words]:
        """The first table, which no other interner changes meanwhile."""
        lock = self._shared.lock
        if self._words is None:
            self._words = self._shared if lock.acquire(blocking=False) else _Words()
        elif self._words is self._shared:
            lock.acquire()
        try:
            yield self._words
        finally:
            if self._words is self._shared:
                lock.release()

    def read(self, words: _Words, packed: PackedUtf8, fold: np.ndarray, words_apart: bool, ids: _Ids) -> np.ndarray:
        """Appends the ids of texts here to `ids`; returns where each text's ids end (m,), from the first text's on."""
        data, starts, stops = packed
        cursor, text_ends = self._cursor, np.empty(len(stops), dtype=np.int64)
        cursor[: codes.N_MET] = 0
        cursor[codes.AT] = starts[0]
        cursor[codes.IDS] = before = len(ids)
        room = ids.room(len(data))  # a token has at least one byte
        self._match(words)
        while True:
            buffers = (self._low, self._tokens[0], self._tokens[1], cursor, room, text_ends)
            tables = (not words.is_full, words.arrays, self._own.arrays, *self._tallies, self._met)
            lack = scan(data, starts, stops, fold, words_apart, *buffers, *tables)
            if lack == codes.DONE:
                ids.take(int(cursor[codes.IDS] + cursor[codes.LOOKED_UP]))
                return text_ends - before
            if lack == codes.LOW:  # one token fills it
                self._low = np.concatenate([self._low, np.empty_like(self._low)])
            elif lack == codes.MET:
                self._met = _longer(self._met, 2 * len(self._met))
            else:
                (words if lack == codes.WORDS else self._own).make_room(codes.BATCH, len(self._low))
                self._match(words)

    def _match(self, words: _Words) -> None:
        """Gives every word that the tables have room for a place in the tallies."""
        of_words, of_own = self._tallies
        self._tallies = _longer(of_words, len(words.offsets)), _longer(of_own, len(self._own.offsets))

    def types(self, first: int = 0) -> Distinct:
        """The types from id `first` on, with their counts here."""
        met = self._met[first : len(self)]
        counts, lengths = np.empty(len(met), np.int64), np.empty(len(met), np.int64)
        tables = [] if self._words is None else [(self._words, met), (self._own, -1 - met)]
        for (words, mine), tally in zip(tables, self._tallies, strict=False):
            here: np.ndarray | slice = np.flatnonzero(mine >= 0) if (mine < 0).any() else slice(None)
            counts[here] = tally[mine[here], 1]
            lengths[here] = words.offsets[mine[here] + 1] - words.offsets[mine[here]]
        offsets = offsets_from(lengths)
        blob = np.empty(int(offsets[-1]), np.uint8)
        for words, mine in tables:
            gather(mine, words.blob, words.offsets, blob, offsets)
        return Distinct(blob, offsets, counts)

    def publish(self, new: Distinct, common: _Words) -> None:
        """Enters the types that are new here into the table of all threads."""
        common.make_room(len(new), len(new.blob))
        ids = np.empty(len(new), np.int32)
        blob = np.append(new.blob, np.zeros(SLACK, np.uint8))
        unite(blob, new.offsets, *common.arrays, ids)
        self.meaning = np.append(self.meaning, ids)

    def counts(self, n: int) -> np.ndarray:
        """How often each of the `n` types of all threads came here (n,) int64."""
        counts = np.zeros(n, np.int64)
        counts[self.meaning] = self.types().counts
        return counts


class ScanInterner(Interner):
    """Counts words by a compiled scan. Equal to a `DictInterner` of the same words, but for the provisional ids."""

    def __init__(self, words_apart: bool, lowercase: bool, fold: np.ndarray | None = None, version: int = 0) -> None:
        """`words_apart`: `\\w+|[^\\w\\s]+`, else `\\S+`; `fold` (n,): another table, ASCII as in the first, of a
        version."""
        self._words_apart, self.lowercase = words_apart, lowercase
        self._fold = fold_table(words_apart, lowercase) if fold is None else fold
        self._marks = change_marks("none", (), True) if lowercase else None
        self._reading: Callable[[str], str] | None = None
        recipe = (words_apart, lowercase, version)
        self._readers = [_Reader(_shared_words(recipe, thread)) for thread in range(thread_count())]
        self._common = _Words()  # of several readers

    def read_by(self, reading: Callable[[str], str], marks: np.ndarray) -> ScanInterner:
        """This interner, of texts after a reading, which changes those alone that have one of its `change_marks`."""
        self._reading, self._marks = reading, marks
        return self

    def add(self, texts: Sequence[str]) -> TokenizedTexts:
        """Texts -> provisional ids, which number the types in the order in which the readers met them."""
        chunks = list(in_chunks(texts, CHUNK_CHARACTERS))
        in_use = self._readers[: max(min(len(self._readers), len(chunks)), 1)]
        # Fixed shares: ids do not depend on who is faster.
        bounds = [len(chunks) * r // len(in_use) for r in range(len(in_use) + 1)]
        characters = [sum(map(len, chain(*chunks[a:b]))) for a, b in pairwise(bounds)]
        ids = [_Ids(n if r else sum(characters)) for r, n in enumerate(characters)]  # the first has room for all
        ends, new = [np.zeros(0, np.int64)] * len(chunks), dict[int, Distinct]()

        def read(r: int, _: int) -> None:
            with in_use[r].table() as words:
                for c in range(bounds[r], bounds[r + 1]):
                    packed = self._packed(chunks[c])
                    ends[c] = in_use[r].read(words, packed, self._fold, self._words_apart, ids[r])
            if len(self._readers) > 1:
                new[r] = in_use[r].types(len(in_use[r].meaning))

        shares = [(r, r + 1) for r in range(len(in_use))]
        in_threads(read, shares)
        starts = offsets_from([int(text_ends[-1]) for text_ends in ends])
        offsets = [np.zeros(1, np.int64), *(text_ends + start for text_ends, start in zip(ends, starts, strict=False))]
        if len(self._readers) > 1:
            for r, reader in enumerate(in_use):
                reader.publish(new[r], self._common)
            out = ids[0].room(int(starts[-1]) - len(ids[0]))

            def rename(r: int, _: int) -> None:
                first, last = starts[bounds[r]], starts[bounds[r + 1]]
                translate(ids[r].all() if r else out[:last], in_use[r].meaning, out[first:last])

            in_threads(rename, shares)
            ids[0].take(int(starts[-1]))
            del out  # memory that nobody sees may move
        return TokenizedTexts(ids[0].all(), np.concatenate(offsets))

    def _packed(self, texts: list[str]) -> PackedUtf8:
        """Texts as UTF-8, so that lower-casing them by characters equals `str.lower()`, and where each begins and ends.

        Texts that change otherwise lie behind the others.
        """
        data, offsets = packed_utf8(texts)
        starts, stops = offsets[:-1], offsets[1:]
        which = np.empty(len(texts), dtype=bool)
        if self._marks is None or not changing(data, starts, stops, self._marks, which):
            return data, starts, stops
        numbers = np.flatnonzero(which)
        changed = [texts[i] if self._reading is None else self._reading(texts[i]) for i in numbers]
        behind, ends = join([lower_utf8(text) if self.lowercase else utf8(text) for text in changed])
        starts, stops = starts.copy(), stops.copy()
        starts[numbers], stops[numbers] = ends[:-1] + len(data), ends[1:] + len(data)
        return read_only(np.concatenate([data, behind])), read_only(starts), read_only(stops)

    def distinct(self) -> tuple[Distinct, np.ndarray]:
        """-> (types, the index of each provisional id among them (n,) int32)."""
        if len(self._readers) == 1:
            types = self._readers[0].types()
        else:
            common = self._common
            n = int(common.size[0])
            counts = sum((reader.counts(n) for reader in self._readers), np.zeros(n, np.int64))
            types = Distinct(common.blob[: common.offsets[n]], common.offsets[: n + 1], counts)
        return types, np.arange(len(types), dtype=np.int32)
