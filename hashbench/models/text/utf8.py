"""Bytes: every byte of a text's UTF-8 is a token, white space and case included (Xue et al., ByT5, TACL 2022)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hashbench.models.text.base import PortablePart, Tokenizer
from hashbench.models.text.types import Distinct, Interner, TokenizedTexts, distinct_of
from hashbench.models.text.unicode import offsets_from, well_formed

BYTES = 256


class ByteTokenizer(Tokenizer):
    """Bytes of the text as it is; the type of byte b is the character U+00b.

    >>> ByteTokenizer().tokenize("né")
    ['n', 'Ã', '©']
    """

    kind = "bytes"

    def tokenize(self, text: str) -> list[str]:
        """The bytes of one text."""
        return list(well_formed(text).encode().decode("latin-1"))

    def portable(self) -> PortablePart:
        """Nothing to know."""
        return PortablePart("tokens", "text_bytes", {}, needs=("letters",))

    def interner(self) -> ByteInterner:
        """A counter of bytes."""
        return ByteInterner()


class ByteInterner(Interner):
    """Counts bytes; a provisional id is the byte, so that nothing is looked up."""

    def __init__(self) -> None:
        self._counts = np.zeros(BYTES, dtype=np.int64)

    def add(self, texts: Sequence[str]) -> TokenizedTexts:
        """Texts -> bytes."""
        parts = [well_formed(text).encode() for text in texts]
        ids = np.frombuffer(b"".join(parts), dtype=np.uint8).astype(np.int32)  # (total,)
        self._counts += np.bincount(ids, minlength=BYTES)
        return TokenizedTexts(ids, offsets_from(np.fromiter(map(len, parts), dtype=np.int64, count=len(parts))))

    def distinct(self) -> tuple[Distinct, np.ndarray]:
        """-> (the bytes that occur, places (256,) int32 with -1 for the others)."""
        return distinct_of(self._counts, chr)
