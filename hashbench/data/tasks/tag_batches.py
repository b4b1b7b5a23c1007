"""Batches of words with tags: the place of each word in its row, which is that of its first token."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from hashbench.data.sources.batching import Collator
from hashbench.data.sources.fingerprints import digest
from hashbench.data.sources.loader import Make
from hashbench.data.tasks.encoding import EncodedTask, encode_task
from hashbench.data.tasks.text import text_kind
from hashbench.data.tasks.text_batches import FinetuningData
from hashbench.data.tasks.text_data import Split, TaskData
from hashbench.models.embeddings.base import Batch, Template
from hashbench.models.text.tags import NO_WORD, words_of
from hashbench.models.text.tokenizers import Tokenizer
from hashbench.models.text.types import TokenizedTexts
from hashbench.models.text.unicode import offsets_from


class TaggingData(FinetuningData):
    """Batches of words. Each word is tokenized by itself, with the space before it, so that every token is of one word.

    A row's tokens are those of its words in turn. The place of a word is its first token that is not white space.
    """

    def encoded(self, tokenizer: Tokenizer, folder: Path) -> EncodedTask:
        """The rows as type ids; remembers where each word stands."""
        words = encode_task(by_word(self.data), tokenizer, folder)
        blank = np.array([string.isspace() for string in words.types.strings()], bool)  # (types,)
        rows: dict[str, tuple[TokenizedTexts, ...]] = {}
        self.word_offsets: dict[str, np.ndarray] = {}  # (n + 1,): the words of each row
        self.word_places: dict[str, np.ndarray] = {}  # (w,): where each stands among the tokens of its row
        for split, part in self.data.splits.items():
            tokens = words.splits[split][0]
            self.word_offsets[split] = offsets_from([len(tags) for tags in part.labels])
            rows[split] = (TokenizedTexts(tokens.ids, tokens.offsets[self.word_offsets[split]]),)
            self.word_places[split] = first_tokens(tokens, self.word_offsets[split], blank)
        return EncodedTask(words.types, rows, words.folder)

    def targets(self, split: str) -> np.ndarray:
        """Spans (n,) of each row of a split."""
        return text_kind(self.data.task).targets(self.data.task, self.data.splits[split])

    def _maker(self, split: str) -> Make:
        collate, source, part = Collator(self.codes, self.template), self.rows[split], self.data.splits[split]
        starts = self.word_offsets[split]
        lead = leading_specials(self.template)

        def make(rows: np.ndarray, epoch: int) -> Batch:
            """Rows (B,) of the split -> a batch of ids (B, L) with labels and places (B, W)."""
            ids = source.padded(rows, collate.pad, self.length, self.template.pad_multiple)
            counts = starts[rows + 1] - starts[rows]
            labels = np.full((len(rows), max(1, counts.max())), NO_WORD, np.int64)  # (B, W)
            places = np.full(labels.shape, -1, np.int64)  # (B, W)
            ends = source.lengths[rows] - trailing_specials(self.template)
            for i, row in enumerate(rows):
                labels[i, : counts[i]] = part.labels[row]
                at = self.word_places[split][starts[row] : starts[row + 1]]
                places[i, : counts[i]] = np.where((at >= 0) & (at + lead < ends[i]), at + lead, -1)
            return replace(collate(ids, row_ids=rows, labels=labels), places=torch.from_numpy(places))

        return make


def by_word(data: TaskData) -> TaskData:
    """The same texts with each word as a text of its own, the space before it included."""
    splits = {}
    for name, part in data.splits.items():
        words = [word if at == 0 else f" {word}" for text in part.texts[0] for at, word in enumerate(words_of(text))]
        splits[name] = Split((words,), np.zeros(len(words), np.int64))
    return replace(data, splits=splits, fingerprint=digest("words", data.fingerprint))


def first_tokens(tokens: TokenizedTexts, word_offsets: np.ndarray, blank: np.ndarray) -> np.ndarray:
    """The place of each word (w,) among the tokens of its row, -1 where it has no token.

    `tokens`: of each word; `word_offsets` (n + 1,): the words of each row; `blank` (types,): types of white space.
    """
    starts, ends = tokens.offsets[:-1], tokens.offsets[1:]
    first = starts.copy()
    has = first < ends
    skips = np.zeros(len(first), bool)
    skips[has] = blank[tokens.ids[first[has]]]
    first = np.where(skips & (first + 1 < ends), first + 1, first)
    row_starts = np.repeat(tokens.offsets[word_offsets[:-1]], np.diff(word_offsets))  # (w,)
    return np.where(has, first - row_starts, -1)


def leading_specials(template: Template) -> int:
    """Special tokens before the text."""
    return template.single.index("A")


def trailing_specials(template: Template) -> int:
    """Special tokens behind the text."""
    return len(template.single) - 1 - leading_specials(template)
