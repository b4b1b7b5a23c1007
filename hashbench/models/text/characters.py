"""Tokenizers without words: every character is a token, every byte of UTF-8, or the whole text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hashbench.models.text.base import PortablePart, Tokenizer
from hashbench.models.text.types import DictInterner, Distinct, Interner, TokenizedTexts, distinct_of
from hashbench.models.text.unicode import CODE_POINTS, offsets_from, well_formed


class CharacterTokenizer(Tokenizer):
    """A tokenizer to the characters of a text as it is: nothing is lower-cased, normalised or left out."""

    kind = "characters"

    def tokenize(self, text: str) -> list[str]:
        """The characters of one text."""
        return list(well_formed(text))

    def portable(self) -> PortablePart:
        """The step for a device without hashbench, which needs no values."""
        return PortablePart("tokens", "characters", {}, needs=("letters",))

    def reach(self, texts: Sequence[str], kept: Sequence[int]) -> list[int]:
        """The number of characters of each text in its first `kept` tokens."""
        return list(map(int, kept))

    def interner(self) -> CharacterInterner:
        """A counter of characters."""
        return CharacterInterner()


class CharacterInterner(Interner):
    """Counts characters; a provisional id is the code point, so that nothing is looked up."""

    def __init__(self) -> None:
        self._counts = np.zeros(CODE_POINTS, dtype=np.int64)

    def add(self, texts: Sequence[str]) -> TokenizedTexts:
        """Texts -> provisional ids, which are code points."""
        try:
            joined = "".join(texts).encode("utf-32-le")
        # An unpaired surrogate somewhere; pairs across two texts must not join either.
        except UnicodeEncodeError:
            texts = [well_formed(text) for text in texts]
            joined = "".join(texts).encode("utf-32-le")
        ids = np.frombuffer(joined, dtype="<u4").astype(np.int32)  # (total,)
        offsets = offsets_from(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)))
        occurrences = np.bincount(ids)
        self._counts[: len(occurrences)] += occurrences
        return TokenizedTexts(ids, offsets)

    def distinct(self) -> tuple[Distinct, np.ndarray]:
        """-> (the characters that occur, each code point's index among them (n,) int32, -1 for the others)."""
        return distinct_of(self._counts, chr)


BYTES = 256
CONTINUATION = bytes(range(0x80, 0xC0))  # bytes of UTF-8 that begin no character


class ByteTokenizer(Tokenizer):
    """A tokenizer to the bytes of a text as it is; the type of byte b is the character U+00b.

    >>> ByteTokenizer().tokenize("né")
    ['n', 'Ã', '©']
    """

    kind = "bytes"

    def tokenize(self, text: str) -> list[str]:
        """The bytes of one text."""
        return list(well_formed(text).encode().decode("latin-1"))

    def portable(self) -> PortablePart:
        """The step for a device without hashbench, which needs no values."""
        return PortablePart("tokens", "text_bytes", {}, needs=("letters",))

    def reach(self, texts: Sequence[str], kept: Sequence[int]) -> list[int]:
        """The number of characters of each text that begin in its first `kept` bytes."""
        return [len(text.encode()[:n].translate(None, CONTINUATION)) for text, n in zip(texts, kept, strict=True)]

    def interner(self) -> ByteInterner:
        """A counter of bytes."""
        return ByteInterner()


class ByteInterner(Interner):
    """Counts bytes; a provisional id is the byte, so that nothing is looked up."""

    def __init__(self) -> None:
        self._counts = np.zeros(BYTES, dtype=np.int64)

    def add(self, texts: Sequence[str]) -> TokenizedTexts:
        """Texts -> provisional ids, which are bytes."""
        parts = [well_formed(text).encode() for text in texts]
        ids = np.frombuffer(b"".join(parts), dtype=np.uint8).astype(np.int32)  # (total,)
        self._counts += np.bincount(ids, minlength=BYTES)
        return TokenizedTexts(ids, offsets_from(np.fromiter(map(len, parts), dtype=np.int64, count=len(parts))))

    def distinct(self) -> tuple[Distinct, np.ndarray]:
        """-> (the bytes that occur, each byte's index among them (256,) int32, -1 for the others)."""
        return distinct_of(self._counts, chr)


class ItemTokenizer(Tokenizer):
    """A tokenizer that makes the whole text one token; an empty text has none."""

    kind = "items"

    def tokenize(self, text: str) -> list[str]:
        """A list of the text itself; an empty one for an empty text."""
        return [well_formed(text)] if text else []

    def interner(self) -> Interner:
        """A counter of items."""
        return DictInterner(self.tokenize)
