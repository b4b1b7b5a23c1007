"""The data of a pre-training and of a fine-tuning, as Lightning takes them.

The number of batches is known without a loader, so that the length of a schedule never touches a loader's state.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hashbench.coders.base import Coder
from hashbench.coders.cache import type_codes
from hashbench.data.batching import (
    Collator,
    count_batches,
    encode_rows,
    epoch_batches,
    evaluation_batches,
    share,
)
from hashbench.data.corpus_batches import SharedData
from hashbench.data.fingerprints import cache_folder
from hashbench.data.loader import BatchLoader, EvaluationLoader, Make
from hashbench.embeddings.base import Batch, Template
from hashbench.tasks.encoding import encode_task
from hashbench.tasks.text import TaskData
from hashbench.text.tokenizers import Tokenizer

# An evaluation batch holds as many training batches: it keeps nothing for a backward pass
EVALUATION_BATCHES = 4


class FinetuningData(SharedData):
    """Batches of a task, by length. `batch_size` is over all processes.

    `batch.row_ids` number the rows of the split. Under several processes a row may come twice in an evaluation:
    predictions are put in place by row id.
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
        evaluation_batch_size: int | None = None,
        rank: int = 0,
        world_size: int = 1,
        prefetch: int = 2,
        folder: Path | None = None,
    ) -> None:
        """`coder` is fitted; `folder` keeps what is made of task and tokenizer (None: the cache folder)."""
        super().__init__(rank, world_size)
        self.data, self.template, self.seed, self.prefetch = data, template, seed, prefetch
        self.batch_size, self.length = batch_size, max_length if pad_to_max else None
        self.evaluation_batch_size = evaluation_batch_size or EVALUATION_BATCHES * batch_size
        folder = folder or cache_folder()
        encoded = encode_task(data, tokenizer, folder / "tasks")
        self.rows = {split: encode_rows(columns, template, max_length) for split, columns in encoded.splits.items()}
        self.codes = type_codes(coder, encoded.types, folder / "codes")

    @property
    def steps_per_epoch(self) -> int:
        """Training batches of an epoch; no loader is touched."""
        return count_batches(len(self.rows["train"]), self.batch_size, self.world_size)

    @property
    def select_splits(self) -> tuple[str, ...]:
        """The splits of `val_dataloader`, in its order."""
        return self.data.task.select_splits

    @property
    def test_splits(self) -> tuple[str, ...]:
        """The splits of `test_dataloader`: reported on, never selected on, so they are read once at the end."""
        return tuple(split for split in self.data.task.report_splits if split not in self.select_splits)

    def train_dataloader(self) -> BatchLoader:
        """Training batches; the order is a function of (seed, epoch) alone."""
        return BatchLoader(self._plan, self._maker("train"), self.steps_per_epoch, self.prefetch)

    def val_dataloader(self) -> list[EvaluationLoader]:
        """A loader for each split that is selected on."""
        return [self.evaluation_loader(split) for split in self.select_splits]

    def test_dataloader(self) -> list[EvaluationLoader]:
        """A loader for each split that is only reported on."""
        return [self.evaluation_loader(split) for split in self.test_splits]

    def evaluation_loader(self, split: str, *, whole: bool = False) -> EvaluationLoader:
        """The rows of a split, by length: this process's share, or `whole`, every row."""
        rank, world_size = (0, 1) if whole else (self.rank, self.world_size)
        batches = evaluation_batches(self.rows[split].lengths, self.evaluation_batch_size, rank, world_size)
        return EvaluationLoader(batches, self._maker(split), self.prefetch)

    def targets(self, split: str) -> np.ndarray:
        """Labels (n,) of a split, in the order of its rows."""
        return self.data.splits[split].labels

    def _plan(self, epoch: int) -> list[np.ndarray]:
        """Row numbers (B,) of this process in each batch of an epoch."""
        batches = epoch_batches(self.rows["train"].lengths, self.batch_size, seed=self.seed, epoch=epoch)
        return share(batches, self.rank, self.world_size)

    def _maker(self, split: str) -> Make:
        collate, source, labels = Collator(self.codes, self.template), self.rows[split], self.targets(split)

        def make(rows: np.ndarray, epoch: int) -> Batch:
            """Rows (B,) of the split -> a batch of ids (B, L) with labels (B,)."""
            ids = source.padded(rows, collate.pad, self.length, self.template.pad_multiple)
            second = None if source.second is None else source.second[rows]
            return collate(ids, row_ids=rows, labels=labels[rows], second=second)

        return make
