"""Tasks of hidden items: sets of pages or documents that hold items, the base of the kinds, trivial baselines."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np

from hashbench.common.errors import InputError
from hashbench.common.measured import MetricRow
from hashbench.data.sources.fingerprints import digest
from hashbench.data.sources.sources import SourceKind
from hashbench.data.tasks.base import SplitOutputs, Task, TaskKind
from hashbench.models.text.types import TokenizedTexts, TypeTable
from hashbench.models.text.unicode import offsets_from, pack, ranges
from hashbench.scores.base import find_metric
from hashbench.scores.rankings import TOKENS

if TYPE_CHECKING:
    from hashbench.data.tasks.item_batches import HiddenItems, ItemData, ItemSettings

# rec@1 first: it selects, as in the paper's tables
METRICS = ("rec@1", "rec@10", "rec@20", "mrr", "token_rec@1", "certified")
SPLIT = 2  # stream of random numbers
CELLS = 1 << 24  # scores of the baseline of co-occurrence that exist at a time
FEW_LINKS = 2_000_000  # whose outputs are always small enough to be stored
MAPS = 16  # more hash maps than a model of the suite has
LEAST = 2  # links of a page that can be hidden and still have a context


@dataclass(frozen=True)
class LinkSet:
    """A page-link set, read and split, or a corpus of documents made of items, which are then its pages."""

    task: Task
    items: TypeTable  # all linked items, ids by (links on training pages descending, string)
    pages: TokenizedTexts  # item ids of each page, without repetition; of a document in their order
    splits: dict[str, np.ndarray]  # split -> pages (n,) int64, ascending
    fingerprint: str  # SHA-256 of the file
    origin: str
    kind: SourceKind
    notes: tuple[str, ...] = ()

    def links_of(self, split: str) -> TokenizedTexts:
        """The item ids of each page of one split."""
        rows = self.splits[split]
        lengths = np.diff(self.pages.offsets)[rows]
        places = ranges(self.pages.offsets[:-1][rows], lengths)
        return TokenizedTexts(self.pages.ids[places], offsets_from(lengths))

    @cached_property
    def training_fingerprint(self) -> str:
        """SHA-256 of what a coder is fitted on: the items, and the split."""
        return digest(self.items.fingerprint, self.fingerprint, str(self.task.protocol))


def number_items(items: list[str], pages: TokenizedTexts, train: np.ndarray) -> tuple[TypeTable, np.ndarray]:
    """The items sorted by (links on pages `train` (n,) descending, string), and the links (total,) int32 renumbered."""
    trained = np.zeros(len(pages), bool)
    trained[train] = True
    counts = np.bincount(pages.ids[np.repeat(trained, np.diff(pages.offsets))], minlength=len(items))
    table, rank = TypeTable.sorted(*pack(items), counts.astype(np.int64))
    return table, rank[pages.ids]


class SplitShares(Protocol):
    """The keys of a kind's block that set which rows are held out."""

    split_seed: int  # of the rows that are held out
    test_share: float  # of the rows, held out for testing
    validation_share: float  # of the remaining rows, by which the best evaluation is chosen


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
    """The length of a task's longest row."""

    key: str  # of the kind's block
    items: int
    specials: int  # special tokens of a row


