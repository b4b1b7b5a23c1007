"""The 64-bit number of a type, for embeddings that hash it themselves."""

from __future__ import annotations

import numpy as np

from hashbench.models.coders.base import Coder
from hashbench.models.coders.keys import string_keys
from hashbench.models.text.base import PortablePart


class WordKeys(Coder):
    """Codes (n, 1) int64: the bits of `keys.string_keys`, read as a signed number."""

    name = "word-keys"
    width = 1
    dtype = np.int64

    def portable(self) -> PortablePart:
        """Nothing but MD5."""
        return PortablePart("word_bytes", "word_keys", {}, needs=("hashing",))

    def encode_utf8(self, blob: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Packed strings -> codes (n, 1) int64."""
        return string_keys(blob, offsets).view(np.int64)[:, None]
