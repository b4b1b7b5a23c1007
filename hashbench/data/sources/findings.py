"""What is odd in the texts of data, counted: missing texts, rows that stand twice, texts of train in test sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from hashbench.data.sources.files import Cells

SHOWN = 5  # names of labels in a note


class LabelledTexts(Protocol):
    """Texts with labels."""

    @property
    def texts(self) -> tuple[list[str], ...]: ...
    @property
    def labels(self) -> np.ndarray: ...


def missing_texts(cells: Mapping[str, Mapping[str, Cells]], columns: Sequence[str]) -> list[str]:
    """A note for each split on the rows of which a text is missing or empty; CSV has no other way to leave one out.

    >>> missing_texts({"train": {"text": ["a", None, " "]}}, ["text"])
    ['missing texts: 2 rows of train']
    """
    counts = {
        split: sum(
            any(cell is None or not str(cell).strip() for cell in row)
            for row in zip(*(table[name] for name in columns), strict=True)
        )
        for split, table in cells.items()
    }
    found = [f"{_rows(n)} of {split}" for split, n in counts.items() if n]
    return [f"missing texts: {', '.join(found)}"] if found else []


def repeated_rows(splits: Mapping[str, LabelledTexts]) -> list[str]:
    """Notes on rows that repeat a text and label of their split, and on those of other splits with a text of train."""
    rows = {name: list(zip(*split.texts, strict=True)) for name, split in splits.items()}
    twice = {
        name: len(texts) - len(set(zip(texts, splits[name].labels.tolist(), strict=True)))
        for name, texts in rows.items()
    }
    trained = set(rows["train"])
    seen = {name: sum(text in trained for text in texts) for name, texts in rows.items() if name != "train"}
    again = [f"{_rows(n)} of {name}" for name, n in twice.items() if n]
    known = [f"{_rows(n)} of {name}" for name, n in seen.items() if n]
    notes = [f"repeated: {', '.join(again)}"] if again else []
    return notes + ([f"texts also in train: {', '.join(known)}"] if known else [])


def unseen_note(unit: str, label: str, split: str, ids: Sequence[int] | np.ndarray, names: Sequence[str]) -> str:
    """A note on labels of a split that train never has (one id for each place), with their names.

    >>> unseen_note("row", "label", "test", [2, 2], ["no", "yes", "maybe"])
    "2 rows of test have a label that train never has: 'maybe'"
    """
    shown = [repr(names[number]) for number in sorted(set(map(int, ids)))]
    listed = ", ".join(shown[:SHOWN]) + (f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else "")
    have = f"{unit} of {split} has" if len(ids) == 1 else f"{unit}s of {split} have"
    return f"{len(ids):,} {have} a {label} that train never has: {listed}"


def _rows(n: int) -> str:
    return f"{n:,} row{'' if n == 1 else 's'}"