class ItemKind(TaskKind):
    """Base of the kinds of task with hidden items; a subclass says what a page is."""

    reads_items = True
    description = "a task of hidden items"
    # -> ranks (n,) of the cases of a split
    baselines: ClassVar[Mapping[str, Callable[[LinkSet, Any], np.ndarray]]]
    coherent_maps = False  # whether maps can be made of which items a page has
    in_order = False  # whether the place of an item in its row has a meaning

    @abstractmethod
    def cases(self, data: LinkSet, split: str) -> HiddenItems:
        """The cases of a split that are tested, the same for every model."""

    @abstractmethod
    def batches(self, data: LinkSet, codes: np.ndarray, settings: ItemSettings) -> ItemData:
        """Batches of a set whose items have the tokens `codes` (N, m), for training and evaluations."""

    @abstractmethod
    def row_length(self, block: Any) -> RowLength:
        """The length of the longest row that the kind's block allows."""

    def next_sentence(self, block: Any) -> bool:
        """True where a head predicts if the second segment of a row followed its first."""
        return False

    def predictions(self, baseline: str, data: LinkSet, split: str = "test") -> dict[str, SplitOutputs]:
        """A trivial baseline's outputs (n, 3) int32 on the cases of a split: page, rank, 0 (not certified)."""
        cases = self.cases(data, split)
        outputs = np.zeros((len(cases), TOKENS), np.int32)
        outputs[:, 0], outputs[:, 1] = cases.page_rows, self.baselines[baseline](data, cases)
        return {split: SplitOutputs(outputs, cases.targets)}

    def stored_outputs(self, data: LinkSet) -> dict[str, tuple[int, int]]:
        links = {split: int(np.diff(data.pages.offsets)[data.splits[split]].sum()) for split in ("validation", "test")}
        if sum(links.values()) < FEW_LINKS:  # of which each is one case at most; these take a while to make
            return {split: (n, TOKENS + MAPS) for split, n in links.items()}
        return {split: (len(self.cases(data, split)), TOKENS + MAPS) for split in links}

    def scores(self, task: Task, result: SplitOutputs) -> list[MetricRow]:
        """Scores by every metric, under every condition that it is stored for."""
        return [
            MetricRow(name, value, condition=condition)
            for name in task.metrics
            for condition, value in find_metric(name).by_condition(result.targets, result.outputs).items()
        ]

    def protocol_spec(self, task: Task) -> dict[str, Any]:
        """The kind's block in a run's identity, without its vocabulary file, which the data's fingerprint covers."""
        return {} if task.protocol is None else {self.name: task.protocol.model_dump(exclude={"vocabulary"})}


def popularity(links: LinkSet, cases: HiddenItems) -> np.ndarray:
    """Ranks (n,) of the hidden items among all items sorted by links on training pages, whatever the context."""
    return cases.targets + 1


def nearest(links: LinkSet, cases: Any) -> np.ndarray:
    """Ranks (n,) of the hidden items by the summed co-occurrence cosines of each item with the items of the context.

    Ties go to the more frequent item, as everywhere.
    """
    from scipy import sparse

    from hashbench.models.coders.bloom import co_occurrence

    n_items = len(links.items)
    together = co_occurrence(links.links_of("train"), n_items)  # (N, N)
    scale = sparse.diags_array(1.0 / np.sqrt(np.maximum(links.items.counts, 1)))
    similarity = (scale @ together @ scale).tocsr()
    ranks = np.empty(len(cases), np.int64)
    step = max(1, CELLS // n_items)
    for start in range(0, len(cases), step):
        rows = np.arange(start, min(start + step, len(cases)))
        ids = cases.contexts(rows)
        row, column = np.nonzero(ids >= 0)
        ones = np.ones(len(row))
        contexts = sparse.csr_matrix((ones, (row, ids[row, column])), shape=(len(rows), n_items))
        ranks[rows] = ranks_of((contexts @ similarity).toarray(), cases.targets[rows])
    return ranks


def ranks_of(scores: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Rank (n,) of the target (n,) among scores (n, N): 1 + those above it, and equal ones with a lower number.

    >>> ranks_of(np.array([[0.5, 0.9, 0.5]]), np.array([2])).tolist()
    [3]
    """
    of_targets = np.take_along_axis(scores, targets[:, None], axis=1)
    earlier = np.arange(scores.shape[1]) < targets[:, None]
    return 1 + ((scores > of_targets) | ((scores == of_targets) & earlier)).sum(axis=1)


def item_kind(task: Task) -> ItemKind:
    """The kind of a task that is known to be of items."""
    assert isinstance(task.kind, ItemKind)
    return task.kind


def protocol_of(task: Task) -> Any:
    """The experiment's block of the task's kind, or the default one; it sets how items are split and tested."""
    assert task.kind.block is not None
    return task.protocol or task.kind.block()
