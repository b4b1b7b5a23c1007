"""Corpora as streams of documents: files of a folder, the hub, or the built-in texts."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from hashbench.common.errors import InputError
from hashbench.data.sources import builtin
from hashbench.data.sources.files import Remarks, check_file, iterate_rows
from hashbench.data.sources.fingerprints import files_fingerprint
from hashbench.data.sources.hub import SHORT_COMMIT, HubTable
from hashbench.data.sources.layout import CORPUS_FORMATS, checked_documents, find_corpus_files, is_about, listed
from hashbench.data.sources.opening import COMPRESSED, format_of
from hashbench.data.sources.shards import (
    TEXT_COLUMN,
    BuiltinPart,
    CorpusShard,
    FilePart,
    HubPart,
    Part,
    cut,
    file_parts,
)

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
    def copy_read(self) -> str:
        """The corpus' origin, with the commit (shortened) where it is on the hub."""
        return self.origin + (f"@{self.revision[:SHORT_COMMIT]}" if self.revision else "")

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


class Again:
    """Texts that can be read any number of times without being kept."""

    def __init__(self, begin: Callable[[], Iterator[str]]) -> None:
        self._begin = begin

    def __iter__(self) -> Iterator[str]:
        return self._begin()


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

    >>> [is_own_corpus(name) for name in ("wikipedia", "texts/*.txt", "mine.jsonl.gz", "~/texts")]
    [False, True, True, True]
    """
    return bool({"/", "~", "*", "?", "["} & set(name)) or format_of(Path(name)) in CORPUS_FORMATS


def own_corpus(pattern: str) -> CorpusSource:
    """The corpus of all files that a path names: a file, all files of a folder, or those that fit a pattern.

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
