"""The interface of a coder: from type strings to codes; the coders by name, and codes that are computed once.

Codes of a type table are kept on disk, codes of types as they come in memory. At the end, how well codes keep types
apart: types that share a code, and words beside their misspellings.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock

import numpy as np

from hashbench.common.errors import InputError
from hashbench.common.registry import class_of, make, registered
from hashbench.common.shared import make_once
from hashbench.models.portable.assembling import BothWays
from hashbench.models.text.base import PortablePart
from hashbench.models.text.compiled import in_threads, slices
from hashbench.models.text.types import TypeTable
from hashbench.models.text.unicode import pack, split

# Rows of special tokens, before the hashed ones in a table.
FIRST_ROW = 5
UNKNOWN_ROW = 3  # the row of <unk>
TYPES_AT_ONCE = 4096  # types whose codes are lists of Python at a time


class Coder(ABC):
    """A deterministic, parameter-free hash of a type. A code depends on the string and the fitted state alone."""

    name: str  # what a model calls it
    width: int  # c, columns of a code
    dtype: type[np.generic]
    needs_fit = False  # whether `fit` or `restore` must come before `encode`
    bits: int | None = None  # T of a coder whose codes are packed bits
    # The code of a type that it was not fitted on, where that is one row for all.
    unknown_row: int | None = None
    # The only kind of tokenizer that this coder works with; None: all.
    reads: str | None = None

    @property
    def num_rows(self) -> int | None:
        """Rows that a table needs after fitting, special tokens included; None where the arguments decide them."""
        return None

    def strings(self) -> list[str] | None:
        """The string of each row behind the special tokens; None where rows do not belong to single strings."""
        return None

    def fit(self, types: TypeTable) -> None:  # noqa: B027  # most coders have nothing to fit
        """Learns the state that the hash needs from the types of a corpus (a dictionary of n-grams, a vocabulary)."""

    def fit_pieces(self, pieces: Sequence[str]) -> bool:
        """Learns the pieces of a tokenizer, in its order, in place of `fit`; False where it learns from types alone."""
        return False

    @abstractmethod
    def encode_utf8(self, blob: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Packed strings (bytes, offsets (n + 1,)) -> codes (n, c). Must be safe to call from several threads."""

    def comparable(self, codes: np.ndarray) -> np.ndarray:
        """Codes (n, c) as vectors (n, m) whose cosine says how near they are.

        Coders that pack several numbers into one override it.
        """
        return codes

    def recipe(self) -> dict[str, object]:
        """Name and arguments as plain values, read from the attributes named as the constructor's parameters."""
        return {"name": self.name} | {key: getattr(self, key) for key in inspect.signature(type(self)).parameters}

    def encode(self, strings: Sequence[str]) -> np.ndarray:
        """Strings -> codes (n, c)."""
        return self.encode_utf8(*pack(strings))

    def encode_few(self, strings: Sequence[str]) -> np.ndarray:
        """The codes (n, c) of a handful of strings, equal to `encode`'s but made without waiting for numba.

        It takes the coder's `portable` part, where there is one.
        """
        part = self.portable()
        if part is None:
            return self.encode(strings)
        code_of = part.step()
        if isinstance(code_of, BothWays) and strings:
            codes = code_of.of_many(np, strings)
        else:
            codes = [list(code_of(string)) for string in strings]
        if self.bits is not None:  # there a byte a bit
            return np.packbits(np.array(codes, dtype=np.uint8).reshape(-1, self.bits), axis=1)
        return np.array(codes, dtype=self.dtype).reshape(-1, self.width)

    def encode_types(self, types: TypeTable) -> np.ndarray:
        """Codes (n, c) of a whole table, on all cores."""
        codes = np.empty((len(types), self.width), dtype=self.dtype)

        def part(start: int, stop: int) -> None:
            codes[start:stop] = self.encode_utf8(types.blob, types.offsets[start : stop + 1])

        in_threads(part, slices(len(types)))
        return codes

    def state(self) -> dict[str, np.ndarray]:
        """The state that `fit` learned, as arrays by name, of any shape (n, ...)."""
        return {}

    def restore(self, state: dict[str, np.ndarray]) -> None:  # noqa: B027
        """Restores the fitted state from the arrays that `state` returned."""

    def fingerprint(self) -> str:
        """SHA-256 (hex) of recipe and state: equal fingerprints mean equal codes."""
        digest = hashlib.sha256(json.dumps(self.recipe(), sort_keys=True).encode())
        for key, array in sorted(self.state().items()):
            little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
            digest.update(f"{key} {little.dtype} {little.shape}".encode())
            digest.update(little.tobytes())
        return digest.hexdigest()

    def portable(self) -> PortablePart | None:
        """The code and values with which a device makes the same codes without hashbench; None where it cannot."""
        return None


