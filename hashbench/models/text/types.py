"""Types, the distinct token strings of a data set, and texts as arrays of their ids."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hashbench.common.atomic import atomic_write
from hashbench.common.errors import InputError
from hashbench.models.text.fast.table import gather, order_of_types, translate
from hashbench.models.text.unicode import join, offsets_from, pack, read_only, split

FORMAT = 1  # of the files that TypeTable.save writes
# Types that Python sorts while compiled loops would still be loaded.
SORTED_IN_PYTHON = 2_000
MANY_IDS = 100_000  # that are worth a compiled loop
ARRAYS = {"blob": np.uint8, "offsets": np.int64, "counts": np.int64}


class TypeTable:
    """The types of a data set: strings as one UTF-8 blob, and how often each occurs. Immutable.

    Ids run by (count descending, string by code point). The arrays may be memory-mapped: 12 million types are some
    300 MB on disk and nothing in memory until they are read.
    """

    def __init__(
        self, blob: np.ndarray, offsets: np.ndarray, counts: np.ndarray, fingerprint: str | None = None
    ) -> None:
        """`blob` uint8, `offsets` int64 (n + 1,), `counts` int64 (n,), in the order of the ids."""
        self.blob, self.offsets, self.counts = blob, offsets, counts
        self._fingerprint = fingerprint

    @classmethod
    def from_counts(cls, counts: Mapping[str, int]) -> TypeTable:
        """A table of the given strings.

        >>> TypeTable.from_counts({"b": 1, "a": 1, "c": 7}).strings()
        ['c', 'a', 'b']
        """
        blob, offsets = pack(list(counts))
        return cls.sorted(blob, offsets, np.fromiter(counts.values(), dtype=np.int64, count=len(counts)))[0]

    @classmethod
    def sorted(cls, blob: np.ndarray, offsets: np.ndarray, counts: np.ndarray) -> tuple[TypeTable, np.ndarray]:
        """Distinct strings in any order -> (table, rank int32 (n,): old index -> id)."""
        # UTF-8 sorts by bytes as its text does by code points.
        order, new_blob, new_offsets = (_order_of_few if len(counts) <= SORTED_IN_PYTHON else _order_of_many)(
            blob, offsets, counts
        )
        rank = np.empty(len(order), dtype=np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        return cls(read_only(new_blob), read_only(new_offsets), read_only(counts[order])), rank

    def __len__(self) -> int:
        return len(self.counts)

    def string(self, i: int) -> str:
        """The string of one type."""
        return self.blob[self.offsets[i] : self.offsets[i + 1]].tobytes().decode()

    def strings(self, ids: Sequence[int] | np.ndarray | None = None) -> list[str]:
        """The strings of these types (n,), or of all."""
        if ids is not None:
            return [self.string(i) for i in ids]
        return [string.decode() for string in split(self.blob, self.offsets)]

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of strings and counts."""
        if self._fingerprint is None:
            arrays = (np.asarray(getattr(self, name), np.dtype(dtype)) for name, dtype in ARRAYS.items())
            digest = hashlib.sha256(f"types {FORMAT} {len(self)}".encode())
            for array in arrays:
                digest.update(np.ascontiguousarray(array).data)
            self._fingerprint = digest.hexdigest()
        return self._fingerprint

    def save(self, folder: Path) -> None:
        """Writes the table into a folder; a table that was not written whole cannot be loaded."""
        for name, dtype in ARRAYS.items():
            with atomic_write(folder / f"types-{name}.npy") as part, part.open("wb") as file:
                np.save(file, np.asarray(getattr(self, name), dtype=dtype))
        with atomic_write(folder / "types.json") as part:  # marks the arrays as complete, so it is written last
            part.write_text(json.dumps({"format": FORMAT, "types": len(self), "fingerprint": self.fingerprint}))

    @classmethod
    def load(cls, folder: Path) -> TypeTable:
        """Opens a saved table, memory-mapped.

        Raises:
            InputError: there is none, or a later version wrote it.
        """
        try:
            facts = json.loads((folder / "types.json").read_text())
        except FileNotFoundError:
            raise InputError(f"{folder}: no type table; prepare the data again") from None
        if facts["format"] != FORMAT:
            version = f"type table of format {facts['format']}, this program reads {FORMAT}"
            raise InputError(f"{folder}: {version}; prepare the data again")
        blob, offsets, counts = (np.load(folder / f"types-{name}.npy", mmap_mode="r") for name in ARRAYS)
        return cls(blob, offsets, counts, fingerprint=facts["fingerprint"])


_Ordered = tuple[np.ndarray, np.ndarray, np.ndarray]  # order int64 (n,); blob and offsets (n + 1,) in that order


def _order_of_few(blob: np.ndarray, offsets: np.ndarray, counts: np.ndarray) -> _Ordered:
    """The order of packed strings (n,) by (count descending, string), and the strings in it, sorted by Python."""
    strings, often = split(blob, offsets), counts.tolist()
    order = sorted(range(len(often)), key=lambda i: (-often[i], strings[i]))
    return np.array(order, dtype=np.int64), *join([strings[i] for i in order])


def _order_of_many(blob: np.ndarray, offsets: np.ndarray, counts: np.ndarray) -> _Ordered:
    """The order of many packed strings (n,) and the strings in it, by compiled loops."""
    blob, offsets, counts = (np.ascontiguousarray(array) for array in (blob, offsets, counts))
    order = order_of_types(blob, offsets, counts)
    new_offsets = offsets_from((offsets[1:] - offsets[:-1])[order])
    new_blob = np.empty(int(new_offsets[-1]), dtype=np.uint8)
    gather(order, blob, offsets, new_blob, new_offsets)
    return order, new_blob, new_offsets


