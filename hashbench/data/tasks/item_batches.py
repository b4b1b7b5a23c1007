"""Base of the data of tasks of hidden items: rows of items as batches for training, and cases for evaluation.

Every draw is a function of (seed, epoch, row) or of (seed, case) alone.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from hashbench.data.sources.batching import Collator, framed, pad_id
from hashbench.data.sources.loader import EvaluationLoader, Make, TrainingData
from hashbench.data.tasks.base import Task
from hashbench.models.embeddings.base import NO_LABEL, Batch, Template

CASES_AT_ONCE = 512  # of an evaluation batch: it keeps nothing for a backward pass
PADDING = -2  # the id of <pad>


class HiddenItems(Protocol):
    """The cases of a split, each a hidden item to predict; they are the same for every model."""

    targets: np.ndarray  # (n,) int64, the hidden items
    page_rows: np.ndarray  # (n,) pages or documents of the set

    def __len__(self) -> int: ...


@dataclass(frozen=True)
class ItemSettings:
    """Settings by which rows of items become batches."""

    # (ids (B, L), row_ids (B,), *, seed, epoch, n_items) -> (ids with some hidden, the hidden ones as labels)
    corrupt: Callable[..., tuple[np.ndarray, np.ndarray]]
    template: Template
    batch_size: int  # over all processes
    seed: int
    rank: int = 0
    world_size: int = 1
    prefetch: int = 2


class ItemData(TrainingData):
    """Batches of rows with hidden items, and of the cases that a training is selected and tested on."""

    cases: Mapping[str, HiddenItems]  # by split

    def __init__(self, task: Task, codes: np.ndarray, settings: ItemSettings) -> None:
        """`codes` (N, m): the tokens of each item."""
        super().__init__(
            batch_size=settings.batch_size,
            seed=settings.seed,
            rank=settings.rank,
            world_size=settings.world_size,
            prefetch=settings.prefetch,
        )
        self.task, self.codes, self.template = task, codes, settings.template
        self._corrupt = settings.corrupt
        assert pad_id(self.template) == PADDING

    @abstractmethod
    def case_batches(self, split: str) -> list[np.ndarray]:
        """The rows of each batch of `case_maker`: numbers (B,) of cases or of sequences."""

    @abstractmethod
    def case_maker(self, split: str) -> Make:
        """The function that makes a batch of a split's cases; its `row_ids` number them row by row, then by column."""

    def val_dataloader(self) -> EvaluationLoader:
        """A loader of the cases by which the best evaluation is chosen, all cases in every process."""
        return self.case_loader("validation")

    def case_loader(self, split: str) -> EvaluationLoader:
        """A loader of the cases of a split; `row_ids` number them."""
        return EvaluationLoader(self.case_batches(split), self.case_maker(split), self.prefetch)

    def tokens(self, labels: np.ndarray) -> np.ndarray:
        """Items to predict (B, L) -> their tokens (B, L, m) int64, -100 where nothing is predicted."""
        tokens = np.full((*labels.shape, self.codes.shape[1]), NO_LABEL, np.int64)
        labelled = labels != NO_LABEL
        tokens[labelled] = self.codes[labels[labelled]]
        return tokens

    def corrupted(self, ids: np.ndarray, rows: np.ndarray, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        """Items (B, L) of training rows (B,), some hidden, and the hidden ones as labels: two (B, L)."""
        return self._corrupt(ids, rows, seed=self.seed, epoch=epoch, n_items=len(self.codes))

    def segment_batch(self, collate: Collator, ids: np.ndarray, labels: np.ndarray, row_ids: np.ndarray) -> Batch:
        """A batch of rows [CLS] items [SEP]: items (B, L), labels (B, L), `row_ids` (B,), or of hidden items (K,)."""
        complete = with_specials(ids, self.template)
        return collate(complete, row_ids=row_ids, labels=self.tokens(aligned(labels, complete.shape[1])))


def with_specials(ids: np.ndarray, template: Template) -> np.ndarray:
    """Rows of items (B, L), filled up with -2, with [CLS] before and [SEP] behind their items: (B, L + 2) int32."""
    lengths = (ids != PADDING).sum(axis=1)
    return framed([row[:n] for row, n in zip(ids, lengths, strict=True)], template)


def aligned(labels: np.ndarray, width: int) -> np.ndarray:
    """Labels (B, L) moved behind [CLS] and cut or filled up to the width of the rows: (B, width)."""
    complete = np.full((len(labels), width), NO_LABEL, labels.dtype)
    complete[:, 1:-1] = labels[:, : width - 2]
    return complete
