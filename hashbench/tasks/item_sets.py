"""Sets of pages that link to items, or of documents made of items, numbered by how often training has them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hashbench.data.fingerprints import digest
from hashbench.data.sources import SourceKind
from hashbench.errors import InputError
from hashbench.tasks.base import Task
from hashbench.tasks.blocks import Entities, Phrases
from hashbench.text.types import TokenizedTexts, TypeTable
from hashbench.text.unicode import pack

METRICS = ("rec@1", "rec@10", "rec@20", "mrr", "token_rec@1", "certified")
SPLIT = 2  # stream of random numbers
LEAST = 2  # links of a page that can be hidden and still have a context


@dataclass(frozen=True)
class LinkSet:
    """A page-link set, read and split; or documents as items, which are then its pages."""

    task: Task
    items: TypeTable  # all linked items, ids by (links on training pages descending, string)
    pages: TokenizedTexts  # item ids of each page, without repetition; of a document in their order
    splits: dict[str, np.ndarray]  # split -> pages (n,) int64, ascending
    fingerprint: str  # SHA-256 of the file
    origin: str
    kind: SourceKind
    notes: tuple[str, ...] = ()

    def links_of(self, split: str) -> TokenizedTexts:
        """The pages of one split."""
        rows = self.splits[split]
        lengths = np.diff(self.pages.offsets)[rows]
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        places = np.repeat(self.pages.offsets[:-1][rows] - offsets[:-1], lengths) + np.arange(int(offsets[-1]))
        return TokenizedTexts(self.pages.ids[places], offsets)

    @cached_property
    def training_fingerprint(self) -> str:
        """SHA-256 of what a coder is fitted on: the items, and the split."""
        return digest(self.items.fingerprint, self.fingerprint, str(self.task.protocol))


def number_items(items: list[str], pages: TokenizedTexts, train: np.ndarray) -> tuple[TypeTable, np.ndarray]:
    """The items by (links on training pages, string), and the links (total,) int32 with these numbers."""
    trained = np.zeros(len(pages), bool)
    trained[train] = True
    counts = np.bincount(pages.ids[np.repeat(trained, np.diff(pages.offsets))], minlength=len(items))
    table, rank = TypeTable.sorted(*pack(items), counts.astype(np.int64))
    return table, rank[pages.ids]


def split_pages(pages: np.ndarray, protocol: Entities | Phrases, where: str) -> dict[str, np.ndarray]:
    """Train, validation and test pages (ascending), a function of the number of pages and the seed alone."""
    order = pages[np.random.RandomState([protocol.split_seed, SPLIT]).permutation(len(pages))]
    n_test = max(1, int(protocol.test_share * len(pages)))
    n_validation = max(1, int(protocol.validation_share * (len(pages) - n_test)))
    if len(pages) <= n_test + n_validation:
        raise InputError(f"{where}: {len(pages)} pages with {LEAST} links or more cannot be split; give more pages")
    parts = np.split(order, [n_test, n_test + n_validation])
    return {name: np.sort(part) for name, part in zip(("test", "validation", "train"), parts, strict=True)}
