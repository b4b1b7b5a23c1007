"""Shards: documents of a corpus that follow each other and are read by themselves, on any machine that has the files.

A parquet file is cut at its row groups, a data set of the hub at its files; other files are one shard each. Small files
and row groups are put together until a shard has about `SHARD_BYTES`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from hashbench.common.errors import InputError
from hashbench.data.sources import builtin
from hashbench.data.sources.files import iterate_column, open_parquet
from hashbench.data.sources.hub import HubTable
from hashbench.data.sources.opening import format_of, read_text

TEXT_COLUMN = "text"
# Of text; a part of the names of finished shards, so a change begins these anew.
SHARD_BYTES = 64 << 20
# Releases of HashFormers' code: an article ends at the first of them
ARTICLE_END = ("See also", "References", "Category")


@dataclass(frozen=True)
class FilePart:
    """A file, or some row groups of a parquet file."""

    path: Path
    # The first row group, and the one behind the last; None: the whole file
    within: tuple[int, int] | None = None
    rows: int | None = None  # None: only reading would tell
    bytes: int = 0
    name: str = ""  # of the file, with the folders in the corpus

    @property
    def rows_before(self) -> int:
        """The number of rows of the file before this part."""
        if self.within is None:
            return 0
        metadata = open_parquet(self.path).metadata
        return sum(metadata.row_group(number).num_rows for number in range(self.within[0]))

    def cells(self, skip: int) -> Iterator[object]:
        """The part's cells (texts) but the first `skip`."""
        if format_of(self.path) == ".txt":
            return iter([read_text(self.path)][skip:])  # a text file is one document
        return iterate_column(self.path, TEXT_COLUMN, self.within, skip)


@dataclass(frozen=True)
class HubPart:
    """Part `number` of a table on the hub that is cut into `of` parts."""

    table: HubTable
    number: int = 0
    of: int = 1
    rows: int | None = None
    bytes: int = SHARD_BYTES
    rows_before: int = 0

    def cells(self, skip: int) -> Iterator[object]:
        """The part's cells (texts) but the first `skip`, read as a stream."""
        return islice(self.table.stream(TEXT_COLUMN, self.number, self.of), skip, None)


@dataclass(frozen=True)
class BuiltinPart:
    """The whole generated corpus as a part of a shard."""

    rows: int | None = None
    bytes: int = 0
    rows_before: int = 0

    def cells(self, skip: int) -> Iterator[object]:
        """The corpus' texts but the first `skip`."""
        return islice(builtin.corpus(), skip, None)


Part = FilePart | HubPart | BuiltinPart


@dataclass(frozen=True)
class CorpusShard:
    """Consecutive documents of a corpus, in the parts of files that hold them."""

    origin: str  # of the corpus, as messages name it
    parts: tuple[Part, ...]
    limit: int | None = None  # documents at most
    articles: bool = False  # each is cut where an article ends (`article`)
    row_words: int | None = None  # its texts are rows of documents (`word_rows`), not the documents

    @property
    def bytes(self) -> int:
        """About how many bytes the shard has, at least 1."""
        return max(1, sum(part.bytes for part in self.parts))

    @property
    def name(self) -> str:
        """A text that names the shard's contents without folders, equal on every machine."""
        parts = []
        for part in self.parts:
            if isinstance(part, FilePart):
                parts.append(f"{part.name or part.path.name} {part.within}")
            elif isinstance(part, HubPart):
                parts.append(f"{part.table.where} {part.number} of {part.of}")
        rows = "" if self.row_words is None else f", rows of {self.row_words} words"
        return f"{self.origin}: {', '.join(parts)}; limit {self.limit}, articles {self.articles}, {SHARD_BYTES}{rows}"

    def texts(self, skip: int = 0) -> Iterator[str]:
        """The documents but the first `skip`, or their rows; a missing one is empty. Never all of them in memory.

        Raises InputError for a file that cannot be read, and for a cell that is no text.
        """
        texts = self._texts(skip)
        wanted = texts if self.limit is None else islice(texts, max(0, self.limit - skip))
        documents = map(article, wanted) if self.articles else wanted
        return documents if self.row_words is None else word_rows(documents, self.row_words)

    def _texts(self, skip: int) -> Iterator[str]:
        for part in self.parts:
            if part.rows is not None and skip >= part.rows:
                skip -= part.rows
                continue
            # Where nobody knows how many rows it has, they are counted in passing
            before = row = skip if part.rows is not None or part is self.parts[-1] else 0
            for row, cell in enumerate(part.cells(before), start=before + 1):
                if row <= skip:
                    continue
                if cell is not None and not isinstance(cell, str):
                    file = f"{part.name or part.path.name} " if isinstance(part, FilePart) else ""
                    where = f"{self.origin}: {file}row {part.rows_before + row}"
                    raise InputError(f"{where}: {type(cell).__name__} in column {TEXT_COLUMN!r}, not text")
                yield cell or ""
            skip = max(0, skip - row)


