"""Data of a fine-tuning: batches of texts with labels, or of words with tags."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch

from hashbench.data.sources.batching import Collator, encode_rows, evaluation_batches, text_batches
from hashbench.data.sources.fingerprints import marked_cache_folder
from hashbench.data.sources.loader import EvaluationLoader, Make, TrainingData
from hashbench.data.tasks.encoding import EncodedTask, counts_of, encode_task
from hashbench.data.tasks.noise import TrainingNoise, noisy
from hashbench.data.tasks.text_data import TaskData, by_word
from hashbench.models.coders.base import Coder, type_codes
from hashbench.models.embeddings.base import Batch, Template
from hashbench.models.text.base import Tokenizer
from hashbench.models.text.tags import NO_WORD
from hashbench.models.text.types import DictInterner, TokenizedTexts
from hashbench.models.text.unicode import offsets_from

# An evaluation batch holds as many training batches: it keeps nothing for a backward pass
EVALUATION_BATCHES = 4


class FinetuningData(TrainingData):
    """Batches of a task's rows, of similar length each. `batch_size` counts the rows of all processes.

    `batch.row_ids` number the rows of the split. Under several processes a row may come twice in an evaluation:
    predictions are put in order by row id.
    """

    def __init__(
        self,
        data: TaskData,
        tokenizer: Tokenizer,
        coder: Coder,
        *,
        template: Template,
        batch_size: int,
        max_length: int,
        seed: int,
        pad_to_max: bool = False,
        noise: TrainingNoise | None = None,
        evaluation_batch_size: int | None = None,
        rank: int = 0,
        world_size: int = 1,
        prefetch: int = 2,
        folder: Path | None = None,
    ) -> None:
        """`coder` is fitted; `folder` keeps what is made of task and tokenizer (None: the cache folder)."""
        super().__init__(batch_size=batch_size, seed=seed, rank=rank, world_size=world_size, prefetch=prefetch)
        self.data, self.template, self.noise = data, template, noise
        self._read = partial(
            text_batches, tokenizer=tokenizer, coder=coder, template=template, max_length=max_length,
            pad_to_max=pad_to_max,
        )  # fmt: skip
        self._tokenize = tokenizer.tokenize
        self.length = max_length if pad_to_max else None
        self.evaluation_batch_size = evaluation_batch_size or EVALUATION_BATCHES * batch_size
        folder = folder or marked_cache_folder()
        encoded = self.encoded(tokenizer, folder / "tasks")
        self.rows = {split: encode_rows(columns, template, max_length) for split, columns in encoded.splits.items()}
        self.codes = type_codes(coder, encoded.types, folder / "codes")
        self.unknown = counts_of(encoded, tokenizer, coder, self.codes)  # tokens, by split

    def encoded(self, tokenizer: Tokenizer, folder: Path) -> EncodedTask:
        """The rows as type ids; `folder` holds all encoded tasks."""
        return encode_task(self.data, tokenizer, folder)

    def row_lengths(self) -> np.ndarray:
        """Tokens of each training row (n,), special ones included."""
        return self.rows["train"].lengths

    def training_maker(self) -> Make:
        """The function that makes a batch from numbers of training rows (B,) and an epoch."""
        return self._maker("train") if self.noise is None else self._noisy_maker(self.noise)

    @property
    def knows_types(self) -> bool:
        """True where `codes` has all types of the training batches: noise makes others."""
        return self.noise is None

    @property
    def select_splits(self) -> tuple[str, ...]:
        """The splits of `val_dataloader`, in its order."""
        return self.data.task.select_splits

    @property
    def test_splits(self) -> tuple[str, ...]:
        """The splits of `test_dataloader`: reported on, never selected on, so they are read once at the end."""
        return tuple(split for split in self.data.task.report_splits if split not in self.select_splits)

    def val_dataloader(self) -> list[EvaluationLoader]:
        """A loader for each split that is selected on."""
        return [self.evaluation_loader(split) for split in self.select_splits]

    def test_dataloader(self) -> list[EvaluationLoader]:
        """A loader for each split that is only reported on."""
        return [self.evaluation_loader(split) for split in self.test_splits]

    def evaluation_loader(self, split: str, *, whole: bool = False) -> EvaluationLoader:
        """A loader of the rows of a split, sorted by length: this process's share, or `whole`, every row."""
        rank, world_size = (0, 1) if whole else (self.rank, self.world_size)
        batches = evaluation_batches(self.rows[split].lengths, self.evaluation_batch_size, rank, world_size)
        return EvaluationLoader(batches, self._maker(split), self.prefetch)

    def targets(self, split: str) -> np.ndarray:
        """Labels (n,) of a split, in the order of its rows."""
        return self.data.splits[split].labels

    def _maker(self, split: str) -> Make:
        collate, source, labels = Collator(self.codes, self.template), self.rows[split], self.targets(split)

        def make(rows: np.ndarray, epoch: int) -> Batch:
            """Rows (B,) of the split -> a batch of ids (B, L) with labels (B,)."""
            ids = source.padded(rows, collate.pad, self.length, self.template.pad_multiple)
            second = None if source.second is None else source.second[rows]
            return collate(ids, row_ids=rows, labels=labels[rows], second=second)

        return make

    def _noisy_maker(self, noise: TrainingNoise) -> Make:
        columns, labels = self.data.splits["train"].texts, self.targets("train")

        def make(rows: np.ndarray, epoch: int) -> Batch:
            """Training rows (B,) in an epoch -> a batch of their texts with noise, tokenized and coded now."""
            texts = noisy(columns, rows, noise, seed=self.seed, epoch=epoch)
            (batch,) = self._read(texts, batch_size=len(rows), interner=DictInterner(self._tokenize))
            assert batch.row_ids is not None
            order = rows[batch.row_ids.numpy()]  # (B,)
            return replace(batch, row_ids=torch.from_numpy(order), labels=torch.from_numpy(labels[order]))

        return make


