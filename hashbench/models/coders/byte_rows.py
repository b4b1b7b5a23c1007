"""Rows of bytes: the code of a type of the tokenizer `bytes`."""

from __future__ import annotations

import numpy as np

from hashbench.models.coders.base import FIRST_ROW, UNKNOWN_ROW, Coder
from hashbench.models.text.base import PortablePart
from hashbench.models.text.unicode import split
from hashbench.models.text.utf8 import BYTES


class ByteRows(Coder):
    """Row 5 + b of byte b; row 3 (<unk>) for any other string, which no text gives."""

    name = "byte-rows"
    width = 1
    dtype = np.int64
    reads = "bytes"

    def portable(self) -> PortablePart:
        """The rows before those of bytes."""
        values = {"first_row": FIRST_ROW, "unknown_row": UNKNOWN_ROW}
        return PortablePart("tokens", "byte_rows", values, needs=("letters",))

    def encode_utf8(self, blob: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Packed strings -> rows (n, 1) int64."""
        strings = [string.decode() for string in split(blob, offsets)]
        found = [FIRST_ROW + ord(each) if len(each) == 1 and ord(each) < BYTES else UNKNOWN_ROW for each in strings]
        return np.array(found, dtype=np.int64).reshape(-1, 1)
