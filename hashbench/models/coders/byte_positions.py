"""Bytes of a word by their positions: the codes of Kronecker embeddings (Shravan 2026, arXiv 2605.29459).

Differs from the released code: a word is hashed without a blank before it.
"""

from __future__ import annotations

import numpy as np

from hashbench.models.coders.base import PortableCoder, checked_count, checked_switch
from hashbench.models.text.base import PortablePart

MOST_POSITIONS = 256  # chosen here: a table of 65,536 rows


class BytePositions(PortableCoder):
    """A coder of words as rows of bytes at positions, row v P + p of byte v at position p, -1 behind: (n, P) int32.

    A longer word keeps its first P bytes, without bytes of a character that is cut. `ends`: a longer word keeps its
    first bytes, P // 2 rounded up, and its last P // 2, of whole characters.
    """

    name = "byte-positions"
    dtype = np.int32

    def __init__(self, positions: int = 16, ends: bool = False) -> None:
        """`positions`: P, the bytes that are kept; 16 in the paper's runs."""
        self.positions = checked_count(self.name, "positions", positions, most=MOST_POSITIONS)
        self.ends = checked_switch(self.name, "ends", ends)
        self.width = self.positions

    def portable(self) -> PortablePart:
        """The step for a device without hashbench: its values are the arguments of this coder."""
        return PortablePart("byte_positions", "byte_positions", self.recipe())
