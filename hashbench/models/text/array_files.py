"""Arrays in files of NumPy's format that are written part by part, in any order."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

BLOCK_BYTES = 1 << 24  # read at a time


class ArrayFile:
    """An array of one dimension in a file of NumPy's format, of which parts are written in any order."""

    def __init__(self, path: Path, dtype: npt.DTypeLike, length: int) -> None:
        self._path, self._dtype = path, np.dtype(dtype)
        self._file = path.open("wb+")
        header = {"descr": np.lib.format.dtype_to_descr(self._dtype), "fortran_order": False, "shape": (length,)}
        np.lib.format.write_array_header_1_0(self._file, header)
        self._file.flush()
        self._start = self._file.tell()

    def put(self, values: np.ndarray, at: int) -> None:
        """Writes values (n,) from index `at` on."""
        data, start, done = values.astype(self._dtype, copy=False).tobytes(), self._start + self._dtype.itemsize * at, 0
        while done < len(data):
            done += os.pwrite(self._file.fileno(), memoryview(data)[done:], start + done)

    def blocks(self) -> Iterator[bytes]:
        """Yields the bytes of the array, block by block."""
        with self._path.open("rb") as file:
            file.seek(self._start)
            while block := file.read(BLOCK_BYTES):
                yield block

    def close(self) -> None:
        """Closes the file."""
        self._file.close()
