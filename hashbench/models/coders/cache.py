"""Codes that are computed once: of a type table on disk, and of types as they come in memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Lock

import numpy as np

from hashbench.common.shared import make_once
from hashbench.models.coders.base import Coder
from hashbench.models.text.base import PortablePart
from hashbench.models.text.types import TypeTable
from hashbench.models.text.unicode import split


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
        """Codes (n, c) of strings of which some are new; the new ones are computed in one call."""
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
