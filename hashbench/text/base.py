"""The interface of a tokenizer: from a text to token types."""

from __future__ import annotations

from abc import ABC, abstractmethod

from hashbench.text.types import Interner


class Tokenizer(ABC):
    """From texts to tokens. Special tokens never arise from a text, whatever it spells."""

    kind: str  # the name that a model gives

    def recipe(self) -> dict[str, object]:
        """What makes this tokenizer, as plain values without a path: part of a run's identity."""
        return {"kind": self.kind}

    @abstractmethod
    def tokenize(self, text: str) -> list[str]:
        """The tokens of one text."""

    @abstractmethod
    def interner(self) -> Interner:
        """A fresh counter of types for many texts."""
