"""The data of a pre-training, as Lightning takes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from hashbench.data.corpora.corpus import Corpus
from hashbench.data.sources.batching import Collator, pad_id, special_id
from hashbench.data.sources.loader import Make, TrainingData
from hashbench.models.coders.vocabulary import Vocabulary
from hashbench.models.embeddings.base import NO_LABEL, Batch, Template


class Corruption(Protocol):
    """What an objective of pre-training makes of rows: corrupted type ids, and labels."""

    @property
    def corrupt(self) -> Callable[..., Any]:
        """(ids (B, L), row_ids (B,), *, seed, epoch, n_types, **arguments) -> (ids, labels), both (B, L)."""

    @property
    def label_types(self) -> bool:
        """Whether labels are types, thus rows of a vocabulary."""


class RowFrame:
    """The special tokens around a row of text."""

    def __init__(self, template: Template) -> None:
        self.template = template
        place = template.single.index("A")
        before, after = template.single[:place], template.single[place + 1 :]
        self._before, self._after = ([special_id(template, name) for name in side] for side in (before, after))
        self.n_specials = len(before) + len(after)

    def around(self, rows: Sequence[np.ndarray]) -> np.ndarray:
        """Ids of B rows, each (n,), with their special tokens, padded: (B, L) int32."""
        before, after, multiple = self._before, self._after, self.template.pad_multiple
        longest = self.n_specials + max(map(len, rows))
        ids = np.full((len(rows), -(-longest // multiple) * multiple), pad_id(self.template), np.int32)
        ids[:, : len(before)] = before
        for i, row in enumerate(rows):
            end = len(before) + len(row)
            ids[i, len(before) : end] = row
            ids[i, end : end + len(after)] = after
        return ids


class PretrainingData(TrainingData):
    """Corrupted sequences of a corpus. `batch_size` is over all processes."""

    def __init__(
        self,
        corpus: Corpus,
        codes: np.ndarray,
        *,
        objective: Corruption,
        template: Template,
        batch_size: int,
        sequence_length: int,
        seed: int,
        objective_args: Mapping[str, object] | None = None,
        outputs: Vocabulary | None = None,
        rank: int = 0,
        world_size: int = 1,
        prefetch: int = 2,
    ) -> None:
        """`codes` (n_types, c) of the corpus' types. What mlm predicts is the row of a type in the vocabulary
        `outputs`; without one the codes are such rows.
        """
        super().__init__(batch_size=batch_size, seed=seed, rank=rank, world_size=world_size, prefetch=prefetch)
        self.corpus, self.codes = corpus, codes
        self._objective = objective
        # (n_types, 1)
        self._output_rows = codes if outputs is None else outputs.encode_types(corpus.types)
        self._arguments = dict(objective_args or {})
        self._frame = RowFrame(template)
        # The same memory without the cost of a memmap's every slice
        self._ids = np.asarray(corpus.ids)
        self.starts, self.ends = corpus.rows(sequence_length, self._frame.n_specials)

    def row_lengths(self) -> np.ndarray:
        """Tokens of each sequence (n,), special ones not counted."""
        return self.ends - self.starts

    @property
    def bucketed(self) -> bool:
        """Not where rows are packed: all but the last are of one length, and sorting them would change nothing."""
        lengths = self.row_lengths()
        return len(lengths) < 2 or bool((lengths[:-1] != lengths[0]).any())

    def training_maker(self) -> Make:
        """Makes a batch of corrupted sequences."""
        collate, output_rows = Collator(self.codes, self._frame.template), np.asarray(self._output_rows)

        def make(rows: np.ndarray, epoch: int) -> Batch:
            """Rows (B,) -> a batch of corrupted ids (B, L) with the objective's labels (B, L)."""
            whole = self.with_specials(rows)  # (B, L)
            ids, labels = self._objective.corrupt(
                whole, rows, seed=self.seed, epoch=epoch, n_types=len(self.corpus.types), **self._arguments
            )
            return collate(ids, row_ids=rows, labels=self._label_rows(output_rows, labels))

        return make

    def with_specials(self, rows: np.ndarray) -> np.ndarray:
        """Sequences (B,) with their special tokens, padded, before any corruption: ids (B, L) int32."""
        bounds = zip(self.starts[rows].tolist(), self.ends[rows].tolist(), strict=True)
        return self._frame.around([self._ids[start:end] for start, end in bounds])

    def _label_rows(self, output_rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Labels (B, L) as (B, L) int64: for mlm the types' rows (n_types, 1) in the vocabulary instead of types."""
        if not self._objective.label_types:
            return labels.astype(np.int64)
        labelled = labels != NO_LABEL
        rows = np.full(labels.shape, NO_LABEL, np.int64)
        rows[labelled] = output_rows[labels[labelled], 0]
        return rows
