"""Items: a text that is one token whole, as the name of a page is."""

from __future__ import annotations

from hashbench.models.text.base import Tokenizer
from hashbench.models.text.types import DictInterner, Interner
from hashbench.models.text.unicode import well_formed


class ItemTokenizer(Tokenizer):
    """One token a text, exactly as it stands; an empty text has none."""

    kind = "items"

    def tokenize(self, text: str) -> list[str]:
        """The text itself."""
        return [well_formed(text)] if text else []

    def interner(self) -> Interner:
        """A counter of items."""
        return DictInterner(self.tokenize)
