"""The interface of a tokenizer: from a text to token types."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hashbench.portable.base import PortablePart
from hashbench.text.types import Interner


class Tokenizer(ABC):
    """From texts to tokens. Special tokens never arise from a text, whatever it spells."""

    kind: str  # the name that a model gives
    makes_words = False  # whether its tokens are meant to be words of a text, whatever the language
    unknown: str | None = None  # the token of a word that it cannot spell; None: it spells all

    def recipe(self) -> dict[str, object]:
        """What makes this tokenizer, as plain values without a path: part of a run's identity."""
        return {"kind": self.kind}

    @abstractmethod
    def tokenize(self, text: str) -> list[str]:
        """The tokens of one text."""

    @abstractmethod
    def interner(self) -> Interner:
        """A fresh counter of types for many texts."""

    def portable(self) -> PortablePart | None:
        """How a device tokenizes without hashbench; None where it needs a library for that."""
        return None

    def save(self, folder: Path) -> None:  # noqa: B027  # most have nothing to write
        """Writes what it needs besides its arguments into a folder, which need not be there."""

    @classmethod
    def saved(cls, folder: Path, arguments: Mapping[str, Any]) -> Tokenizer:
        """The tokenizer with these arguments that `save` wrote into a folder."""
        return cls(**arguments)
