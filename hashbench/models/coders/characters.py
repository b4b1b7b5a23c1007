"""Codes of types that are one character or one byte: the code point itself, or the row of the byte.

A code point is no bucket number, since how many buckets there are and how large a table is are sizes of the embedding:
one code serves them all, and is an eighth as large.
"""

from __future__ import annotations

import numpy as np

from hashbench.models.coders.base import FIRST_ROW, UNKNOWN_ROW, PortableCoder
from hashbench.models.text.base import PortablePart

NO_CHARACTER = 0xFFFD  # Unicode's replacement character


class CodePoints(PortableCoder):
    """The code point of a type that is one character; U+FFFD for any other string, which no text gives."""

    name = "codepoints"
    width = 1
    dtype = np.int64
    reads = "characters"

    def portable(self) -> PortablePart:
        """The step for a device without hashbench: its one value is the code of other strings."""
        return PortablePart("tokens", "codepoints", {"other": NO_CHARACTER}, needs=("letters",))


class ByteRows(PortableCoder):
    """Row 5 + b of byte b; row 3 (<unk>) for any other string, which no text gives."""

    name = "byte-rows"
    width = 1
    dtype = np.int64
    reads = "bytes"

    def portable(self) -> PortablePart:
        """The step for a device without hashbench: its values are the first row and the row of other strings."""
        values = {"first_row": FIRST_ROW, "unknown_row": UNKNOWN_ROW}
        return PortablePart("tokens", "byte_rows", values, needs=("letters",))
