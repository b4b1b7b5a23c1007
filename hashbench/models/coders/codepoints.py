"""Codes of characters: the code point itself. What hashes it is arithmetic and belongs to the embedding.

The code is not the bucket numbers, since how many there are and how large a table is are sizes of the embedding: one
code serves them all, and is an eighth as large.
"""

from __future__ import annotations

import numpy as np

from hashbench.models.coders.base import Coder
from hashbench.models.text.base import PortablePart
from hashbench.models.text.unicode import split

NO_CHARACTER = 0xFFFD  # Unicode's replacement character


class CodePoints(Coder):
    """The code point of a type that is one character; U+FFFD for any other string, which no text gives."""

    name = "codepoints"
    width = 1
    dtype = np.int64
    reads = "characters"

    def portable(self) -> PortablePart:
        """Nothing to know."""
        return PortablePart("tokens", "codepoints", {"other": NO_CHARACTER}, needs=("letters",))

    def encode_utf8(self, blob: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Packed strings -> code points (n, 1) int64."""
        strings = [string.decode() for string in split(blob, offsets)]
        points = [ord(string) if len(string) == 1 else NO_CHARACTER for string in strings]
        return np.array(points, dtype=np.int64).reshape(-1, 1)
