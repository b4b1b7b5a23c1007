"""Page-link sets: which items each page links to, numbered by how often training pages do, and split by pages.

A set is a parquet file with a column of pages and one of lists of linked items, of any size: links are read piece by
piece and kept as integers. Superbloom's section 3.1 holds out a tenth of the pages as contexts; items that only they
link to stay in the vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hashbench.data.files import ROWS_AT_ONCE, FileTable, find_table, open_parquet
from hashbench.data.fingerprints import digest
from hashbench.data.tasks import Task
from hashbench.errors import InputError, near_match
from hashbench.experiment.schema import Entities, Phrases, TaskEntry
from hashbench.text.types import TokenizedTexts, TypeTable
from hashbench.text.unicode import pack

if TYPE_CHECKING:  # task_data.py is made of the tasks that this file adds to
    from hashbench.data.task_data import SourceKind

NAME = "entities"  # the task, and the folder in a data folder
FILE = "links"  # links.parquet, or links-00000-of-00002.parquet ...
METRICS = ("rec@1", "rec@10", "rec@20", "mrr", "token_rec@1", "certified")
SPLIT = 2  # stream of random numbers
LEAST = 2  # links of a page that can be hidden and still have a context

ENTITIES = Task(
    name=NAME,
    text=("page",),
    label="links",
    kind="entities",
    metrics=METRICS,
    select_metric="rec@1",
    report_splits=("test",),
)


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

    def load(self) -> LinkSet:
        """Read, count, drop what cannot be used, split.

        Raises:
            InputError: a file that is no page-link set, or one with too few pages for a split.
        """
        protocol = links_protocol(self.task)
        items, pages, notes = read_links(self.table, self.task.text[0], self.task.label, protocol.max_items)
        kept = np.flatnonzero(np.diff(pages.offsets) >= LEAST)
        if len(kept) < len(pages):
            notes += [f"{len(pages) - len(kept):,} pages with fewer than {LEAST} links left out"]
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


def links_protocol(task: Task) -> Entities:
    """How a page-link set is split and tested: as the experiment says, or by default."""
    return task.protocol if isinstance(task.protocol, Entities) else Entities()


def locate_links(folder: Path, task: Task, *, kind: SourceKind = "folder") -> LocatedLinks | None:
    """The page-link set in a folder, None where there is none. Raises InputError for one that is not parquet."""
    table = find_table(folder, (FILE,)) if folder.is_dir() else None
    if table is None:
        return None
    if table.paths[0].suffix != ".parquet":
        raise InputError(f"{table.where}: a page-link set is a parquet file, whose cells may be lists; convert it")
    return LocatedLinks(task, table, f"{'own data set' if kind == 'own' else 'folder'} {folder.name}", kind)


def own_links(entry: TaskEntry, base: Path) -> Task:
    """The task of a page-link set of the user's own. Raises InputError where there is no such folder or file."""
    folder = (base / Path(entry.path).expanduser()).absolute()
    if not isinstance(entry.text, str):
        raise InputError(f"task {entry.name!r}: text is the column of the page, one name; the items stand in links")
    metric = "rec@1" if entry.metric == "accuracy" else entry.metric  # the schema's default is for texts
    if metric not in METRICS:
        near = near_match(metric, list(METRICS)) or ";"
        hint = f"{near} choose from {', '.join(METRICS)}"
        raise InputError(f"task {entry.name!r}: metric {metric!r} is none of a page-link set{hint}")
    if locate_links(folder, ENTITIES, kind="own") is None:
        raise InputError(f"task {entry.name!r}: no {FILE}.parquet in {folder}; check path")
    label = entry.links or ENTITIES.label
    return Task(
        name=entry.name,
        text=(entry.text,),
        label=label,
        kind="entities",
        metrics=METRICS,
        select_metric=metric,
        report_splits=("test",),
        folder=folder,
    )


def read_links(
    table: FileTable, page_column: str, column: str, max_items: int | None
) -> tuple[list[str], TokenizedTexts, list[str]]:
    """The items in the order met, each page as ids of them, and what should be said.

    Repetitions within a page are dropped; with `max_items` the links to all but the most linked items too.
    """
    known: dict[str, int] = {}
    ids, lengths, n_links = [], [], 0
    for part in _pieces(table, page_column, column):
        flat, of_page = part.flatten(), part.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        if flat.null_count:
            raise InputError(f"{table.where}: column {column!r} has an empty cell within a list; drop it")
        coded = pc.dictionary_encode(flat.cast(pa.large_string()))
        meaning = np.array([known.setdefault(each, len(known)) for each in coded.dictionary.to_pylist()], np.int64)
        pages = np.repeat(np.arange(len(of_page)), of_page)
        found = meaning[coded.indices.to_numpy(zero_copy_only=False)] if len(flat) else np.zeros(0, np.int64)
        first = np.sort(np.unique(pages * len(known) + found, return_index=True)[1])  # in the order of the file
        ids.append(found[first].astype(np.int32))
        lengths.append(np.bincount(pages[first], minlength=len(of_page)))
        n_links += len(flat)
    flat_ids, page_lengths = np.concatenate(ids), np.concatenate(lengths)
    repeated = n_links - len(flat_ids)
    notes = [f"{repeated:,} repeated links left out"] if repeated else []
    pages_as_ids = _laid(flat_ids, page_lengths)
    items = list(known)
    if max_items is not None and max_items < len(items):
        items, pages_as_ids = _most_linked(items, pages_as_ids, max_items)
        dropped = len(flat_ids) - len(pages_as_ids.ids)
        notes.append(f"the {max_items:,} most linked items alone, {dropped:,} links dropped")
    return items, pages_as_ids, notes


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


def _pieces(table: FileTable, page_column: str, column: str) -> Iterator[pa.Array]:
    """The lists of items, some thousand pages at a time. Raises InputError where the column holds no lists of texts."""
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
        raise InputError(f"{table.where}: has no rows; put at least one in it")


def _laid(ids: np.ndarray, lengths: np.ndarray) -> TokenizedTexts:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return TokenizedTexts(ids, offsets)


def _most_linked(items: list[str], pages: TokenizedTexts, n: int) -> tuple[list[str], TokenizedTexts]:
    """The n most linked items (ties by string), and the pages without the others."""
    table, rank = TypeTable.sorted(*pack(items), np.bincount(pages.ids, minlength=len(items)).astype(np.int64))
    ids = rank[pages.ids]
    kept = ids < n
    of_page = np.repeat(np.arange(len(pages)), np.diff(pages.offsets))
    return table.strings(np.arange(n)), _laid(ids[kept], np.bincount(of_page[kept], minlength=len(pages)))
