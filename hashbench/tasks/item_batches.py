"""What all data of hidden items share: rows of items as batches for training, and cases whose hidden item is known.

Every draw is a function of (seed, epoch, row) or of (seed, case) alone.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import NotRequired, Protocol, TypedDict, Unpack

import numpy as np
from lightning.pytorch import LightningDataModule

from hashbench.data.batching import count_batches, epoch_batches, pad_id, share, special_id
from hashbench.data.loader import BatchLoader, EvaluationLoader, Make
from hashbench.embeddings.base import Template
from hashbench.objectives.entities import NO_LABEL, EntityObjective
from hashbench.tasks.base import Task

CASES_AT_ONCE = 512  # of an evaluation batch: it keeps nothing for a backward pass
PADDING = -2  # the id of <pad>


class HiddenItems(Protocol):
    """The cases of a split, the same for every model."""

    targets: np.ndarray  # (n,) int64, the hidden items
    page_rows: np.ndarray  # (n,) pages or documents of the set

    def __len__(self) -> int: ...


class Settings(TypedDict):
    """How rows become batches."""

    objective: EntityObjective
    template: Template
    batch_size: int  # over all processes
    seed: int
    rank: NotRequired[int]
    world_size: NotRequired[int]
    prefetch: NotRequired[int]


class ItemData(LightningDataModule):
    """Batches of rows with hidden items, and of the cases that a training is selected and tested on."""

    cases: Mapping[str, HiddenItems]  # by split

    def __init__(self, task: Task, codes: np.ndarray, **settings: Unpack[Settings]) -> None:
        """`codes` (N, m): the tokens of each item."""
        super().__init__()
        self.task, self.codes = task, codes
        self.objective, self.template = settings["objective"], settings["template"]
        self.batch_size, self.seed = settings["batch_size"], settings["seed"]
        self.prefetch = settings["prefetch"] if "prefetch" in settings else 2
        self._rank = settings["rank"] if "rank" in settings else 0
        self._world_size = settings["world_size"] if "world_size" in settings else 1
        assert pad_id(self.template) == PADDING

    @abstractmethod
    def row_lengths(self) -> np.ndarray:
        """Items of each training row (n,)."""

    @abstractmethod
    def case_batches(self, split: str) -> list[np.ndarray]:
        """What `case_maker` makes each batch of: numbers (B,) of cases or of sequences."""

    @abstractmethod
    def training_maker(self) -> Make:
        """Makes a batch of training rows."""

    @abstractmethod
    def case_maker(self, split: str) -> Make:
        """Makes a batch of cases; its `row_ids` number them in the order of rows and columns."""

    @property
    def steps_per_epoch(self) -> int:
        """Training batches of an epoch, in which each page or sequence stands once."""
        return count_batches(self.n_train, self.batch_size, self._world_size)

    @property
    def n_train(self) -> int:
        """Training rows."""
        return len(self.row_lengths())

    def train_dataloader(self) -> BatchLoader:
        """Batches whose order, contents and corruption are functions of (seed, epoch, row) alone."""
        return BatchLoader(self._plan, self.training_maker(), self.steps_per_epoch, self.prefetch)

    def val_dataloader(self) -> EvaluationLoader:
        """The cases by which the best evaluation is chosen, all of them in every process."""
        return self.case_loader("validation")

    def case_loader(self, split: str) -> EvaluationLoader:
        """The cases of a split; `row_ids` number them."""
        return EvaluationLoader(self.case_batches(split), self.case_maker(split), self.prefetch)

    def tokens(self, labels: np.ndarray) -> np.ndarray:
        """Items to predict (B, L) -> their tokens (B, L, m) int64, -100 where nothing is predicted."""
        tokens = np.full((*labels.shape, self.codes.shape[1]), NO_LABEL, np.int64)
        labelled = labels != NO_LABEL
        tokens[labelled] = self.codes[labels[labelled]]
        return tokens

    def _plan(self, epoch: int) -> list[np.ndarray]:
        """Row numbers (B,) of this process in each batch of an epoch."""
        rank = self._rank if self.trainer is None else self.trainer.global_rank
        batches = epoch_batches(self.row_lengths(), self.batch_size, seed=self.seed, epoch=epoch)
        return share(batches, rank, self._world_size)


def with_specials(ids: np.ndarray, template: Template) -> np.ndarray:
    """[CLS] before the items and [SEP] behind the last of each row: (B, L) with -2 at the end -> (B, L + 2) int32."""
    lengths = (ids != PADDING).sum(axis=1)
    complete = np.full((len(ids), int(lengths.max()) + 2), PADDING, np.int32)
    complete[:, 0] = special_id(template, template.single[0])
    complete[:, 1:-1] = ids[:, : complete.shape[1] - 2]
    complete[np.arange(len(ids)), lengths + 1] = special_id(template, template.single[-1])
    return complete


def aligned(labels: np.ndarray, width: int) -> np.ndarray:
    """Labels (B, L) moved behind [CLS] and cut or filled up to the width of the rows: (B, width)."""
    complete = np.full((len(labels), width), NO_LABEL, labels.dtype)
    complete[:, 1:-1] = labels[:, : width - 2]
    return complete