def cut(
    origin: str, parts: Iterable[Part], *, limit: int | None, articles: bool, row_words: int | None = None
) -> list[CorpusShard]:
    """The parts of a corpus grouped into shards, in order, with at most `limit` documents in all.

    With a limit, all parts from the first one of unknown length on are one shard; parts behind the limit are left out.
    """
    shards: list[CorpusShard] = []
    together: list[Part] = []

    def close(limit: int | None = None) -> None:
        if together:
            shards.append(CorpusShard(origin, _joined(together), limit, articles, row_words))
            together.clear()

    waiting = list(parts)
    for number, part in enumerate(waiting):
        if limit is not None and (part.rows is None or part.rows >= limit):
            limit += sum(part.rows or 0 for part in together)
            together.extend(waiting[number:] if part.rows is None else [part])
            close(limit)
            break
        limit = None if limit is None or part.rows is None else limit - part.rows
        together.append(part)
        if sum(part.bytes for part in together) >= SHARD_BYTES:
            close()
    close()
    return shards


def file_parts(files: Sequence[Path]) -> Iterator[Part]:
    """Files as parts: row groups of parquet files, others whole.

    Raises InputError for a parquet file that is none.
    """
    above = os.path.commonpath([path.parent for path in files]) if files else ""
    for path in files:
        name = path.relative_to(above).as_posix()
        if format_of(path) != ".parquet":
            rows = 1 if format_of(path) == ".txt" else None
            yield FilePart(path, rows=rows, bytes=path.stat().st_size, name=name)
            continue
        metadata = open_parquet(path).metadata
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            columns = [group.column(i) for i in range(group.num_columns)]
            sizes = [part.total_uncompressed_size for part in columns if part.path_in_schema == TEXT_COLUMN]
            # Without the column the whole group counts: reading will say what is missing
            size = sum(sizes) or group.total_byte_size
            yield FilePart(path, (number, number + 1), group.num_rows, size, name)


def _joined(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The parts, with consecutive pieces of one file joined."""
    joined: list[Part] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, FilePart) and isinstance(last, FilePart) and last.path == part.path:
            assert last.within is not None and part.within is not None  # a whole file is one part
            assert last.rows is not None and part.rows is not None
            within, rows = (last.within[0], part.within[1]), last.rows + part.rows
            joined[-1] = replace(last, within=within, rows=rows, bytes=last.bytes + part.bytes)
        else:
            joined.append(part)
    return tuple(joined)


def article(text: str) -> str:
    """A text up to the first "See also", "References" or "Category" anywhere in it (released HashFormers code).

    >>> article("A cat is an animal. References 1. Cats")
    'A cat is an animal. '
    """
    ends = [place for place in map(text.find, ARTICLE_END) if place >= 0]
    return text[: min(ends)] if ends else text


def word_rows(documents: Iterable[str], words: int) -> Iterator[str]:
    """The documents cut behind every so many words; the last row of a document may have fewer.

    Words are separated by white space, whatever a model's tokenizer makes of them: so the rows of a corpus are the
    same texts for every tokenizer. No row holds parts of two documents, and none is empty.

    >>> list(word_rows(["One two, three  four five.", " ", "Six"], 2))
    ['One two,', 'three  four', 'five.', 'Six']
    """
    row = re.compile(rf"\S+(?:\s+\S+){{0,{words - 1}}}")
    for document in documents:
        for match in row.finditer(document):
            yield match.group()
