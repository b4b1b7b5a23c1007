"""Arrays as the database stores them: .npy, compressed by zlib."""

from __future__ import annotations

import contextlib
import io
import math
import struct
import zlib
from collections.abc import Iterator
from functools import lru_cache
from tokenize import TokenError

import numpy as np

from hashbench.common.errors import first_line

# The limit for one array, when it is written and when it is read: a megabyte of compressed data could unfold to a
# gigabyte
MOST_BYTES = 1 << 29
HEADER_BYTES = 4096  # of an .npy file, more than its first line takes
LENGTHS = {(1, 0): "<H", (2, 0): "<I"}  # how the number of bytes of what follows it is written
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def pack(array: np.ndarray) -> bytes:
    """Outputs (n,), (n, C) or (n, 3 + m), or targets (n,), as .npy in zlib.

    Smaller than one row per number by far, and readable without this program. Raises ValueError for an array that
    `unpack` would refuse.
    """
    _check(array.shape, array.dtype)
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(array), allow_pickle=False)
    return zlib.compress(buffer.getvalue(), level=6)


def unpack(data: bytes) -> np.ndarray:
    """The array, (n,) or (n, c), that `pack` made into bytes. Raises ValueError for anything else, however large.

    >>> unpack(pack(np.array([1.5, 2.5], dtype=np.float32)))
    array([1.5, 2.5], dtype=float32)
    """
    shape, in_columns, dtype, start = _header(data)
    values = _decompressed(data, start + math.prod(shape) * dtype.itemsize)
    array: np.ndarray = np.frombuffer(values, dtype, offset=start).reshape(shape, order="F" if in_columns else "C")
    return array.copy()


def fits(array: np.ndarray) -> bool:
    """True for an array that can be stored and read again: numbers, and not too many of them."""
    try:
        _check(array.shape, array.dtype)
    except ValueError:
        return False
    return True


def check_packed(data: bytes, n: int) -> None:
    """Raises ValueError unless the bytes begin as an array (n, ...) of at most MOST_BYTES; unpacks only its header."""
    shape, _, _, _ = _header(data)
    if shape[0] != n:
        raise ValueError(f"an array of shape {shape} where {n} rows belong")


def _header(data: bytes) -> tuple[tuple[int, ...], bool, np.dtype, int]:
    """Shape, whether columns come one after another, and type of a packed array, and where its values begin."""
    with _malformed_as_value_error():
        begin = _decompressed(data, HEADER_BYTES, whole=False)
        file = io.BytesIO(begin)
        version = np.lib.format.read_magic(file)
        if version not in HEADERS:
            raise ValueError(f"an array of version {version}")
        (length,) = struct.unpack(LENGTHS[version], file.read(struct.calcsize(LENGTHS[version])))
        return _parsed(version, begin[: file.tell() + length])


@lru_cache(maxsize=256)
def _parsed(version: tuple[int, int], header: bytes) -> tuple[tuple[int, ...], bool, np.dtype, int]:
    """As `_header`, of the bytes before the values. The runs of a task have the same ones, which numpy reads slowly."""
    file = io.BytesIO(header)
    np.lib.format.read_magic(file)
    shape, in_columns, dtype = HEADERS[version](file)
    _check(shape, dtype)
    return shape, in_columns, dtype, file.tell()


def _check(shape: tuple[int, ...], dtype: np.dtype) -> None:
    """Raises ValueError for an array that is not (n, ...) numbers of at most MOST_BYTES."""
    what = f"an array of shape {shape} and type {dtype}"
    if dtype.kind not in "biuf" or not shape or min(shape) < 0:
        raise ValueError(f"{what}: no rows of numbers")
    if math.prod(shape) * dtype.itemsize > MOST_BYTES:
        raise ValueError(f"{what}: more than {MOST_BYTES:,} bytes")


@contextlib.contextmanager
def _malformed_as_value_error() -> Iterator[None]:
    """A context that turns what numpy raises of malformed bytes into a ValueError: it reads a header as Python."""
    try:
        yield
    except (SyntaxError, TokenError, TypeError, LookupError, EOFError, ArithmeticError, AttributeError, struct.error,
            MemoryError, RecursionError) as error:  # fmt: skip
        raise ValueError(f"no array: {first_line(error)}") from error


def _decompressed(data: bytes, size: int, *, whole: bool = True) -> bytes:
    """The first `size` bytes of the unpacked data; `whole`: raises ValueError where there are not exactly so many."""
    unpacking = zlib.decompressobj()
    try:
        unpacked = unpacking.decompress(data, size)
        if whole and (len(unpacked) != size or unpacking.decompress(unpacking.unconsumed_tail, 1)):
            raise ValueError("not as long as its first line says")
    except zlib.error as error:
        raise ValueError(f"not compressed by zlib: {error}") from error
    return unpacked
