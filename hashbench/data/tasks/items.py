"""Tasks of items: sets of pages that link to items or of documents made of them, and what all kinds of them share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np

from hashbench.common.errors import InputError
from hashbench.data.sources.fingerprints import digest
from hashbench.data.sources.sources import SourceKind
from hashbench.data.tasks.base import ConditionedScore, SplitOutputs, Task, TaskKind
from hashbench.models.text.types import TokenizedTexts, TypeTable
from hashbench.models.text.unicode import offsets_from, pack, ranges
from hashbench.scores.rankings import TOKENS
from hashbench.scores.registry import find_metric

if TYPE_CHECKING:
    from hashbench.data.tasks.item_batches import HiddenItems, ItemData

# rec@1 first: it selects, as in the paper's tables
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
        places = ranges(self.pages.offsets[:-1][rows], lengths)
        return TokenizedTexts(self.pages.ids[places], offsets_from(lengths))

    @cached_property
    def training_fingerprint(self) -> str:
        """SHA-256 of what a coder is fitted on: the items, and the split."""
        return digest(self.items.fingerprint, self.fingerprint, str(self.task.protocol))


def number_items(items: list[str], pages: TokenizedTexts, train: np.ndarray) -> tuple[TypeTable, np.ndarray]:
    """The items by (links on training pages (n,), string), and the links (total,) int32 with these numbers."""
    trained = np.zeros(len(pages), bool)
    trained[train] = True
    counts = np.bincount(pages.ids[np.repeat(trained, np.diff(pages.offsets))], minlength=len(items))
    table, rank = TypeTable.sorted(*pack(items), counts.astype(np.int64))
    return table, rank[pages.ids]


class SplitShares(Protocol):
    """The keys of a kind's block that say which rows are held out."""

    @property
    def split_seed(self) -> int:
        """Of the rows that are held out."""

    @property
    def test_share(self) -> float:
        """Share of the rows that are held out for testing."""

    @property
    def validation_share(self) -> float:
        """Share of the remaining rows by which the best evaluation is chosen."""


def split_pages(pages: np.ndarray, protocol: SplitShares, where: str) -> dict[str, np.ndarray]:
    """Train, validation and test pages, each (k,), ascending, of the pages (n,).

    Which of them: a function of the number of pages and the seed alone.
    """
    order = pages[np.random.RandomState([protocol.split_seed, SPLIT]).permutation(len(pages))]
    n_test = max(1, int(protocol.test_share * len(pages)))
    n_validation = max(1, int(protocol.validation_share * (len(pages) - n_test)))
    if len(pages) <= n_test + n_validation:
        raise InputError(f"{where}: {len(pages)} pages with {LEAST} links or more cannot be split; give more pages")
    parts = np.split(order, [n_test, n_test + n_validation])
    return {name: np.sort(part) for name, part in zip(("test", "validation", "train"), parts, strict=True)}


class RowLength(NamedTuple):
    """How long the rows of a task are."""

    key: str  # of the kind's block
    items: int
    specials: int  # special tokens of a row


class ItemKind(TaskKind):
    """A task of hidden items; a subclass says what a page is."""

    reads_items = True
    description = "a task of hidden items"
    # -> ranks (n,) of the cases of a split
    baselines: ClassVar[Mapping[str, Callable[[LinkSet, Any], np.ndarray]]]
    coherent_maps = False  # whether maps can be made of which items a page has
    in_order = False  # whether the place of an item in its row tells something

    @abstractmethod
    def batches(self, *arguments: Any, **options: Any) -> ItemData:
        """Batches of rows with hidden items, and of the cases that are tested."""

    @abstractmethod
    def cases(self, data: LinkSet, split: str) -> HiddenItems:
        """The cases of a split that are tested, the same for every model."""

    @abstractmethod
    def row_length(self, block: Any) -> RowLength:
        """The longest row under the kind's block."""

    def next_sentence(self, block: Any) -> bool:
        """Whether a head tells if the second segment of a row followed its first."""
        return False

    def predictions(self, baseline: str, data: LinkSet, split: str = "test") -> dict[str, SplitOutputs]:
        """Outputs (n, 3) int32 on the cases of a split: page, rank, 0 (nothing is certified)."""
        cases = self.cases(data, split)
        outputs = np.zeros((len(cases), TOKENS), np.int32)
        outputs[:, 0], outputs[:, 1] = cases.page_rows, self.baselines[baseline](data, cases)
        return {split: SplitOutputs(outputs, cases.targets)}

    def scores(self, task: Task, result: SplitOutputs) -> list[ConditionedScore]:
        """Every metric, under every condition that it is stored for."""
        return [
            ConditionedScore(name, value, condition=condition)
            for name in task.metrics
            for condition, value in find_metric(name).by_condition(result.targets, result.outputs).items()
        ]

    def protocol_spec(self, task: Task) -> dict[str, Any]:
        """A vocabulary file is in the fingerprint of the data, by its content."""
        return {} if task.protocol is None else {self.name: task.protocol.model_dump(exclude={"vocabulary"})}


def item_kind(task: Task) -> ItemKind:
    """The kind of a task that is known to be of items."""
    assert isinstance(task.kind, ItemKind)
    return task.kind


def protocol_of(task: Task) -> Any:
    """How items are split and tested: the block of the task's kind as the experiment has it, or by default."""
    assert task.kind.block is not None
    return task.protocol or task.kind.block()
