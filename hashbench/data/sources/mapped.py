"""Texts and arrays too large for a process's own memory: in files without a name, mapped into it.

Such a file is in the cache folder. It has no name, so that the end of the process removes it, however that comes.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hashbench.common.errors import InputError
from hashbench.data.sources.fingerprints import cache_folder, marked_cache_folder
from hashbench.models.text.unicode import offsets_from

if TYPE_CHECKING:
    import pyarrow as pa  # loaded where a column is large, as a prediction has none

MAPPED_FROM = 1 << 24  # characters of a column, bytes of an array; smaller ones are Python's and NumPy's own
MOST_SHARED = 1_000  # different texts of a column, as labels are, that are kept once
CELLS_AT_ONCE = 4_096  # rows


class MappedTexts(Sequence[Any]):
    """Texts of a column in mapped memory, which become Python's when they are read. A slice is a list."""

    def __init__(self, cells: pa.LargeStringArray, rows: np.ndarray | None = None, missing: str | None = None) -> None:
        """`rows` (k,): the numbers of cells that count, None: all; `missing`: what a missing cell is read as."""
        self._cells, self._missing = cells, missing
        self._rows = np.arange(len(cells)) if rows is None else rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return self._read(self._rows[at])
        text = self._cells[int(self._rows[at])].as_py()
        return self._missing if text is None else text

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, len(self), CELLS_AT_ONCE):
            yield from self._read(self._rows[start : start + CELLS_AT_ONCE])

    def __eq__(self, other: object) -> bool:
        """Equal texts in equal order; a small column is a list."""
        if not isinstance(other, MappedTexts | list):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __reduce__(self) -> tuple[Callable[[list[Any]], list[Any]], tuple[list[Any]]]:
        """In another process it is a list."""
        return list, (list(self),)

    def take(self, rows: np.ndarray) -> MappedTexts:
        """The texts of these rows (k,), in that order and not copied."""
        return MappedTexts(self._cells, self._rows[rows], self._missing)

    def filled(self) -> MappedTexts:
        """The texts, a missing one read as empty."""
        return MappedTexts(self._cells, self._rows, "")

    def _read(self, rows: np.ndarray) -> list[Any]:
        import pyarrow as pa

        texts = self._cells.take(pa.array(rows)).to_pylist()
        return texts if self._missing is None else [self._missing if text is None else text for text in texts]


class GatheredCells:
    """Cells of a column that come block by block: a list at the end, or mapped where they are texts and many."""

    def __init__(self) -> None:
        self._cells: list[object] = []
        self._shared: dict[str, str] = {}
        self._characters = 0
        self._stays = False  # in memory, whatever its size
        self._file: IO[bytes] | None = None
        self._lengths: list[np.ndarray] = []  # bytes of each text in the file
        self._valid: list[np.ndarray] = []  # whether it is not missing

    def extend(self, cells: Sequence[object]) -> None:
        """Adds cells behind the earlier ones. Raises InputError where the disk is full."""
        if self._file is not None:
            if self._write(self._file, cells):
                return
            self._cells, self._file, self._stays = list(self.finish()), None, True  # no column of texts after all
        for cell in cells:  # one object for all equal texts as long as few differ
            if isinstance(cell, str):
                self._characters += len(cell)
                if cell in self._shared or len(self._shared) < MOST_SHARED:
                    cell = self._shared.setdefault(cell, cell)
            self._cells.append(cell)
        if self._characters > MAPPED_FROM and not self._stays:
            file, starts = _nameless(), range(0, len(self._cells), CELLS_AT_ONCE)
            if file is not None and all(self._write(file, self._cells[at : at + CELLS_AT_ONCE]) for at in starts):
                self._file, self._cells, self._shared = file, [], {}
            self._stays = self._file is None

    def finish(self) -> Sequence[object]:
        """All cells."""
        if self._file is None:
            return self._cells
        import pyarrow as pa

        offsets, valid = offsets_from(np.concatenate(self._lengths)), np.concatenate(self._valid)
        try:
            self._file.flush()
            blob = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise _no_room(error) from error
        buffers = map(pa.py_buffer, (offsets, blob, np.packbits(valid, bitorder="little")))
        return MappedTexts(pa.LargeStringArray.from_buffers(len(valid), *buffers))

    def _write(self, file: IO[bytes], cells: Sequence[object]) -> bool:
        """Writes cells behind the earlier ones; False where some are no texts, or have unpaired surrogates."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not all(cell is None or isinstance(cell, str) for cell in cells):
            return False
        try:
            texts = pa.array(cells, pa.large_string())
            file.write(texts.buffers()[2] or b"")
        except UnicodeEncodeError:
            return False
        except OSError as error:
            raise _no_room(error) from error
        self._lengths.append(pc.fill_null(pc.binary_length(texts), 0).to_numpy())
        self._valid.append(texts.is_valid().to_numpy(zero_copy_only=False))
        return True


def taken(column: Sequence[str], rows: np.ndarray) -> Sequence[str]:
    """The texts of these rows (k,) of a column, in that order."""
    return column.take(rows) if isinstance(column, MappedTexts) else [column[row] for row in rows]


def large_array(length: int, dtype: npt.DTypeLike) -> np.ndarray:
    """An array (length,) to be filled, in a mapped file if it is large and there is room for one."""
    n_bytes = length * np.dtype(dtype).itemsize
    file = _nameless() if n_bytes > MAPPED_FROM else None
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
