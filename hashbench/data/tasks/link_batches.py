"""Segments of page-link sets as batches: [CLS] items [SEP], padded; training hides some items, a test case hides one.

Every draw is a function of (seed, epoch, page) or of (seed, case) alone.
"""

from __future__ import annotations

import numpy as np

from hashbench.common.splitmix import random_bits
from hashbench.data.sources.batching import Collator
from hashbench.data.sources.loader import Make
from hashbench.data.tasks.item_batches import CASES_AT_ONCE, PADDING, ItemData, ItemSettings
from hashbench.data.tasks.items import EntitiesBlock, LinkSet, protocol_of
from hashbench.models.embeddings.base import MASK_ID, NO_LABEL, Batch
from hashbench.models.text.types import TokenizedTexts
from hashbench.models.text.unicode import ranges

SEGMENT, START, HIDDEN, CONTEXT = 31, 32, 33, 34  # streams of random numbers
LAST = np.uint64(2**64 - 1)


class Cases:
    """Test cases: one link of a page hidden, the context drawn from its other links. The same for every model."""

    def __init__(
        self, pages: TokenizedTexts, rows: np.ndarray, protocol: EntitiesBlock, *, limit: int | None = None
    ) -> None:
        """`pages` of a split and their `rows` (pages,) in the set; `limit`: at most so many cases, drawn by seed."""
        self.pages, self.protocol = pages, protocol
        # (n,) places in pages.ids
        links = _some_links(pages, protocol.cases_per_page, protocol.split_seed)
        if limit is not None and limit < len(links):
            links = np.sort(links[np.random.RandomState([protocol.split_seed, HIDDEN]).permutation(len(links))[:limit]])
        self.links = links
        self.page = np.searchsorted(pages.offsets, links, side="right") - 1  # (n,) among `pages`
        self.targets = pages.ids[links].astype(np.int64)  # (n,) the hidden items
        self.page_rows = rows[self.page]  # (n,) pages of the set

    def __len__(self) -> int:
        return len(self.links)

    def contexts(self, cases: np.ndarray) -> np.ndarray:
        """Item ids (B, segment_items) int32 of some cases (B,): [MASK] first, then other links of the page, then -2."""
        width, page = self.protocol.segment_items, self.page[cases]
        starts, ends = self.pages.offsets[page], self.pages.offsets[page + 1]
        longest = int((ends - starts).max())
        places = starts[:, None] + np.arange(longest)  # (B, links)
        usable = (places < ends[:, None]) & (places != self.links[cases][:, None])
        keys = random_bits(self.protocol.split_seed, 0, self.links[cases], longest, CONTEXT) >> np.uint64(1)
        chosen = _lowest(np.where(usable, keys, LAST), width - 1)  # (B, width - 1)
        item_places = np.take_along_axis(np.minimum(places, len(self.pages.ids) - 1), chosen, axis=1)
        kept = np.take_along_axis(usable, chosen, axis=1)
        ids = np.full((len(cases), width), PADDING, np.int32)
        ids[:, 0] = MASK_ID
        ids[:, 1 : 1 + chosen.shape[1]] = np.where(kept, self.pages.ids[item_places], PADDING)
        return ids


class EntityData(ItemData):
    """Training segments and cases of a page-link set."""

    cases: dict[str, Cases]

    def __init__(self, links: LinkSet, codes: np.ndarray, settings: ItemSettings) -> None:
        """`codes` (N, m): the tokens of each item."""
        super().__init__(links.task, codes, settings)
        self.links, self.protocol = links, protocol_of(links.task)
        self.train = links.links_of("train")
        limits = {"validation": self.protocol.validation_cases, "test": None}
        self.cases = {
            split: Cases(links.links_of(split), links.splits[split], self.protocol, limit=limit)
            for split, limit in limits.items()
        }

    def row_lengths(self) -> np.ndarray:
        """Items of each training page's segment (n,)."""
        return np.minimum(np.diff(self.train.offsets), self.protocol.segment_items)

    def case_batches(self, split: str) -> list[np.ndarray]:
        """Indices (B,) of the cases of a split, one batch after the other."""
        n = len(self.cases[split])
        return [np.arange(start, min(start + CASES_AT_ONCE, n)) for start in range(0, n, CASES_AT_ONCE)]

    def training_maker(self) -> Make:
        """The function that makes a batch of segments from numbers of training pages (B,) and an epoch."""
        collate = Collator(self.codes, self.template)

        def make(rows: np.ndarray, epoch: int) -> Batch:
            """Pages (B,) -> a batch of items (B, L) with the tokens of the hidden ones (B, L, m)."""
            ids = segments(self.train, rows, self.protocol, seed=self.seed, epoch=epoch)
            hidden, labels = self.corrupted(ids, rows, epoch)
            return self.segment_batch(collate, hidden, labels, rows)

        return make

    def case_maker(self, split: str) -> Make:
        """The function that makes a batch from numbers of cases (B,), with one hidden item a row."""
        collate, cases = Collator(self.codes, self.template), self.cases[split]

        def make(rows: np.ndarray, epoch: int) -> Batch:
            """Cases (B,) -> a batch of items (B, L) with the tokens of the hidden ones (B, L, m)."""
            ids = cases.contexts(rows)
            labels = np.full(ids.shape, NO_LABEL, np.int32)
            labels[:, 0] = cases.targets[rows]
            return self.segment_batch(collate, ids, labels, rows)

        return make


def segments(pages: TokenizedTexts, rows: np.ndarray, protocol: EntitiesBlock, *, seed: int, epoch: int) -> np.ndarray:
    """Up to `segment_items` links of some pages (B,), drawn anew in each epoch: ids (B, L) int32, -2 behind the last.

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


def _lowest(keys: np.ndarray, n: int) -> np.ndarray:
    """Columns (B, n) of the n lowest keys of each row (B, columns), lowest first; all columns where they are fewer."""
    if n < keys.shape[1]:
        part = np.argpartition(keys, n - 1, axis=1)[:, :n]
        return np.take_along_axis(part, np.argsort(np.take_along_axis(keys, part, axis=1), axis=1), axis=1)
    return np.argsort(keys, axis=1, kind="stable")


def _some_links(pages: TokenizedTexts, per_page: int | None, seed: int) -> np.ndarray:
    """Indexes in `pages.ids` of the links to hide (n,): all, or `per_page` at most of each page, drawn by the seed."""
    lengths = np.diff(pages.offsets)
    if per_page is None:
        return np.arange(len(pages.ids))
    keys = random_bits(seed, 0, np.arange(len(pages.ids)), 1, HIDDEN)[:, 0]
    page = np.repeat(np.arange(len(pages)), lengths)
    order = np.lexsort((keys, page))  # page by page, in random order
    within = ranges(np.zeros(len(pages), np.int64), lengths)
    return np.sort(order[within < per_page])
