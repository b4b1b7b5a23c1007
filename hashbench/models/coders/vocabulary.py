"""Codes of a vocabulary: the row of each known type, <unk> for every other."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from hashbench.models.coders.base import FIRST_ROW, UNKNOWN_ROW, Coder
from hashbench.models.text.base import PortablePart
from hashbench.models.text.types import TypeTable
from hashbench.models.text.unicode import pack, split


class Vocabulary(Coder):
    """Row 5 + index of a piece, in the vocabulary's order; row 3 (<unk>) for a type that is not in it."""

    name = "vocabulary"
    width = 1
    dtype = np.int64
    needs_fit = True
    unknown_row = UNKNOWN_ROW

    def __init__(self) -> None:
        self._blob: np.ndarray | None = None
        self._offsets = np.zeros(1, dtype=np.int64)
        self._rows: dict[bytes, int] = {}

    @property
    def num_rows(self) -> int:
        """Rows of a table for this vocabulary, special tokens included."""
        return FIRST_ROW + len(self._rows)

    def strings(self) -> list[str]:
        """The pieces in the order of their rows, the first of which is row 5."""
        return [string.decode() for string in self._rows]

    def fit(self, types: TypeTable) -> None:
        """Takes every type of the table as the vocabulary, in its order."""
        self._take(np.asarray(types.blob), np.asarray(types.offsets))

    def fit_pieces(self, pieces: Sequence[str]) -> bool:
        """Takes the pieces of a tokenizer as the vocabulary, in its order; returns False where it has none."""
        if pieces:
            self._take(*pack(pieces))
        return bool(pieces)

    def portable(self) -> PortablePart:
        """The step for a device without hashbench, with the vocabulary in the order of its rows as a file."""
        listed = json.dumps(self.strings(), ensure_ascii=False).encode()
        values = {"first_row": FIRST_ROW, "unknown_row": UNKNOWN_ROW}
        return PortablePart("tokens", "vocabulary", values, {"rows.json": listed}, needs=("letters",))

    def encode_utf8(self, blob: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Packed strings -> rows (n, 1) int64."""
        if self._blob is None:
            raise RuntimeError("coder vocabulary: not fitted; call fit, fit_pieces or restore first")
        rows = [self._rows[string] if string in self._rows else UNKNOWN_ROW for string in split(blob, offsets)]
        return np.array(rows, dtype=np.int64).reshape(-1, 1)

    def state(self) -> dict[str, np.ndarray]:
        """The vocabulary as packed strings."""
        if self._blob is None:
            return {}
        return {"blob": self._blob, "offsets": self._offsets}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Restores the vocabulary that `state` returned."""
        self._take(state["blob"], state["offsets"])

    def _take(self, blob: np.ndarray, offsets: np.ndarray) -> None:
        self._blob, self._offsets = blob, offsets
        self._rows = {string: FIRST_ROW + i for i, string in enumerate(split(blob, offsets))}
