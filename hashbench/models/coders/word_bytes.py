"""The bytes of a word as ids of characters: what CharacterBERT reads (El Boukkouri et al., COLING 2020)."""

from __future__ import annotations

import numpy as np

from hashbench.models.coders.base import PortableCoder
from hashbench.models.text.base import PortablePart

LENGTH = 50  # ids of a word, its frame included
# Of a word; ids are bytes, and each is raised by 1, so that 0 is padding.
BEGIN, END = 258, 259
ROWS = 263  # of the table


class WordBytes(PortableCoder):
    """A coder of words as the ids of their bytes between a begin and an end id, filled up with 0: (n, 50) int16."""

    name = "word-bytes"
    width = LENGTH
    dtype = np.int16

    def portable(self) -> PortablePart:
        """The step for a device without hashbench: its values are the length and the ids of begin and end."""
        values = {"length": LENGTH, "begin": BEGIN, "end": END}
        return PortablePart("word_bytes", "word_bytes", values, needs=("hashing",))