class Again:
    """Texts that can be read any number of times without being kept."""

    def __init__(self, begin: Callable[[], Iterator[str]]) -> None:
        self._begin = begin

    def __iter__(self) -> Iterator[str]:
        return self._begin()


@dataclass(frozen=True)
class TokenizedTexts:
    """Texts as type ids, laid end to end."""

    ids: np.ndarray  # (total,) int32
    offsets: np.ndarray  # (n_texts + 1,) int64

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def text(self, i: int) -> np.ndarray:
        """Type ids of one text, (length,)."""
        return self.ids[self.offsets[i] : self.offsets[i + 1]]

    def remapped(self, remap: np.ndarray) -> TokenizedTexts:
        """These texts with other ids: `remap` (n,), from `Interner.finish`, takes provisional ids to final ids."""
        if len(self.ids) < MANY_IDS or remap.dtype != self.ids.dtype:
            return TokenizedTexts(remap[self.ids], self.offsets)
        ids = np.empty_like(self.ids)
        translate(np.ascontiguousarray(self.ids), remap, ids)
        return TokenizedTexts(ids, self.offsets)


@dataclass(frozen=True)
class Distinct:
    """Distinct strings in any order, and how often each came."""

    blob: np.ndarray  # uint8, end to end
    offsets: np.ndarray  # (n + 1,) int64
    counts: np.ndarray  # (n,) int64

    def __len__(self) -> int:
        return len(self.counts)


class Interner(ABC):
    """Counts the types of texts that come in batches. Occurrences are counted, not texts.

    `add` may be called any number of times; the caller keeps the provisional ids (on disk, for a corpus) and maps them
    with what `finish` returns. The final table depends on the texts alone, not on how they were cut into calls.
    """

    @abstractmethod
    def add(self, texts: Sequence[str]) -> TokenizedTexts:
        """Texts -> provisional ids."""

    @abstractmethod
    def distinct(self) -> tuple[Distinct, np.ndarray]:
        """-> (types that came, index among them of each provisional id (n,) int32, -1 for one that never came)."""

    def finish(self) -> tuple[TypeTable, np.ndarray]:
        """-> (type table, remap (n,) int32: provisional id -> final id, or -1 where the type never occurred)."""
        types, places = self.distinct()
        table, rank = TypeTable.sorted(types.blob, types.offsets, types.counts)
        return table, looked_up(rank, places)


class DictInterner(Interner):
    """An interner for any function from a text to its tokens: a dictionary, no compiled code."""

    def __init__(self, tokenize: Callable[[str], list[str]]) -> None:
        self._tokenize = tokenize
        self._ids: dict[str, int] = {}
        self._counts = np.zeros(0, dtype=np.int64)

    def add(self, texts: Sequence[str]) -> TokenizedTexts:
        """Texts -> provisional ids, by first occurrence."""
        ids = self._ids
        per_text = [[ids.setdefault(token, len(ids)) for token in self._tokenize(text)] for text in texts]
        texts_as_ids = lay_end_to_end(per_text)
        counts = np.bincount(texts_as_ids.ids, minlength=len(ids)).astype(np.int64)
        counts[: len(self._counts)] += self._counts
        self._counts = counts
        return texts_as_ids

    def distinct(self) -> tuple[Distinct, np.ndarray]:
        """-> (types, the index of each provisional id among them (n,) int32)."""
        return Distinct(*pack(list(self._ids)), self._counts), np.arange(len(self._ids), dtype=np.int32)


class NumberedInterner(Interner):
    """An interner of types that have numbers already, as characters and pieces: nothing is looked up."""

    def __init__(self, n: int, ids_of: Callable[[Sequence[str]], TokenizedTexts], spell: Callable[[int], str]) -> None:
        """`n`: of all numbers; `ids_of`: texts -> their numbers; `spell`: the string of a number."""
        self._counts = np.zeros(n, dtype=np.int64)
        self._ids_of, self._spell = ids_of, spell

    def add(self, texts: Sequence[str]) -> TokenizedTexts:
        """Texts -> provisional ids, which are these numbers."""
        texts_as_ids = self._ids_of(texts)
        occurrences = np.bincount(texts_as_ids.ids)
        self._counts[: len(occurrences)] += occurrences
        return texts_as_ids

    def distinct(self) -> tuple[Distinct, np.ndarray]:
        """-> (types that came, the index of each number among them (n,) int32, -1 for one that never came)."""
        seen = np.flatnonzero(self._counts)
        places = np.full(len(self._counts), -1, dtype=np.int32)
        places[seen] = np.arange(len(seen), dtype=np.int32)
        return Distinct(*pack([self._spell(i) for i in seen.tolist()]), self._counts[seen]), places


def looked_up(meaning: np.ndarray, places: np.ndarray) -> np.ndarray:
    """meaning[places] (n,) int32, -1 where `places` is -1; `meaning` (m,) int32.

    >>> looked_up(np.array([7, 9], np.int32), np.array([1, -1, 0])).tolist()
    [9, -1, 7]
    """
    if not len(meaning):
        return np.full(len(places), -1, np.int32)
    return np.where(places < 0, np.int32(-1), meaning[places])


def lay_end_to_end(per_text: Sequence[Sequence[int]]) -> TokenizedTexts:
    """Ids of each text -> one array and its offsets."""
    offsets = offsets_from([len(ids) for ids in per_text])
    flat: Iterable[int] = (i for ids in per_text for i in ids)
    return TokenizedTexts(np.fromiter(flat, dtype=np.int32, count=int(offsets[-1])), offsets)
