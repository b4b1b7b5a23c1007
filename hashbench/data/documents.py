"""Corpora as streams of documents: files of a folder, the hub, or the built-in generator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from hashbench.data import builtin
from hashbench.data.files import FORMATS, check_file
from hashbench.data.fingerprints import files_fingerprint
from hashbench.data.hub import SHORT_COMMIT, HubTable
from hashbench.data.shards import BuiltinPart, CorpusShard, FilePart, HubPart, Part, cut, file_parts
from hashbench.errors import InputError

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

    @property
    def packed(self) -> bool:
        """Whether documents follow each other without an end, since a row is no article."""
        return self.name in PACKED

    @property
    def revision(self) -> str | None:
        """The hub's commit, where there is one."""
        return self.table.copy().revision if self.table else None

    @property
    def copy_read(self) -> str:
        """Where it comes from, with the hub's commit where there is one."""
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

    def shards(self, max_documents: int | None = None, *, articles: bool = False) -> list[CorpusShard]:
        """The same texts in shards. The hub is asked for the number of its files."""
        parts: Iterable[Part] = file_parts(self.files) if self.files else [BuiltinPart()]
        if self.table is not None:
            n = self.table.n_parts() if max_documents is None else 1
            parts = [HubPart(self.table, number, n) for number in range(n)]
        return cut(self.origin, parts, limit=max_documents, articles=articles)


class Again:
    """Texts that can be read any number of times without being kept."""

    def __init__(self, begin: Callable[[], Iterator[str]]) -> None:
        self._begin = begin

    def __iter__(self) -> Iterator[str]:
        return self._begin()


def corpus_files(folder: Path) -> tuple[Path, ...]:
    """The files of a corpus, by name.

    Raises:
        InputError: not a folder, or none in it.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: is a file; a corpus is a folder of {', '.join(FORMATS)} or .txt files")
    files = tuple(sorted(path for path in folder.iterdir() if path.suffix in (*FORMATS, ".txt")))
    if not files:
        raise InputError(f"{folder}: no corpus files; put {', '.join(FORMATS)} or .txt files there")
    for path in files:
        check_file(path)
    return files