class PortableCoder(Coder):
    """A coder whose codes its `portable` step makes everywhere, since that is fast enough for any corpus."""

    @abstractmethod
    def portable(self) -> PortablePart:
        """The step that makes the code of a type."""

    def encode_utf8(self, blob: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Packed strings -> codes (n, c)."""
        codes = np.empty((len(offsets) - 1, self.width), dtype=self.dtype)
        for first in range(0, len(codes), TYPES_AT_ONCE):
            strings = split(blob, offsets[first : first + TYPES_AT_ONCE + 1])
            codes[first : first + TYPES_AT_ONCE] = self.encode_few([string.decode() for string in strings])
        return codes


def checked_count(coder: str, argument: str, value: int, least: int = 1, most: int = 2**31 - 1) -> int:
    """`value`, if it is a whole number in [least, most]. Raises InputError otherwise."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InputError(f"coder {coder}: {argument} {value!r} is no whole number from {least} to {most}; correct it")
    return value


def checked_signs(coder: str, signs: int, num_buckets: int, dtype: type[np.generic]) -> int:
    """`signs`, the number of sign vectors of `embeddings.rows.HashedRows`, 0 for none, if codes have room for them.

    A code is row + num_buckets sign. In int32 it must stay below 2^31. In int64 there is always room, and the bound of
    2^20 vectors, chosen here, keeps their table in memory.
    """
    most = (2**31 - 1) // num_buckets if dtype is np.int32 else 2**20
    return checked_count(coder, "signs", signs, least=0, most=most)


def checked_switch(coder: str, argument: str, value: bool) -> bool:
    """`value`, if it is true or false. Raises InputError otherwise."""
    if not isinstance(value, bool):
        raise InputError(f"coder {coder}: {argument} {value!r}; give true or false")
    return value


def coders() -> Mapping[str, type[Coder]]:
    """All coders by name. Raises InputError where two have one name."""
    return registered("coder")


def find_coder(name: str) -> type[Coder] | None:
    """The coder class of a name, also of one in an imported user-defined file; None where there is none."""
    return class_of("coder", name)


def make_coder(name: str, **arguments: object) -> Coder:
    """A new coder by name, registered or from an imported user-defined file (`registry.own_name`).

    >>> coder = make_coder("md5-bits")
    >>> coder.encode(["play"])[0].tobytes().hex()
    '95ea122b0b72902c5a95d7ba740ff838'

    Raises:
        InputError: unknown name or argument, or a value that the coder refuses.
    """
    coder: Coder = make("coder", name, arguments)
    return coder


def type_codes(coder: Coder, types: TypeTable, folder: Path) -> np.ndarray:
    """Codes (n, c) of a table, memory-mapped read-only.

    Several processes may ask at once: one computes, the others wait. A damaged file is computed again.
    """
    path = folder / f"codes-{coder.name}-{coder.fingerprint()[:16]}-{types.fingerprint[:16]}.npy"

    def build(part: Path) -> None:
        with part.open("wb") as file:
            np.save(file, coder.encode_types(types))

    return np.load(make_once(path, build), mmap_mode="r")


FIRST_ROWS = 256  # for which there is room at first; the room doubles


class RememberedCodes(Coder):
    """A coder that looks up what it has computed before."""

    def __init__(self, coder: Coder) -> None:
        self.name, self.width, self.dtype, self.bits = coder.name, coder.width, coder.dtype, coder.bits
        self._coder = coder
        self._rows: dict[str, int] = {}  # type -> its row in _codes
        self._codes = np.empty((FIRST_ROWS, coder.width), dtype=coder.dtype)
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._rows)

    def recipe(self) -> dict[str, object]:
        """The recipe of the wrapped coder."""
        return self._coder.recipe()

    def state(self) -> dict[str, np.ndarray]:
        """The state of the wrapped coder."""
        return self._coder.state()

    def portable(self) -> PortablePart | None:
        """The step of the wrapped coder for a device without hashbench."""
        return self._coder.portable()

    def encode_utf8(self, blob: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Packed strings -> codes (n, c)."""
        return self.encode([string.decode() for string in split(blob, offsets)])

    def encode(self, strings: Sequence[str]) -> np.ndarray:
        """Strings -> codes (n, c); nothing is computed where all are in memory."""
        try:
            rows = [self._rows[string] for string in strings]
        except KeyError:
            return self._learn(strings)
        # Behind the rows: another thread may put a larger array in the place of this one, which has no later rows.
        return self._codes.take(rows, axis=0) if rows else self._codes[:0].copy()

    def _learn(self, strings: Sequence[str]) -> np.ndarray:
        """Codes (n, c) of strings; new strings are computed in one call."""
        with self._lock:
            new = [string for string in dict.fromkeys(strings) if string not in self._rows]
            first = len(self)
            self._make_room(first + len(new))
            self._codes[first : first + len(new)] = self._coder.encode(new)
            self._rows.update({string: first + i for i, string in enumerate(new)})
            return self._codes.take([self._rows[string] for string in strings], axis=0)

    def _make_room(self, rows: int) -> None:
        if rows > len(self._codes):
            larger = np.empty((max(2 * len(self._codes), rows), self.width), dtype=self.dtype)
            larger[: len(self)] = self._codes[: len(self)]
            self._codes = larger


def types_per_bucket(codes: np.ndarray) -> float | None:
    """Types per bucket that is in use, the mean over the columns of codes (n, c); None without types.

    Row numbers (int64) are buckets by column; of bits, sums and floats the whole code is the bucket.

    >>> types_per_bucket(np.array([[3], [3], [8]]))
    1.5
    """
    if not len(codes):
        return None
    columns = [codes[:, [j]] for j in range(codes.shape[1])] if codes.dtype == np.int64 else [codes]
    return float(np.mean([len(codes) / (_groups(column).max() + 1) for column in columns]))


def shared_tokens(codes: np.ndarray, counts: np.ndarray) -> float | None:
    """Share of the tokens, by the counts (n,) of their types, whose whole code (n, c) another type has too.

    >>> shared_tokens(np.array([[3], [3], [8]]), np.array([1, 1, 2]))
    0.5
    """
    if not len(codes):
        return None
    groups = _groups(codes)
    shared = np.bincount(groups)[groups] > 1  # (n,)
    return float(counts[shared].sum() / counts.sum())


def agreement(coder: Coder, first: np.ndarray, second: np.ndarray) -> float | None:
    """Mean agreement of codes (n, c) pair by pair: the share of equal bits or row numbers, or the cosine.

    The cosine is taken of features, sums and floats. None without pairs."""
    if not len(first):
        return None
    if coder.bits is not None:
        return float(1 - np.unpackbits(first ^ second, axis=1).mean())
    if first.dtype == np.int64:
        return float((first == second).mean())
    first_floats, other = (coder.comparable(codes).astype(np.float64) for codes in (first, second))
    norms = np.linalg.norm(first_floats, axis=1) * np.linalg.norm(other, axis=1)  # (n,)
    products = (first_floats * other).sum(axis=1)
    return float(np.divide(products, norms, out=np.zeros(len(first_floats)), where=norms > 0).mean())


def _groups(codes: np.ndarray) -> np.ndarray:
    """For each row of codes (n, c) the number of its group of equal rows, (n,), counted from 0."""
    rows = np.ascontiguousarray(codes)
    whole = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    groups: np.ndarray = np.unique(whole, return_inverse=True)[1]
    return groups.ravel()
