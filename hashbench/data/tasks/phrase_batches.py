"""Sequences of a corpus of items as batches: [CLS] A [SEP] B [SEP], or [CLS] A [SEP]; a share of the items is hidden.

A document is cut into sequences, one behind the other. With two segments a sequence is parted at the end of a sentence,
and in half of the training rows the second part comes from another document. In held-out documents the same share of
items is hidden, always by [MASK], and each hidden item is a case; their second segment always follows the first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from hashbench.common.splitmix import drawn_share, integers, uniforms
from hashbench.data.sources.batching import Collator, special_id
from hashbench.data.sources.loader import Make
from hashbench.data.tasks.item_batches import CASES_AT_ONCE, PADDING, ItemData, ItemSettings
from hashbench.data.tasks.items import LinkSet, protocol_of
from hashbench.data.tasks.phrases import PhrasesBlock
from hashbench.models.embeddings.base import MASK_ID, NO_LABEL, Batch, Template
from hashbench.models.text.unicode import ranges

FEWEST_ITEMS = 2  # items of a sequence: one hidden, one beside it
SENTENCE_ENDS = (".", "!", "?")
CUT, OTHER, NEXT = 41, 42, 43  # streams of random numbers
HIDDEN = 44  # which held-out sequences are cases
HIDDEN_SHARE, CHOICE = 0.15, 21  # of held-out items; drawn as the objective draws items to predict


@dataclass(frozen=True)
class Sequences:
    """Where in a set's ids each sequence of some documents begins and ends."""

    starts: np.ndarray  # (n,) int64
    ends: np.ndarray  # (n,)
    documents: np.ndarray  # (n,) rows of the set

    def __len__(self) -> int:
        return len(self.starts)

    def take(self, chosen: np.ndarray) -> Sequences:
        """The sequences numbered `chosen` (k,), in its order."""
        return Sequences(self.starts[chosen], self.ends[chosen], self.documents[chosen])

    def items(self, ids: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Items (B, L) int32 of some sequences, `rows` (B,), -2 behind the last; `ids` (total,) of the set."""
        starts, ends = self.starts[rows], self.ends[rows]
        places = starts[:, None] + np.arange(int((ends - starts).max()))
        return np.where(places < ends[:, None], ids[np.minimum(places, len(ids) - 1)], np.int32(PADDING))


def sequences(offsets: np.ndarray, documents: np.ndarray, width: int) -> Sequences:
    """Documents cut into pieces of `width` items, the last one perhaps shorter; `offsets` (all + 1,): their bounds.

    `documents` (n,): which of them. One item alone is left out.

    >>> sequences(np.array([0, 5, 6, 9]), np.array([0, 1, 2]), 3).starts.tolist()
    [0, 3, 6]
    """
    begins, lengths = offsets[documents], offsets[documents + 1] - offsets[documents]
    pieces = -(-lengths // width)
    number = ranges(np.zeros(len(pieces), np.int64), pieces)  # 0, 1, ... within each document
    starts = np.repeat(begins, pieces) + number * width
    ends = np.minimum(starts + width, np.repeat(begins + lengths, pieces))
    kept = ends - starts >= FEWEST_ITEMS
    return Sequences(starts[kept], ends[kept], np.repeat(documents, pieces)[kept])


class HiddenPhrases:
    """The hidden items of held-out sequences, each a case. The same for every model."""

    def __init__(self, data: LinkSet, split: str, protocol: PhrasesBlock, limit: int | None) -> None:
        """`limit`: so many sequences at most, drawn by the seed."""
        self._ids, self._seed = data.pages.ids, protocol.split_seed
        held_out = sequences(data.pages.offsets, data.splits[split], protocol.sequence_items)
        if limit is not None and limit < len(held_out):
            order = np.random.RandomState([protocol.split_seed, HIDDEN]).permutation(len(held_out))
            held_out = held_out.take(np.sort(order[:limit]))
        self.sequences = held_out
        rows = np.arange(len(held_out))
        labels = [self.hidden(rows[i : i + CASES_AT_ONCE])[1] for i in range(0, len(rows), CASES_AT_ONCE)]
        per_row = [(block != NO_LABEL).sum(1) for block in labels]
        # (n,)
        self.targets = np.concatenate([block[block != NO_LABEL] for block in labels]).astype(np.int64)
        each_row = np.concatenate(per_row)
        self.first = np.cumsum(each_row) - each_row  # number of each sequence's first case
        self.page_rows = np.repeat(held_out.documents, each_row)  # (n,)

    def __len__(self) -> int:
        return len(self.targets)

    def hidden(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Items of sequences (B,) with [MASK] for the hidden ones, and the hidden ones as labels: two (B, L)."""
        ids = self.sequences.items(self._ids, rows)
        hidden = drawn_share(ids >= 0, HIDDEN_SHARE, seed=self._seed, epoch=0, row_ids=rows, stream=CHOICE)
        return np.where(hidden, np.int32(MASK_ID), ids), np.where(hidden, ids, np.int32(NO_LABEL))


class PhraseData(ItemData):
    """Training sequences and cases of a corpus as items."""

    cases: dict[str, HiddenPhrases]

    def __init__(self, data: LinkSet, codes: np.ndarray, settings: ItemSettings) -> None:
        """`codes` (N, m): the tokens of each item."""
        super().__init__(data.task, codes, settings)
        self.protocol = protocol_of(data.task)
        self.ids = data.pages.ids
        self.train = sequences(data.pages.offsets, data.splits["train"], self.protocol.sequence_items)
        limits = {"validation": self.protocol.validation_sequences, "test": self.protocol.test_sequences}
        self.cases = {split: HiddenPhrases(data, split, self.protocol, limit) for split, limit in limits.items()}
        ends = [i for i in range(len(data.items)) if data.items.string(i) in SENTENCE_ENDS]
        self._sentence_end = np.isin(np.arange(len(data.items)), ends)

    def row_lengths(self) -> np.ndarray:
        """Items of each training sequence (n,)."""
        return self.train.ends - self.train.starts

    def case_batches(self, split: str) -> list[np.ndarray]:
        """Numbers (B,) of the sequences of each batch, about as many as have CASES_AT_ONCE hidden items."""
        cases = self.cases[split]
        n = len(cases.sequences)
        step = max(1, CASES_AT_ONCE * n // max(1, len(cases)))
        return [np.arange(start, min(start + step, n)) for start in range(0, n, step)]

    def training_maker(self) -> Make:
        """The function that makes a batch from numbers of training sequences (B,) and an epoch."""
        collate = Collator(self.codes, self.template)

        def make(rows: np.ndarray, epoch: int) -> Batch:
            """Sequences (B,) -> a batch of items (B, L) with the tokens of the hidden ones (B, L, m)."""
            ids = self.train.items(self.ids, rows)
            cuts = follows = None
            if self.protocol.next_sentence:
                cuts = self._cuts(ids, rows, self.seed, epoch)
                ids, follows = self._with_others(ids, cuts, rows, epoch)
            hidden, labels = self.corrupted(ids, rows, epoch)
            return self._batch(collate, hidden, labels, cuts, row_ids=rows, follows=follows)

        return make

    def case_maker(self, split: str) -> Make:
        """The function that makes a batch of held-out sequences; `row_ids` (K,) number the hidden items, row by row."""
        collate, cases = Collator(self.codes, self.template), self.cases[split]

        def make(rows: np.ndarray, epoch: int) -> Batch:
            """Sequences (B,) -> a batch of items (B, L) with the tokens of the hidden ones (B, L, m)."""
            hidden, labels = cases.hidden(rows)
            cuts = None
            if self.protocol.next_sentence:
                cuts = self._cuts(cases.sequences.items(self.ids, rows), rows, self.protocol.split_seed, 0)
            numbers = ranges(cases.first[rows], (labels != NO_LABEL).sum(1))  # (K,)
            return self._batch(collate, hidden, labels, cuts, row_ids=numbers)

        return make

    def _batch(
        self,
        collate: Collator,
        ids: np.ndarray,
        labels: np.ndarray,
        cuts: np.ndarray | None,
        *,
        row_ids: np.ndarray,
        follows: np.ndarray | None = None,
    ) -> Batch:
        """Items (B, L), labels (B, L) and cuts (B,) as a batch; `row_ids` (B,) or (K,), `follows` (B,)."""
        if cuts is None:
            return self.segment_batch(collate, ids, labels, row_ids)
        complete, places = pairs_with_specials(ids, cuts, self.template)
        placed = np.full(complete.shape, NO_LABEL, labels.dtype)
        np.put_along_axis(placed, places, labels[:, : places.shape[1]], axis=1)
        batch = collate(complete, row_ids=row_ids, labels=self.tokens(placed), second=cuts + 2)
        batch.follows = None if follows is None else torch.from_numpy(follows)
        return batch

    def _cuts(self, ids: np.ndarray, rows: np.ndarray, seed: int, epoch: int) -> np.ndarray:
        """How many items (B,) of `ids` (B, L) the first segment has; `rows` (B,) are the numbers of the sequences.

        It ends where some sentence ends, or anywhere if none does.
        """
        lengths = (ids != PADDING).sum(1)  # at least FEWEST_ITEMS
        inside = np.arange(ids.shape[1]) < lengths[:, None] - 1
        ends = inside & (ids >= 0) & self._sentence_end[np.maximum(ids, 0)]
        keys = uniforms(seed, epoch, rows, ids.shape[1], CUT)
        chosen = np.where(np.where(ends.any(1)[:, None], ends, inside), keys, -1.0).argmax(1)
        return chosen + 1

    def _with_others(
        self, ids: np.ndarray, cuts: np.ndarray, rows: np.ndarray, epoch: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sequences (B, L), half with a second segment of another document, and 1 for the others (B,) int64.

        The segment is the beginning of a sequence there. A row that draws its own document stays as it is.
        `ids` (B, L), `cuts` (B,), `rows` (B,) -> (B, L), (B,).
        """
        others = integers(self.seed, epoch, rows, 1, OTHER, below=len(self.train))[:, 0]
        elsewhere = self.train.documents[others] != self.train.documents[rows]
        replaced = elsewhere & (uniforms(self.seed, epoch, rows, 1, NEXT)[:, 0] < 0.5)
        drawn = self.train.items(self.ids, others)
        width = ids.shape[1]
        drawn = np.pad(drawn, ((0, 0), (0, max(0, width - drawn.shape[1]))), constant_values=PADDING)
        columns = np.arange(width)
        lengths = (ids != PADDING).sum(1)
        source = np.take_along_axis(drawn, np.maximum(columns - cuts[:, None], 0), axis=1)
        inside = replaced[:, None] & (columns >= cuts[:, None]) & (columns < lengths[:, None])
        return np.where(inside, source, ids), (~replaced).astype(np.int64)


def pairs_with_specials(ids: np.ndarray, cuts: np.ndarray, template: Template) -> tuple[np.ndarray, np.ndarray]:
    """Rows [CLS] A [SEP] B [SEP] of items (B, L) with -2 at the end; the first `cuts` (B,) are A.

    -> (B, L + 3) int32, and the column (B, L) in it of each item.
    """
    lengths = (ids != PADDING).sum(1)
    ids = ids[:, : int(lengths.max())]
    columns = np.arange(ids.shape[1])
    places = columns + 1 + (columns >= cuts[:, None])
    complete = np.full((len(ids), ids.shape[1] + 3), PADDING, np.int32)
    np.put_along_axis(complete, places, ids, axis=1)
    complete[:, 0] = special_id(template, template.single[0])
    rows, end = np.arange(len(ids)), special_id(template, template.single[-1])
    complete[rows, cuts + 1] = end
    complete[rows, lengths + 2] = end
    return complete, places
