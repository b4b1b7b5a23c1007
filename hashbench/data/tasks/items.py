"""Tasks of hidden items: sets of pages or documents that hold items, the base of the kinds, trivial baselines.

A page-link set says which items each page links to, numbered by how often training pages do, and split by pages. It is
a parquet file with a column of pages and one of lists of linked items, of any size: links are read piece by
piece and kept as integers. Superbloom's section 3.1 holds out a tenth of the pages as contexts; items that only they
link to stay in the vocabulary.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from hashbench.common.errors import InputError, near_match
from hashbench.common.measured import MetricRow
from hashbench.data.sources.files import ROWS_AT_ONCE, FileTable, find_table, open_parquet
from hashbench.data.sources.fingerprints import digest, refuse_changed
from hashbench.data.sources.sources import SourceKind
from hashbench.data.tasks.base import CheckedData, SplitOutputs, Task, TaskKind
from hashbench.data.tasks.blocks import Beams, Seed, Strict
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
FEWEST_LINKS = 2  # links of a page that can be hidden and still have a context


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

    Which pages: a function of the number of pages and the seed alone.
    """
    order = pages[np.random.RandomState([protocol.split_seed, SPLIT]).permutation(len(pages))]
    n_test = max(1, int(protocol.test_share * len(pages)))
    n_validation = max(1, int(protocol.validation_share * (len(pages) - n_test)))
    if len(pages) <= n_test + n_validation:
        raise InputError(
            f"{where}: {len(pages)} pages with {FEWEST_LINKS} links or more cannot be split; give more pages"
        )
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
        if sum(links.values()) < FEW_LINKS:  # each link is one case at most; cases take a while to make
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


FILE = "links"  # links.parquet, or links-00000-of-00002.parquet ...


class EntitiesBlock(Strict):
    """How a page-link set is split, cut into segments and evaluated; the same for all models of an experiment."""

    max_items: int | None = Field(default=None, gt=0, description="keep links to the most linked items only; null: all")
    test_share: float = Field(default=0.1, gt=0, lt=1, description="share of the pages that are held out for testing")
    validation_share: float = Field(
        default=0.1, gt=0, lt=1, description="share of the remaining pages by which the best evaluation is chosen"
    )
    split_seed: Seed = Field(default=0, description="of the held-out pages and of the contexts they are tested in")
    segment_items: int = Field(default=32, ge=2, description="items of a segment at most, the hidden ones included")
    segment: Literal["subset", "contiguous"] = Field(
        default="subset",
        description="how a segment is drawn from a longer page: any of its links, or neighbours (links may be sorted)",
    )
    validation_cases: int | None = Field(
        default=2048,
        gt=0,
        description="cases of an evaluation during training; null: every link of every validation page",
    )
    cases_per_page: int | None = Field(
        default=None, gt=0, description="hidden links a test page, one at a time; null: each of its links; the paper: 1"
    )
    beams: Beams = (1, 5, 10, 20, 50, 100)


