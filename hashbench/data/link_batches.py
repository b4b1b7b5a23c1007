"""Segments of page-link sets as batches: [CLS] items [SEP], padded; training hides some items, a test case hides one.

Every draw is a function of (seed, epoch, page) or of (seed, case) alone.
"""

from __future__ import annotations

import numpy as np
from lightning.pytorch import LightningDataModule

from hashbench.data.batching import Collator, count_batches, epoch_batches, pad_id, ranges, share, special_id
from hashbench.data.entities import LinkSet
from hashbench.data.loader import BatchLoader, EvaluationLoader, Make
from hashbench.embeddings.base import Batch, Template
from hashbench.experiment.schema import Entities
from hashbench.objectives.entities import MASK_ID, NO_LABEL, EntityObjective, corrupt
from hashbench.objectives.randomness import random_bits
from hashbench.text.types import TokenizedTexts

SEGMENT, START, HIDDEN, CONTEXT = 31, 32, 33, 34  # streams of random numbers
CASES_AT_ONCE = 512  # of an evaluation batch: it keeps nothing for a backward pass
LAST = np.uint64(2**64 - 1)
PADDING = -2  # the id of <pad>


class Cases:
    """Test cases: one link of a page hidden, the context drawn from its other links. The same for every model."""

    def __init__(
        self, pages: TokenizedTexts, rows: np.ndarray, protocol: Entities, *, limit: int | None = None
    ) -> None:
        """`pages` of one split and their `rows` in the set. `limit`: so many cases at most, drawn by the seed."""
        self.pages, self.protocol = pages, protocol
        links = _some_links(pages, protocol.cases_per_page, protocol.split_seed)  # (n,) places in pages.ids
        if limit is not None and limit < len(links):
            links = np.sort(links[np.random.RandomState([protocol.split_seed, HIDDEN]).permutation(len(links))[:limit]])
        self.links = links
        self.page = np.searchsorted(pages.offsets, links, side="right") - 1  # (n,) among `pages`
        self.targets = pages.ids[links].astype(np.int64)  # (n,) the hidden items
        self.page_rows = rows[self.page]  # (n,) pages of the set

    def __len__(self) -> int:
        return len(self.links)

    def contexts(self, cases: np.ndarray) -> np.ndarray:
        """Item ids (B, segment_items) int32 of some cases: [MASK] first, then other links of the page, then -2."""
        width, page = self.protocol.segment_items, self.page[cases]
        starts, ends = self.pages.offsets[page], self.pages.offsets[page + 1]
        longest = int((ends - starts).max())
        places = starts[:, None] + np.arange(longest)  # (B, links)
        usable = (places < ends[:, None]) & (places != self.links[cases][:, None])
        keys = random_bits(self.protocol.split_seed, 0, self.links[cases], longest, CONTEXT) >> np.uint64(1)
        chosen = _lowest(np.where(usable, keys, LAST), width - 1)  # (B, width - 1)
        found = np.take_along_axis(np.minimum(places, len(self.pages.ids) - 1), chosen, axis=1)
        kept = np.take_along_axis(usable, chosen, axis=1)
        ids = np.full((len(cases), width), PADDING, np.int32)
        ids[:, 0] = MASK_ID
        ids[:, 1 : 1 + chosen.shape[1]] = np.where(kept, self.pages.ids[found], PADDING)
        return ids


class EntityData(LightningDataModule):
    """Training segments and cases of a page-link set. `batch_size` is over all processes."""

    def __init__(
        self,
        links: LinkSet,
        codes: np.ndarray,
        *,
        objective: EntityObjective,
        template: Template,
        batch_size: int,
        seed: int,
        rank: int = 0,
        world_size: int = 1,
        prefetch: int = 2,
    ) -> None:
        """`codes` (N, m): the tokens of each item."""
        super().__init__()
        self.links, self.codes, self.objective, self.template = links, codes, objective, template
        self.protocol = links.task.protocol or Entities()
        self.batch_size, self.seed, self.prefetch = batch_size, seed, prefetch
        self._rank, self._world_size = rank, world_size
        self.train = links.links_of("train")
        assert pad_id(template) == PADDING
        limits = {"validation": self.protocol.validation_cases, "test": None}
        self.cases = {
            split: Cases(links.links_of(split), links.splits[split], self.protocol, limit=limit)
            for split, limit in limits.items()
        }

    @property
    def steps_per_epoch(self) -> int:
        """Training batches of an epoch, in which each page gives one segment."""
        return count_batches(len(self.train), self.batch_size, self._world_size)

    def train_dataloader(self) -> BatchLoader:
        """Batches whose order, segments and corruption are functions of (seed, epoch, page) alone."""
        return BatchLoader(self._plan, self._training_maker(), self.steps_per_epoch, self.prefetch)

    def val_dataloader(self) -> EvaluationLoader:
        """The cases by which the best evaluation is chosen, all of them in every process."""
        return self.case_loader("validation")

    def case_loader(self, split: str) -> EvaluationLoader:
        """The cases of a split; `row_ids` number them."""
        n = len(self.cases[split])
        batches = [np.arange(start, min(start + CASES_AT_ONCE, n)) for start in range(0, n, CASES_AT_ONCE)]
        return EvaluationLoader(batches, self._case_maker(split), self.prefetch)

    def _plan(self, epoch: int) -> list[np.ndarray]:
        lengths = np.minimum(np.diff(self.train.offsets), self.protocol.segment_items)
        rank = self._rank if self.trainer is None else self.trainer.global_rank
        return share(epoch_batches(lengths, self.batch_size, seed=self.seed, epoch=epoch), rank, self._world_size)

    def _training_maker(self) -> Make:
        collate = Collator(self.codes, self.template)

        def make(rows: np.ndarray, epoch: int) -> Batch:
            ids = segments(self.train, rows, self.protocol, seed=self.seed, epoch=epoch)
            n_items = len(self.codes)
            ids, labels = corrupt(
                ids, rows, seed=self.seed, epoch=epoch, n_items=n_items, objective=self.objective
            )
            framed = frame(ids, self.template)
            return collate(framed, row_ids=rows, labels=self._tokens(_aligned(labels, framed.shape[1])))

        return make

    def _case_maker(self, split: str) -> Make:
        collate, cases = Collator(self.codes, self.template), self.cases[split]

        def make(rows: np.ndarray, epoch: int) -> Batch:
            ids = cases.contexts(rows)
            labels = np.full(ids.shape, NO_LABEL, np.int32)
            labels[:, 0] = cases.targets[rows]
            framed = frame(ids, self.template)
            return collate(framed, row_ids=rows, labels=self._tokens(_aligned(labels, framed.shape[1])))

        return make

    def _tokens(self, labels: np.ndarray) -> np.ndarray:
        """Items to predict (B, L) -> their tokens (B, L, m) int64, -100 where nothing is predicted."""
        found = np.full((*labels.shape, self.codes.shape[1]), NO_LABEL, np.int64)
        labelled = labels != NO_LABEL
        found[labelled] = self.codes[labels[labelled]]
        return found


