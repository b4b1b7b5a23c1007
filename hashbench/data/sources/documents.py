"""Corpora as streams of documents: files of a folder, the hub, or the built-in texts; and as shards.

A shard is documents that follow each other and are read by themselves, on any machine that has the files. A parquet
file is cut at its row groups, a data set of the hub at its files; other files are one shard each. Small files and row
groups are put together until a shard has about `SHARD_BYTES`.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Literal

from hashbench.common.errors import InputError
from hashbench.data.sources import builtin
from hashbench.data.sources.files import iterate_column, open_parquet
from hashbench.data.sources.fingerprints import files_fingerprint
from hashbench.data.sources.hub import PREFIX, HubTable, copy_read, hub_facts
from hashbench.data.sources.layout import CORPUS_FORMATS, checked_documents, find_corpus_files, is_about, listed
from hashbench.data.sources.opening import COMPRESSED, format_of, read_text
from hashbench.data.sources.text_tables import Remarks, check_file, iterate_rows

FORMATS_SAID = f"{', '.join(CORPUS_FORMATS)}, or with {' or '.join(COMPRESSED)} behind it"
COUNTED_BYTES = 64 << 20  # of files that are read to count their documents
# Corpora whose rows are no articles (sentences, whole books): packed even where an article gives one sequence only.
PACKED = ("bookcorpus", "books")


@dataclass(frozen=True)
class CorpusSource:
    """A corpus that was found, not read yet: files, a hub table, or neither for the built-in one."""

    name: str
    origin: str
    kind: Literal["folder", "hub", "builtin"]
    files: tuple[Path, ...] = ()
    table: HubTable | None = None
    notes: tuple[str, ...] = ()  # files that are passed over

    @property
    def packed(self) -> bool:
        """True for a corpus whose rows are no articles, so that its documents are packed end to end."""
        return self.name in PACKED

    @property
    def revision(self) -> str | None:
        """The commit of a corpus on the hub; None for any other."""
        return self.table.copy().revision if self.table else None

    @property
    def facts(self) -> str:
        """Licence and size of a corpus on the hub, as far as they were requested; "" for any other."""
        return hub_facts([self.table])

    @property
    def copy_read(self) -> str:
        """The corpus' origin, with the commit (shortened) where it is on the hub."""
        return copy_read(self.origin, self.table)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the files, of the hub's name and revision, or of the generated texts."""
        if self.table is not None:
            return self.table.fingerprint()
        return files_fingerprint(self.files) if self.files else builtin.corpus_fingerprint()

    def documents(self, max_documents: int | None = None, *, articles: bool = False) -> Iterator[str]:
        """The texts, in order; a missing one is empty. Never the whole corpus in memory.

        `articles`: each is cut where an article ends.
        """
        parts: list[Part] = [FilePart(path) for path in self.files]
        if self.table is not None:
            parts = [HubPart(self.table)]
        elif not self.files:
            parts = [BuiltinPart()]
        return CorpusShard(self.origin, tuple(parts), max_documents, articles).texts()

    def n_documents(self) -> int | None:
        """The number of documents; None for the hub, and where large files would have to be read to know."""
        if self.table is not None:
            return None
        if not self.files:
            return len(builtin.corpus())
        parts = list(file_parts(self.files))
        unknown = dict.fromkeys(part.path for part in parts if isinstance(part, FilePart) and part.rows is None)
        if sum(path.stat().st_size for path in unknown) > COUNTED_BYTES:
            return None
        in_parts = sum(part.rows or 0 for part in parts)
        return in_parts + sum(1 for path in unknown for _ in iterate_rows(path, [TEXT_COLUMN]))

    def row_notes(self) -> tuple[str, ...]:
        """Notes on odd rows of CSV and TSV files, as a lone quotation mark that takes rows with it.

        The first `COUNTED_BYTES` characters of text are read for them. Raises InputError for a file that is wrong.
        """
        remarks, characters = Remarks(), COUNTED_BYTES
        for path in self.files:
            if format_of(path) not in (".csv", ".tsv"):
                continue
            for (cell,) in iterate_rows(path, [TEXT_COLUMN], remarks=remarks):
                characters -= len(str(cell)) + 1
                if characters < 0:
                    return tuple(remarks.notes)
        return tuple(remarks.notes)

    def shards(
        self, max_documents: int | None = None, *, articles: bool = False, row_words: int | None = None
    ) -> list[CorpusShard]:
        """The corpus in shards, of documents or of their rows of so many words.

        Without `max_documents` the number of a hub corpus' files is requested from the hub.
        """
        parts: Iterable[Part] = file_parts(self.files) if self.files else [BuiltinPart()]
        if self.table is not None:
            n = self.table.n_parts() if max_documents is None else 1
            parts = [HubPart(self.table, number, n) for number in range(n)]
        return cut(self.origin, parts, limit=max_documents, articles=articles, row_words=row_words)


