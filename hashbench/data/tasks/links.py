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
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from hashbench.common.errors import InputError, near_match
from hashbench.data.sources.files import ROWS_AT_ONCE, FileTable, find_table, open_parquet
from hashbench.data.sources.fingerprints import digest, refuse_changed
from hashbench.data.sources.sources import SourceKind
from hashbench.data.tasks.base import CheckedData, Task
from hashbench.data.tasks.blocks import Beams, Seed, Strict
from hashbench.data.tasks.items import LEAST, LinkSet, number_items, protocol_of, split_pages
from hashbench.models.text.types import TokenizedTexts, TypeTable
from hashbench.models.text.unicode import offsets_from, pack

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
        raise InputError(f"{table.where}: has no rows; put at least one in it")


def _most_linked(items: list[str], pages: TokenizedTexts, n: int) -> tuple[list[str], TokenizedTexts]:
    """The n most linked items (ties by string), and the pages without the others."""
    table, rank = TypeTable.sorted(*pack(items), np.bincount(pages.ids, minlength=len(items)).astype(np.int64))
    ids = rank[pages.ids]
    kept = ids < n
    of_page = np.repeat(np.arange(len(pages)), np.diff(pages.offsets))
    lengths = np.bincount(of_page[kept], minlength=len(pages))
    return table.strings(np.arange(n)), TokenizedTexts(ids[kept], offsets_from(lengths))