def segments(pages: TokenizedTexts, rows: np.ndarray, protocol: Entities, *, seed: int, epoch: int) -> np.ndarray:
    """Up to `segment_items` links of some pages, drawn anew in each epoch: ids (B, L) int32, -2 behind the last.

    `subset`: any of a page's links; `contiguous`: neighbours, as the paper says.
    """
    starts, ends = pages.offsets[rows], pages.offsets[rows + 1]
    lengths, width = ends - starts, protocol.segment_items
    longest = min(width, int(lengths.max()))
    if protocol.segment == "contiguous":
        free = np.maximum(lengths - width, 0)
        bits = random_bits(seed, epoch, rows, 1, START)[:, 0] >> np.uint64(11)
        first = (bits * np.float64(2.0**-53) * (free + 1)).astype(np.int64)
        places = (starts + first)[:, None] + np.arange(longest)  # (B, L)
        kept = np.arange(longest) < np.minimum(lengths, width)[:, None]
    else:
        columns = np.arange(int(lengths.max()))
        inside = columns < lengths[:, None]
        keys = random_bits(seed, epoch, rows, len(columns), SEGMENT) >> np.uint64(1)
        chosen = _lowest(np.where(inside, keys, LAST), longest)  # (B, L)
        places, kept = starts[:, None] + chosen, np.take_along_axis(inside, chosen, axis=1)
    return np.where(kept, pages.ids[np.minimum(places, len(pages.ids) - 1)], np.int32(PADDING))


def frame(ids: np.ndarray, template: Template) -> np.ndarray:
    """[CLS] before the items and [SEP] behind the last of each row: (B, L) with -2 at the end -> (B, L + 2) int32."""
    lengths = (ids != PADDING).sum(axis=1)
    framed = np.full((len(ids), int(lengths.max()) + 2), PADDING, np.int32)
    framed[:, 0] = special_id(template, template.single[0])
    framed[:, 1:-1] = ids[:, : framed.shape[1] - 2]
    framed[np.arange(len(ids)), lengths + 1] = special_id(template, template.single[-1])
    return framed


def _aligned(labels: np.ndarray, width: int) -> np.ndarray:
    """Labels (B, L) moved behind [CLS] and cut or filled up to the framed width."""
    framed = np.full((len(labels), width), NO_LABEL, labels.dtype)
    framed[:, 1:-1] = labels[:, : width - 2]
    return framed


def _lowest(keys: np.ndarray, n: int) -> np.ndarray:
    """Columns (B, n) of the n lowest keys of each row, lowest first; fewer where a row has fewer."""
    if n < keys.shape[1]:
        part = np.argpartition(keys, n - 1, axis=1)[:, :n]
        return np.take_along_axis(part, np.argsort(np.take_along_axis(keys, part, axis=1), axis=1), axis=1)
    return np.argsort(keys, axis=1, kind="stable")


def _some_links(pages: TokenizedTexts, each: int | None, seed: int) -> np.ndarray:
    """Places of the links to hide (n,): all, or `each` a page, drawn by the seed."""
    lengths = np.diff(pages.offsets)
    if each is None:
        return np.arange(len(pages.ids))
    keys = random_bits(seed, 0, np.arange(len(pages.ids)), 1, HIDDEN)[:, 0]
    page = np.repeat(np.arange(len(pages)), lengths)
    order = np.lexsort((keys, page))  # page by page, in random order
    within = ranges(np.zeros(len(pages), np.int64), lengths)
    return np.sort(order[within < each])
