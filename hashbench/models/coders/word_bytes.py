"""The bytes of a word as ids of characters: what CharacterBERT reads (El Boukkouri et al., COLING 2020)."""

from __future__ import annotations

import numpy as np

from hashbench.models.coders.base import Coder
from hashbench.models.text.base import PortablePart
from hashbench.models.text.compiled import compiled

LENGTH = 50  # ids of a word, its frame included
# Of a word; ids are bytes, and each is raised by 1, so that 0 is padding.
BEGIN, END = 258, 259
ROWS = 263  # of the table


@compiled
def framed_bytes(blob: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Packed strings -> ids (n, 50) int16: begin, bytes, end, each + 1, then 0; of a long word the first bytes."""
    n = len(offsets) - 1
    ids = np.zeros((n, LENGTH), dtype=np.int16)
    for t in range(n):
        size = min(offsets[t + 1] - offsets[t], LENGTH - 2)
        ids[t, 0] = BEGIN + 1
        for i in range(size):
            ids[t, i + 1] = np.int16(blob[offsets[t] + i]) + 1
        ids[t, size + 1] = END + 1
    return ids


class WordBytes(Coder):
    """A coder of words as the ids of their bytes between a begin and an end id, filled up with 0: (n, 50) int16."""

    name = "word-bytes"
    width = LENGTH
    dtype = np.int16

    def portable(self) -> PortablePart:
        """The step for a device without hashbench: its values are the length and the ids of begin and end."""
        values = {"length": LENGTH, "begin": BEGIN, "end": END}
        return PortablePart("word_bytes", "word_bytes", values, needs=("hashing",))

    def encode_utf8(self, blob: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Packed strings -> ids (n, 50)."""
        return framed_bytes(blob, np.asarray(offsets, dtype=np.int64))
