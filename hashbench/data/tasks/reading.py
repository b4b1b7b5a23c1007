"""How much of a task's texts a model reads: tokens, texts cut and characters lost under a tokenizer and a limit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hashbench.common.texts_read import TextCounts, TextsRead
from hashbench.data.sources.batching import kept_tokens
from hashbench.data.sources.fingerprints import marked_cache_folder
from hashbench.data.sources.mapped import taken
from hashbench.data.tasks.encoding import encode_task
from hashbench.data.tasks.text_data import TaskData
from hashbench.models.embeddings.base import Template
from hashbench.models.text.base import Tokenizer
from hashbench.models.text.unicode import well_formed

AT_ONCE = 10_000  # cut texts whose tokens are looked for at a time; bounds the memory of a library's answers
SHORTEST = 8  # tokens of an input, as in a recipe


def texts_read(
    data: TaskData, tokenizer: Tokenizer, template: Template, max_length: int, folder: Path | None = None
) -> TextsRead:
    """The counts of every split, where an input has at most `max_length` tokens, special ones included.

    `folder` keeps the encoded task (None: the cache folder), which a training makes and reads too.
    """
    lengths = _Lengths(data, tokenizer, folder)
    return TextsRead(max_length, {split: lengths.counts(split, template, max_length) for split in data.splits})


def length_that_keeps(
    data: TaskData, tokenizer: Tokenizer, template: Template, *, keep: float, at_most: int, folder: Path | None = None
) -> int:
    """The least limit on the tokens of an input with which a share `keep` of the tokens of train is read.

    `at_most` where that share needs more.
    """
    lengths = _Lengths(data, tokenizer, folder).of_texts("train")
    wanted = keep * sum(int(column.sum()) for column in lengths)

    def suffices(max_length: int) -> bool:
        return sum(int(kept.sum()) for kept in kept_tokens(lengths, template, max_length)) >= wanted

    low, high = min(SHORTEST, at_most), at_most
    while low < high:  # more tokens never keep less
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle + 1, high)
    return low


class _Lengths:
    """The lengths of the texts of a task in tokens of a tokenizer, part by part."""

    def __init__(self, data: TaskData, tokenizer: Tokenizer, folder: Path | None) -> None:
        self._data, self._tokenizer = data, tokenizer
        self._parts, self._offsets = data.task.kind.tokenized_parts(data)
        self._encoded = encode_task(self._parts, tokenizer, (folder or marked_cache_folder()) / "tasks")

    def of_texts(self, split: str) -> list[np.ndarray]:
        """Tokens of each text (n,) of each column."""
        return [np.diff(column.offsets[self._offsets[split]]) for column in self._encoded.splits[split]]

    def counts(self, split: str, template: Template, max_length: int) -> TextCounts:
        """The counts of a split."""
        lengths = self.of_texts(split)
        kept = kept_tokens(lengths, template, max_length)
        texts = self._data.splits[split].texts
        lost = [np.flatnonzero(before > after) for before, after in zip(lengths, kept, strict=True)]
        return TextCounts(
            texts=sum(map(len, lengths)),
            texts_cut=sum(map(len, lost)),
            tokens=sum(int(column.sum()) for column in lengths),
            tokens_lost=sum(int((before - after).sum()) for before, after in zip(lengths, kept, strict=True)),
            characters=sum(len(well_formed(text)) for column in texts for text in column),
            characters_lost=sum(
                self._lost(split, column, rows, kept[column][rows], list(map(well_formed, taken(texts[column], rows))))
                for column, cut in enumerate(lost)
                for rows in np.split(cut, range(AT_ONCE, len(cut), AT_ONCE))
            ),
        )

    def _lost(self, split: str, column: int, rows: np.ndarray, kept: np.ndarray, texts: Sequence[str]) -> int:
        """Characters of the cut texts `rows` (k,) of a column that lie behind their first `kept` (k,) tokens."""
        first = self._encoded.splits[split][column].offsets  # (parts + 1,): the tokens before each part
        starts = self._offsets[split][rows]
        # The part in which the last kept token lies: all before it are kept whole
        last = np.searchsorted(first, first[starts] + kept, side="left") - 1
        last = np.maximum(last, starts)
        inside = first[starts] + kept - first[last]
        parts = self._parts.splits[split].texts[column]
        ends = self._tokenizer.reach([well_formed(parts[part]) for part in last], inside.tolist())
        before = [sum(map(len, parts[start:part])) for start, part in zip(starts, last, strict=True)]
        return sum(len(text) - behind - end for text, behind, end in zip(texts, before, ends, strict=True))
