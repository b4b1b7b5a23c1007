"""The data of a fine-tuning, as Lightning takes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hashbench.data.sources.batching import Collator, encode_rows, evaluation_batches
from hashbench.data.sources.fingerprints import cache_folder
from hashbench.data.sources.loader import EvaluationLoader, Make, TrainingData
from hashbench.data.tasks.encoding import EncodedTask, encode_task
from hashbench.data.tasks.text_data import TaskData
from hashbench.data.tasks.unknown import counts_of
from hashbench.models.coders.base import Coder
from hashbench.models.coders.cache import type_codes
from hashbench.models.embeddings.base import Batch, Template
from hashbench.models.text.tokenizers import Tokenizer

# An evaluation batch holds as many training batches: it keeps nothing for a backward pass
EVALUATION_BATCHES = 4


class FinetuningData(TrainingData):
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
        super().__init__(batch_size=batch_size, seed=seed, rank=rank, world_size=world_size, prefetch=prefetch)
        self.data, self.template = data, template
        self.length = max_length if pad_to_max else None
        self.evaluation_batch_size = evaluation_batch_size or EVALUATION_BATCHES * batch_size
        folder = folder or cache_folder()
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
        """Makes a batch of training rows."""
        return self._maker("train")

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
        """The rows of a split, by length: this process's share, or `whole`, every row."""
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
