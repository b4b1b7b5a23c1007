"""Texts and arrays too large for a process's own memory: in files without a name, mapped into it.

Such a file is in the cache folder. It has no name, so that the end of the process removes it, however that comes.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any, SupportsIndex, overload

import numpy as np
import numpy.typing as npt

from hashbench.common.errors import InputError
from hashbench.data.sources.fingerprints import cache_folder, marked_cache_folder

LARGE = 1 << 24  # characters of a column, bytes of an array; smaller ones are Python's and NumPy's own
MOST_SHARED = 1_000  # different texts of a column, as labels are, that are kept once
AT_ONCE = 4_096  # rows
# Unpaired surrogates, which JSON can hold and UTF-8 cannot
ENCODING = ("utf-8", "surrogatepass")


class MappedTexts(Sequence[str]):
    """Texts in mapped memory, decoded when they are read. A slice is a list."""

    def __init__(self, blob: memoryview, offsets: np.ndarray, rows: np.ndarray | None = None) -> None:
        """`blob` (b,): UTF-8; `offsets` (n + 1,): where each text begins; `rows` (k,): those that count, None: all."""
        self._blob, self._offsets, self._rows = blob, offsets, rows

    def __len__(self) -> int:
        return len(self._offsets) - 1 if self._rows is None else len(self._rows)

    @overload
    def __getitem__(self, at: SupportsIndex) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: SupportsIndex | slice) -> str | list[str]:
        if isinstance(at, slice):
            return self._read(np.arange(len(self))[at])
        number = at.__index__()
        if not -len(self) <= number < len(self):
            raise IndexError(f"text {number} of {len(self)}")
        return self._read(np.array([number % len(self)]))[0]

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), AT_ONCE):
            yield from self._read(np.arange(start, min(start + AT_ONCE, len(self))))

    def __eq__(self, other: object) -> bool:
        """Equal texts in equal order; a small column is a list."""
        if not isinstance(other, MappedTexts | list):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __reduce__(self) -> tuple[Callable[[list[str]], list[str]], tuple[list[str]]]:
        """In another process it is a list."""
        return list, (list(self),)

    def take(self, rows: np.ndarray) -> MappedTexts:
        """The texts of these rows (k,), in that order and not copied."""
        return MappedTexts(self._blob, self._offsets, rows if self._rows is None else self._rows[rows])

    def _read(self, places: np.ndarray) -> list[str]:
        rows = places if self._rows is None else self._rows[places]
        begins, ends = self._offsets[rows].tolist(), self._offsets[rows + 1].tolist()
        return [str(self._blob[begin:end], *ENCODING) for begin, end in zip(begins, ends, strict=True)]


class MappedCells(Sequence[str | None]):
    """The cells of a table's column of texts, of which some may be missing, in mapped memory."""

    def __init__(self, texts: MappedTexts, missing: bytes) -> None:
        """`missing` (n,): 1 where there is no text; it is read as empty."""
        self.texts, self._missing = texts, missing

    def __len__(self) -> int:
        return len(self.texts)

    @overload
    def __getitem__(self, at: SupportsIndex) -> str | None: ...
    @overload
    def __getitem__(self, at: slice) -> list[str | None]: ...
    def __getitem__(self, at: SupportsIndex | slice) -> str | None | list[str | None]:
        if isinstance(at, slice):
            marks = self._missing[at]
            return [None if mark else text for text, mark in zip(self.texts[at], marks, strict=True)]
        return None if self._missing[at] else self.texts[at]

    def __iter__(self) -> Iterator[str | None]:
        return (None if mark else text for text, mark in zip(self.texts, self._missing, strict=True))


class GatheredCells:
    """Cells of a column that come block by block: a list at the end, or mapped where they are texts and many."""

    def __init__(self) -> None:
        self._cells: list[object] = []
        self._shared: dict[str, str] = {}
        self._characters = 0
        self._stays = False  # in memory, whatever its size
        self._file: IO[bytes] | None = None
        self._lengths: list[np.ndarray] = []
        self._missing = bytearray()

    def extend(self, cells: Sequence[object]) -> None:
        """Adds cells behind those that came before. Raises InputError where the disk is full."""
        if self._file is not None and all(cell is None or isinstance(cell, str) for cell in cells):
            self._write(cells)
            return
        if self._file is not None:  # no column of texts after all
            self._cells, self._file, self._stays = list(self._mapped(self._file)), None, True
        self._cells += [self._once(cell) for cell in cells]
        self._characters += sum(len(cell) for cell in cells if isinstance(cell, str))
        if self._characters > LARGE and not self._stays:
            self._move()

    def finish(self) -> Sequence[object]:
        """All cells."""
        return self._cells if self._file is None else self._mapped(self._file)

    def _once(self, cell: object) -> object:
        """The cell, as one object for all equal texts as long as few differ."""
        if isinstance(cell, str) and (cell in self._shared or len(self._shared) < MOST_SHARED):
            return self._shared.setdefault(cell, cell)
        return cell

    def _move(self) -> None:
        """Moves the cells into a file, if they are texts and one can be made."""
        self._file = _nameless() if all(cell is None or isinstance(cell, str) for cell in self._cells) else None
        self._stays = self._file is None
        if self._file is not None:
            for start in range(0, len(self._cells), AT_ONCE):
                self._write(self._cells[start : start + AT_ONCE])
            self._cells, self._shared = [], {}

    def _write(self, cells: Sequence[Any]) -> None:
        assert self._file is not None
        encoded = [b"" if cell is None else cell.encode(*ENCODING) for cell in cells]
        self._lengths.append(np.fromiter(map(len, encoded), np.int64, len(encoded)))
        self._missing += bytes(cell is None for cell in cells)
        try:
            self._file.write(b"".join(encoded))
        except OSError as error:
            raise _no_room(error) from error

    def _mapped(self, file: IO[bytes]) -> MappedCells:
        offsets = np.zeros(len(self._missing) + 1, np.int64)
        np.cumsum(np.concatenate(self._lengths), out=offsets[1:])
        try:
            file.flush()
            blob = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except OSError as error:
            raise _no_room(error) from error
        return MappedCells(MappedTexts(blob, offsets), bytes(self._missing))


def taken(column: Sequence[str], rows: np.ndarray) -> Sequence[str]:
    """The texts of these rows (k,) of a column, in that order."""
    return column.take(rows) if isinstance(column, MappedTexts) else [column[row] for row in rows]


def large_array(length: int, dtype: npt.DTypeLike) -> np.ndarray:
    """An array (length,) to be filled, in a mapped file if it is large and there is room for one."""
    n_bytes = length * np.dtype(dtype).itemsize
    file = _nameless() if n_bytes > LARGE else None
    if file is None:
        return np.empty(length, dtype)
    try:
        os.posix_fallocate(file.fileno(), 0, n_bytes)  # else a full disk would end the process when it is written
        return np.frombuffer(mmap.mmap(file.fileno(), n_bytes), dtype)
    except (OSError, AttributeError):  # AttributeError: no such call on macOS
        return np.empty(length, dtype)


def _nameless() -> IO[bytes] | None:
    """A new file without a name in the cache folder; None where none can be made."""
    try:
        return tempfile.TemporaryFile(dir=marked_cache_folder())
    except OSError:
        return None


def _no_room(error: OSError) -> InputError:
    remedy = "make room there, or set HASHBENCH_CACHE to another folder"
    return InputError(f"cache folder {cache_folder()}: texts cannot be written ({error.strerror}); {remedy}")
