"""Counts of how much of its texts a model reads: a limit on tokens cuts long ones, and tokenizers differ in tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

NOTE = "texts_read"  # the topic under which a training stores its counts
NOTED = 0.02  # a share of characters lost above which tables have a sign; a difference of shares that is printed


@dataclass(frozen=True)
class TextCounts:
    """Counts over the texts of one split, both texts of a pair. Special tokens do not count.

    The characters of a cut text that lie behind its last kept token are lost. A character that is kept in part (some
    of its bytes) is kept, and so is all that a tokenizer passes over between kept tokens, such as white space.
    """

    texts: int
    texts_cut: int
    tokens: int
    tokens_lost: int
    characters: int
    characters_lost: int

    @property
    def tokens_a_text(self) -> float:
        """The mean number of tokens of a text, those that are lost included."""
        return self.tokens / max(1, self.texts)

    @property
    def share_cut(self) -> float:
        """The share of texts that lose a token at least."""
        return self.texts_cut / max(1, self.texts)

    @property
    def share_of_tokens_lost(self) -> float:
        """The share of tokens that no model reads."""
        return self.tokens_lost / max(1, self.tokens)

    @property
    def share_lost(self) -> float:
        """The share of characters that no model reads."""
        return self.characters_lost / max(1, self.characters)


@dataclass(frozen=True)
class TextsRead:
    """The counts of every split under one tokenizer and one limit."""

    max_length: int  # tokens of an input, special tokens included
    splits: Mapping[str, TextCounts]

    def keeps(self, share: float) -> bool:
        """True where that share of the tokens of train is read, or nothing of train is counted."""
        train = self.splits.get("train")
        return train is None or train.tokens - train.tokens_lost >= share * train.tokens

    def record(self) -> dict[str, Any]:
        """The counts as plain JSON, which `of_record` reads."""
        return {"max_length": self.max_length, "splits": {name: asdict(of) for name, of in self.splits.items()}}

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> TextsRead:
        """The counts in a record of `record`."""
        return cls(record["max_length"], {name: TextCounts(**of) for name, of in record["splits"].items()})

    def note(self) -> str:
        """The counts as the text of a run's note."""
        return json.dumps(self.record(), separators=(",", ":"))

    @classmethod
    def of_notes(cls, notes: Mapping[str, str]) -> TextsRead | None:
        """The counts among the notes of a run; None where the run was stored without them."""
        return cls.of_record(json.loads(notes[NOTE])) if NOTE in notes else None