def folder_corpus(name: str, origin: str, folder: Path) -> CorpusSource:
    """The corpus of all files in a folder and its subfolders, sorted by their paths.

    Raises:
        InputError: not a folder, none in it, an empty file, or shards that are not whole.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: is a file; a corpus is a folder of files ({FORMATS_SAID})")
    listing = find_corpus_files(folder)
    if not listing.files:
        there = f"; {'; '.join(listing.notes)}" if listing.notes else ""
        raise InputError(f"{folder}: no corpus files; put some there ({FORMATS_SAID}){there}")
    for path in listing.files:
        check_file(path)
    return CorpusSource(name, origin, "folder", files=listing.files, notes=listing.notes)


def is_own_corpus(name: str) -> bool:
    """True where a corpus is named by its files: a path, or a pattern of paths.

    >>> [is_own_corpus(name) for name in ("wikipedia", "texts/*.txt", "mine.jsonl.gz", "~/texts", "hub:acme/news")]
    [False, True, True, True, False]
    """
    if name.startswith(PREFIX):
        return False
    return bool({"/", "~", "*", "?", "["} & set(name)) or format_of(Path(name)) in CORPUS_FORMATS


def own_corpus(pattern: str) -> CorpusSource:
    """The corpus of all files that a path names: a file, all files of a folder, or the files that fit a pattern.

    It is called like its last file, without folders, so that a run is the same wherever the files lie. Raises
    InputError where there is no file, one that holds no documents, or shards that are not whole.
    """
    path = Path(pattern)
    if path.is_dir():
        whole = folder_corpus("", "", path)
        files, notes = whole.files, whole.notes
    elif path.exists() or not glob.has_magic(pattern):
        files, notes = (path,), ()
    else:
        files, notes = _chosen(pattern)
    for path in files:
        check_file(path)
        if format_of(path) not in CORPUS_FORMATS:
            raise InputError(f"corpus {pattern}: {path.name} is none of {FORMATS_SAID}; name other files")
    last = files[-1].name
    return CorpusSource(last, f"own files {last}", "folder", files=files, notes=notes)


def _chosen(pattern: str) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """The files that fit a pattern, but for READMEs and the like, and notes on those passed over."""
    files = sorted(path for path in map(Path, glob.glob(pattern, recursive=True)) if path.is_file())
    about = [path for path in files if is_about(path)]
    files = [path for path in files if path not in about]
    if not files:
        raise InputError(f"corpus {pattern}: no file has such a name; check the path")
    folder = Path(os.path.commonpath([path.parent for path in files]))
    notes = checked_documents(files, folder, chosen=True).notes
    return tuple(files), (*([f"not read: {listed(folder, about)}"] if about else []), *notes)


TEXT_COLUMN = "text"
# Bytes of text. Part of the names of finished shards, so a change begins them anew.
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
        """The documents but the first `skip`, or their rows; a missing one is empty. Never all documents in memory.

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