@dataclass(frozen=True)
class LocatedLinks:
    """A page-link set that is not read yet."""

    task: Task
    table: FileTable
    origin: str
    kind: SourceKind

    @property
    def tables(self) -> dict[str, FileTable]:
        """The one table; it holds all pages."""
        return {FILE: self.table}

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the file and of the columns that are read."""
        return digest("links", self.table.fingerprint(), *self.task.text, self.task.label)

    def checked_items(self) -> CheckedData:
        """The number of items and notes on the set, known only by reading it."""
        links = self.load()
        return CheckedData(len(links.items), links.notes)

    def load(self) -> LinkSet:
        """The page-link set, read and split; pages with too few links are in no split.

        Raises:
            InputError: a file that is no page-link set, or one with too few pages for a split.
        """
        protocol = protocol_of(self.task)
        items, pages, notes = read_links(self.table, self.task.text[0], self.task.label, protocol.max_items)
        refuse_changed(self, self.table.where)
        kept = np.flatnonzero(np.diff(pages.offsets) >= FEWEST_LINKS)
        if len(kept) < len(pages):
            notes += [f"{len(pages) - len(kept):,} pages with fewer than {FEWEST_LINKS} links left out"]
        splits = split_pages(kept, protocol, self.table.where)
        table, ids = number_items(items, pages, splits["train"])
        return LinkSet(
            self.task,
            table,
            TokenizedTexts(ids, pages.offsets),
            splits,
            self.fingerprint,
            self.origin,
            self.kind,
            tuple(notes),
        )


def in_folder(folder: Path, task: Task, origin: str, kind: SourceKind) -> LocatedLinks | None:
    """The page-link set in a folder, None where there is none. Raises InputError for one that is not parquet."""
    table = find_table(folder, (FILE,)) if folder.is_dir() else None
    return None if table is None else links_of_table(task, table, origin, kind)


def links_of_table(task: Task, table: FileTable, origin: str, kind: SourceKind) -> LocatedLinks:
    """A table as a page-link set. Raises InputError for one that is not parquet."""
    if table.paths[0].suffix != ".parquet":
        raise InputError(f"{table.where}: a page-link set is a parquet file, whose cells may be lists; convert it")
    return LocatedLinks(task, table, origin, kind)


def read_links(
    table: FileTable, page_column: str, column: str, max_items: int | None
) -> tuple[list[str], TokenizedTexts, list[str]]:
    """The linked items, the item ids of each page, and notes on links that were left out.

    Repetitions within a page are dropped; with `max_items` the links to all but the most linked items too.
    """
    numbers: dict[str, int] = {}
    ids, lengths, n_links = [], [], 0
    for part in _pieces(table, page_column, column):
        flat, of_page = part.flatten(), part.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        if flat.null_count:
            raise InputError(f"{table.where}: column {column!r} has an empty cell within a list; drop it")
        coded = pc.dictionary_encode(flat.cast(pa.large_string()))
        meaning = np.array([numbers.setdefault(item, len(numbers)) for item in coded.dictionary.to_pylist()], np.int64)
        pages = np.repeat(np.arange(len(of_page)), of_page)
        item_ids = meaning[coded.indices.to_numpy(zero_copy_only=False)] if len(flat) else np.zeros(0, np.int64)
        # In the order of the file
        first = np.sort(np.unique(pages * len(numbers) + item_ids, return_index=True)[1])
        ids.append(item_ids[first].astype(np.int32))
        lengths.append(np.bincount(pages[first], minlength=len(of_page)))
        n_links += len(flat)
    flat_ids, page_lengths = np.concatenate(ids), np.concatenate(lengths)
    repeated = n_links - len(flat_ids)
    notes = [f"{repeated:,} repeated links left out"] if repeated else []
    pages_as_ids = TokenizedTexts(flat_ids, offsets_from(page_lengths))
    items = list(numbers)
    if max_items is not None and max_items < len(items):
        items, pages_as_ids = _most_linked(items, pages_as_ids, max_items)
        dropped = len(flat_ids) - len(pages_as_ids.ids)
        notes.append(f"the {max_items:,} most linked items alone, {dropped:,} links dropped")
    return items, pages_as_ids, notes


def _pieces(table: FileTable, page_column: str, column: str) -> Iterator[pa.Array]:
    """The lists of items of (n,) pages, some thousand pages at a time.

    Raises InputError where the column holds no lists of texts.
    """
    some = False
    for path in table.paths:
        file = open_parquet(path)
        names = file.schema_arrow.names
        for name in (page_column, column):
            if name not in names:
                hint = near_match(name, names) or f"; it has {', '.join(names)}"
                raise InputError(f"{path}: no column {name!r}{hint}")
        kind = file.schema_arrow.field(column).type
        lists = pa.types.is_list(kind) or pa.types.is_large_list(kind)
        if not lists or not (pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type)):
            raise InputError(f"{path}: column {column!r} holds {kind}, not lists of texts; name the column of links")
        for batch in file.iter_batches(batch_size=ROWS_AT_ONCE, columns=[column]):
            some = some or len(batch) > 0
            yield batch.column(0)
    if not some:
        raise InputError(f"{table.where}: has no rows; put some in it")


def _most_linked(items: list[str], pages: TokenizedTexts, n: int) -> tuple[list[str], TokenizedTexts]:
    """The n most linked items (ties by string), and the pages without the others."""
    table, rank = TypeTable.sorted(*pack(items), np.bincount(pages.ids, minlength=len(items)).astype(np.int64))
    ids = rank[pages.ids]
    kept = ids < n
    of_page = np.repeat(np.arange(len(pages)), np.diff(pages.offsets))
    lengths = np.bincount(of_page[kept], minlength=len(pages))
    return table.strings(np.arange(n)), TokenizedTexts(ids[kept], offsets_from(lengths))
