"""Tokenizers without words: every character is a token, every byte of UTF-8, or the whole text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hashbench.models.text.base import PortablePart, Tokenizer
from hashbench.models.text.types import DictInterner, Interner, NumberedInterner, TokenizedTexts
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

    def interner(self) -> Interner:
        """A counter of characters, whose provisional ids are code points."""
        return NumberedInterner(CODE_POINTS, code_points, chr)


def code_points(texts: Sequence[str]) -> TokenizedTexts:
    """Texts as their code points."""
    try:
        joined = "".join(texts).encode("utf-32-le")
    # An unpaired surrogate somewhere; pairs across two texts must not join either.
    except UnicodeEncodeError:
        texts = [well_formed(text) for text in texts]
        joined = "".join(texts).encode("utf-32-le")
    ids = np.frombuffer(joined, dtype="<u4").astype(np.int32)  # (total,)
    return TokenizedTexts(ids, offsets_from(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))))


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

    def interner(self) -> Interner:
        """A counter of bytes."""
        return NumberedInterner(BYTES, text_bytes, chr)


def text_bytes(texts: Sequence[str]) -> TokenizedTexts:
    """Texts as the bytes of their UTF-8."""
    parts = [well_formed(text).encode() for text in texts]
    ids = np.frombuffer(b"".join(parts), dtype=np.uint8).astype(np.int32)  # (total,)
    return TokenizedTexts(ids, offsets_from(np.fromiter(map(len, parts), dtype=np.int64, count=len(parts))))


class ItemTokenizer(Tokenizer):
    """A tokenizer that makes the whole text one token; an empty text has none."""

    kind = "items"

    def tokenize(self, text: str) -> list[str]:
        """A list of the text itself; an empty one for an empty text."""
        return [well_formed(text)] if text else []

    def interner(self) -> Interner:
        """A counter of items."""
        return DictInterner(self.tokenize)