class TaggingData(FinetuningData):
    """Batches of words. Each word is tokenized by itself, with the space before it, so every token belongs to one word.

    A row's tokens are its words' tokens in turn. The position of a word is where its first token is, or its second
    one if the first is white space.
    """

    def encoded(self, tokenizer: Tokenizer, folder: Path) -> EncodedTask:
        """The rows as type ids; also keeps the position of each word among the tokens of its row."""
        words = encode_task(by_word(self.data), tokenizer, folder)
        blank = np.array([string.isspace() for string in words.types.strings()], bool)  # (types,)
        rows: dict[str, tuple[TokenizedTexts, ...]] = {}
        self.word_offsets: dict[str, np.ndarray] = {}  # (n + 1,): the words of each row
        self.word_places: dict[str, np.ndarray] = {}  # (w,): the place of each among the tokens of its row
        for split, part in self.data.splits.items():
            tokens = words.splits[split][0]
            self.word_offsets[split] = offsets_from([len(tags) for tags in part.labels])
            rows[split] = (TokenizedTexts(tokens.ids, tokens.offsets[self.word_offsets[split]]),)
            self.word_places[split] = first_tokens(tokens, self.word_offsets[split], blank)
        return EncodedTask(words.types, rows, words.folder)

    def targets(self, split: str) -> np.ndarray:
        """The number of spans of each row (n,) of a split."""
        return self.data.task.kind.targets(self.data.task, self.data.splits[split])

    def _maker(self, split: str) -> Make:
        collate, source, part = Collator(self.codes, self.template), self.rows[split], self.data.splits[split]
        starts = self.word_offsets[split]
        lead = leading_specials(self.template)

        def make(rows: np.ndarray, epoch: int) -> Batch:
            """Rows (B,) of the split -> a batch of ids (B, L) with labels and positions of the words (B, W)."""
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


def first_tokens(tokens: TokenizedTexts, word_offsets: np.ndarray, blank: np.ndarray) -> np.ndarray:
    """The position of each word (w,) among the tokens of its row, -1 where it has no token.

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
    """Number of special tokens before the text."""
    return template.single.index("A")


def trailing_specials(template: Template) -> int:
    """Number of special tokens behind the text."""
    return len(template.single) - 1 - leading_specials(template)
