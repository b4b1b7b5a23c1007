"""Counts of the types of texts that exceed memory: sorted spills on disk, merged by ranges of the strings.

A spill is a folder with the distinct strings of some texts in their order, and how often each came. A range is all
strings of all spills between two borders: it is merged by itself, so that several processes can do so, and no more of
the types than a range has is in memory. All types together take 4 bytes each.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hashbench.models.text.array_files import ArrayFile
from hashbench.models.text.types import ARRAYS, Distinct, TypeTable, fingerprint_of, write_facts
from hashbench.models.text.unicode import offsets_from

STRINGS, OFFSETS, COUNTS = "strings.bytes", "offsets.int64", "counts.int64"
# Of a merged range: the place of each string of each spill in it.
PLACES = "places.int32"
ENTRIES_OF_A_RANGE = 1_000_000  # about, of all spills together
SAMPLE_EVERY = 512  # strings of a spill, to find the borders
COUNTS_AT_ONCE = 1 << 20  # written at a time


def as_arrow(blob: np.ndarray, offsets: np.ndarray) -> pa.LargeBinaryArray:
    """Strings laid end to end in `blob`, with `offsets` (n + 1,) int64, as an Arrow array, without a copy."""
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(blob)]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)


@dataclass(frozen=True)
class TypeSpill:
    """Distinct strings sorted as bytes, and how often each occurred, in the files of a folder."""

    folder: Path

    def __reduce__(self) -> tuple[type[TypeSpill], tuple[Path]]:
        """State for another process, without the arrays that were opened here."""
        return TypeSpill, (self.folder,)

    @classmethod
    def write(cls, folder: Path, types: Distinct) -> np.ndarray:
        """Writes a spill into an existing folder; returns the index in the spill of each of `types`, (n,) int32."""
        order = pc.sort_indices(as_arrow(types.blob, types.offsets)).to_numpy()
        cls._save(folder, as_arrow(types.blob, types.offsets).take(order), types.counts[order])
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        return rank

    @staticmethod
    def _save(folder: Path, strings: pa.LargeBinaryArray, counts: np.ndarray) -> None:
        _, offsets, blob = strings.buffers()
        (folder / STRINGS).write_bytes(blob or b"")
        np.frombuffer(offsets, np.int64, len(counts) + 1).tofile(folder / OFFSETS)
        counts.astype(np.int64, copy=False).tofile(folder / COUNTS)

    @cached_property
    def offsets(self) -> np.ndarray:
        """Where each string begins, and the end of the last, (n + 1,) int64, memory-mapped."""
        return np.memmap(self.folder / OFFSETS, np.int64, mode="r")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def part(self, start: int = 0, stop: int | None = None) -> Distinct:
        """The strings with index `start` to `stop` - 1 (None: to the last), and their counts."""
        offsets = np.array(self.offsets[start : None if stop is None else stop + 1])
        n_bytes = int(offsets[-1] - offsets[0])
        blob = np.fromfile(self.folder / STRINGS, np.uint8, n_bytes, offset=int(offsets[0]))
        counts = np.fromfile(self.folder / COUNTS, np.int64, len(offsets) - 1, offset=8 * start)
        return Distinct(blob, offsets - offsets[0], counts)

    def samples(self) -> list[bytes]:
        """Every `SAMPLE_EVERY`-th string."""
        with (self.folder / STRINGS).open("rb") as file:
            return [_string(file, self.offsets, place) for place in range(0, len(self), SAMPLE_EVERY)]

    def place_of(self, border: bytes) -> int:
        """The number of strings that sort before `border`."""
        with (self.folder / STRINGS).open("rb") as file:
            return bisect_left(range(len(self)), border, key=lambda place: _string(file, self.offsets, place))


def _string(file: BinaryIO, offsets: np.ndarray, place: int) -> bytes:
    start, end = int(offsets[place]), int(offsets[place + 1])
    return os.pread(file.fileno(), end - start, start)


def range_bounds(spills: Sequence[TypeSpill]) -> np.ndarray:
    """The index at which each range begins in each spill, then the spills' lengths: (ranges + 1, spills) int64."""
    lengths = [len(spill) for spill in spills]
    n_ranges = max(1, -(-sum(lengths) // ENTRIES_OF_A_RANGE))
    samples = sorted(string for spill in spills for string in spill.samples())
    borders = sorted({samples[len(samples) * i // n_ranges] for i in range(1, n_ranges)})
    between = [[spill.place_of(border) for spill in spills] for border in borders]
    bounds = np.array([[0] * len(spills), *between, lengths], np.int64)
    return bounds[np.diff(bounds.sum(axis=1), prepend=-1) > 0]  # no range is empty


def merge_range(spills: Sequence[TypeSpill], starts: np.ndarray, stops: np.ndarray, folder: Path) -> None:
    """Merges the strings from `starts` (s,) to `stops` (s,) of s spills into one spill in a new folder.

    The folder also has PLACES, (entries,) int32: spill after spill, the index of each string among the merged ones.
    """
    folder.mkdir(parents=True)
    parts = [spill.part(*bounds) for spill, *bounds in zip(spills, starts.tolist(), stops.tolist(), strict=True)]
    entries = pa.concat_arrays([as_arrow(part.blob, part.offsets) for part in parts])
    encoded = entries.dictionary_encode()
    counts = np.concatenate([part.counts for part in parts])
    first_places = encoded.indices.to_numpy()  # (entries,) among the strings by first occurrence
    # Exact below 2^53 occurrences
    totals = np.bincount(first_places, weights=counts, minlength=len(encoded.dictionary)).astype(np.int64)
    rank = TypeSpill.write(folder, _as_distinct(encoded.dictionary, totals))
    rank[first_places].tofile(folder / PLACES)


def _as_distinct(strings: pa.LargeBinaryArray, counts: np.ndarray) -> Distinct:
    _, offsets, blob = strings.buffers()
    bytes_of = np.frombuffer(blob, np.uint8) if blob is not None else np.zeros(0, np.uint8)
    return Distinct(bytes_of, np.frombuffer(offsets, np.int64, len(strings) + 1), counts)


class MergedTypes:
    """The distinct types of all spills, in merged ranges."""

    def __init__(self, ranges: Sequence[TypeSpill], bounds: np.ndarray) -> None:
        """`ranges` in the order of their strings; `bounds` (ranges + 1, spills) as `range_bounds` gave them."""
        self._ranges, self._bounds = ranges, bounds
        self._ids: list[np.ndarray] = []  # final ids (n,) int32 of each range

    def write_table(self, folder: Path) -> TypeTable:
        """Writes the files of a `TypeTable` as its `save` would, without having it in memory; returns the table.

        Ids run by (count descending, string): the strings come in their order, so each takes the next id of its count.
        """
        counts, n_types, n_bytes = self._classes()
        next_id, next_byte = offsets_from(n_types), offsets_from(n_bytes)
        total = int(next_id[-1])
        folder.mkdir(parents=True, exist_ok=True)
        sizes = {"blob": int(next_byte[-1]), "offsets": total + 1, "counts": total}
        files = {name: ArrayFile(folder / f"types-{name}.npy", dtype, sizes[name]) for name, dtype in ARRAYS.items()}
        for range_spill in self._ranges:
            self._ids.append(_scatter(range_spill.part(), counts, next_id, next_byte, files))
        blob, offsets, last = files["blob"], files["offsets"], files["counts"]
        offsets.put(np.array([sizes["blob"]], np.int64), total)
        ends = offsets_from(n_types)
        for start, stop, value in zip(ends[:-1].tolist(), ends[1:].tolist(), counts.tolist(), strict=True):
            for at in range(start, stop, COUNTS_AT_ONCE):
                last.put(np.full(min(COUNTS_AT_ONCE, stop - at), value, np.int64), at)
        for file in (blob, offsets, last):
            file.close()
        bytes_of_all = chain.from_iterable(file.blocks() for file in (blob, offsets, last))
        write_facts(folder, total, fingerprint_of(total, bytes_of_all))
        return TypeTable.load(folder)

    def remap_of(self, spill: int) -> np.ndarray:
        """Final ids (n,) int32 of the strings of a spill; the table must have been written."""
        pieces = []
        for number, ids in enumerate(self._ids):
            lengths = self._bounds[number + 1] - self._bounds[number]  # (spills,)
            before, n = int(lengths[:spill].sum()), int(lengths[spill])
            places = np.fromfile(self._ranges[number].folder / PLACES, np.int32, n, offset=4 * before)
            pieces.append(ids[places])
        return np.concatenate(pieces) if pieces else np.zeros(0, np.int32)

    def _classes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Three (c,) int64: the distinct counts, descending, and for each how many types have it and their bytes."""
        of_ranges: list[np.ndarray] = []
        for range_spill in self._ranges:
            part = range_spill.part()
            counts, which, n_types = np.unique(part.counts, return_inverse=True, return_counts=True)
            n_bytes = np.bincount(which, weights=np.diff(part.offsets), minlength=len(counts)).astype(np.int64)
            of_ranges.append(np.stack([counts, n_types, n_bytes]))
        together = np.concatenate(of_ranges, axis=1) if of_ranges else np.zeros((3, 0), np.int64)
        counts, which = np.unique(-together[0], return_inverse=True)
        sums = [np.bincount(which, weights=row, minlength=len(counts)).astype(np.int64) for row in together[1:]]
        return -counts, sums[0], sums[1]


def _scatter(
    part: Distinct, counts: np.ndarray, next_id: np.ndarray, next_byte: np.ndarray, files: dict[str, ArrayFile]
) -> np.ndarray:
    """Writes sorted strings to their positions in the files of the type table; returns their ids (n,) int32.

    `counts` (c,) descending; `next_id` and `next_byte` (c + 1,) of each count are brought forward.
    """
    classes = np.searchsorted(-counts, -part.counts)  # (n,)
    order = np.argsort(classes, kind="stable")
    _, offsets, blob = as_arrow(part.blob, part.offsets).take(pa.array(order)).buffers()
    starts = np.frombuffer(offsets, np.int64, len(order) + 1)
    by_class = np.frombuffer(blob, np.uint8) if blob is not None else np.zeros(0, np.uint8)
    sorted_classes = classes[order]
    begins = np.flatnonzero(np.diff(sorted_classes, prepend=-1))
    ids = np.empty(len(order), np.int32)
    for a, b in zip(begins.tolist(), [*begins[1:].tolist(), len(order)], strict=True):
        which = sorted_classes[a]
        first_id, first_byte, n_bytes = int(next_id[which]), int(next_byte[which]), int(starts[b] - starts[a])
        ids[order[a:b]] = np.arange(first_id, first_id + b - a, dtype=np.int32)
        files["offsets"].put(starts[a:b] - starts[a] + first_byte, first_id)
        files["blob"].put(by_class[starts[a] : starts[b]], first_byte)
        next_id[which] += b - a
        next_byte[which] += n_bytes
    return ids
