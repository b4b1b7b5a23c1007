"""Prepared corpora: memory-mapped type ids with a manifest, shared by all models of a tokenizer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NotRequired, TypedDict

import numpy as np

from hashbench.models.text.base import Tokenizer
from hashbench.models.text.types import TypeTable

IDS, DOCUMENTS, MANIFEST = "ids.int32", "documents.npy", "manifest.json"
SIZES = "sizes.npy"  # of a corpus in rows of words
TRAINED_SHARE = 100  # of the rows: one in so many is a thousand or more in any training
# Tokens; shorter ones are left out where an article gives one sequence (released code)
SHORTEST_ARTICLE = 2


class CorpusPart(TypedDict):
    """Entry of a manifest for one of the corpora that were prepared together."""

    name: str
    origin: str
    revision: str | None
    fingerprint: str
    packed: bool
    about: NotRequired[str]  # of one on the hub: licence and size
    documents: int
    characters: int
    tokens: int


class Manifest(TypedDict):
    """Description of a prepared corpus: what it was made from, and how."""

    format: int
    key: str
    corpora: list[CorpusPart]
    tokenizer: dict[str, object]
    max_documents: int | None
    first_chunk_only: bool
    words_per_row: NotRequired[int]  # its documents are rows of so many words, by `word_rows`
    types: int
    tokens: int
    sha256: str  # of the ids


@dataclass(frozen=True)
class RowFacts:
    """The rows of a corpus in words as tokens of its tokenizer."""

    rows: int
    tokens: float  # a row, special ones included
    cut: float  # share of all tokens that is behind the longest sequence
    # Positions that one in TRAINED_SHARE of the rows reaches, special tokens included
    trained: int


@dataclass(frozen=True)
class Corpus:
    """A prepared corpus: documents laid end to end as type ids."""

    folder: Path
    tokenizer: Tokenizer
    manifest: Manifest

    @classmethod
    def load(cls, folder: Path, tokenizer: Tokenizer) -> Corpus:
        """The prepared corpus in a folder; also loads into a trained tokenizer what it learned from the corpus."""
        manifest: Manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
        if tokenizer.trained:
            tokenizer.load(folder / "tokenizer")
        return cls(folder, tokenizer, manifest)

    @cached_property
    def types(self) -> TypeTable:
        """The types of the corpus, memory-mapped."""
        return TypeTable.load(self.folder / "types")

    @cached_property
    def ids(self) -> np.ndarray:
        """Type ids of all documents, (total,) int32, memory-mapped."""
        return np.memmap(self.folder / IDS, dtype=np.int32, mode="r")

    @cached_property
    def documents(self) -> np.ndarray:
        """Where in `ids` each document begins, and the end of the last, (n + 1,) int64."""
        return np.load(self.folder / DOCUMENTS, mmap_mode="r")

    @cached_property
    def sizes(self) -> np.ndarray | None:
        """The size of each row of words as a text, whatever the tokenizer, (n,) int32; None for a packed corpus."""
        return np.load(self.folder / SIZES) if "words_per_row" in self.manifest else None

    @property
    def fingerprint(self) -> str:
        """SHA-256 of what the corpus was made from, and how."""
        return self.manifest["key"]

    def rows(self, sequence_length: int, n_specials: int = 2) -> tuple[np.ndarray, np.ndarray]:
        """Where in `ids` each sequence begins and ends, two arrays (n,) int64.

        Full packing: all documents end to end, cut into pieces of `sequence_length` minus the special tokens. A
        corpus prepared with `first_chunk_only` gives one such piece an article, but for the parts without articles. A
        row of words is a sequence, and what is longer than that is cut off.
        """
        body = sequence_length - n_specials
        if "words_per_row" in self.manifest:
            bounds = np.asarray(self.documents)
            return bounds[:-1], np.minimum(bounds[:-1] + body, bounds[1:])
        if not self.manifest["first_chunk_only"]:
            return _packed(0, len(self.ids), body)
        pieces, first = [], 0
        for part in self.manifest["corpora"]:
            bounds = np.asarray(self.documents[first : first + part["documents"] + 1])
            pieces.append(_packed(bounds[0], bounds[-1], body) if part["packed"] else _first_chunks(bounds, body))
            first += part["documents"]
        starts, ends = zip(*pieces, strict=True)
        return np.concatenate(starts), np.concatenate(ends)

    def row_facts(self, sequence_length: int, n_specials: int = 2) -> RowFacts:
        """How many tokens the rows have, and how many are cut off and trained on, in sequences of at most so many."""
        starts, ends = self.rows(sequence_length, n_specials)
        lengths = np.sort(ends - starts)[::-1] + n_specials
        cut = 1.0 - float((ends - starts).sum()) / max(1, self.manifest["tokens"])
        trained = int(lengths[len(lengths) // TRAINED_SHARE]) if len(lengths) else 0
        return RowFacts(len(lengths), float(lengths.mean()) if len(lengths) else 0.0, cut, trained)


def _packed(start: int, end: int, body: int) -> tuple[np.ndarray, np.ndarray]:
    """Starts and ends (n,) int64 of pieces of `body` tokens from `start` to `end`; the last may be shorter."""
    starts = np.arange(start, end, body, dtype=np.int64)
    return starts, np.minimum(starts + body, end)


def _first_chunks(bounds: np.ndarray, body: int) -> tuple[np.ndarray, np.ndarray]:
    """Starts and ends (n,) int64 of the first `body` tokens of each long enough article; `bounds` (articles + 1,)."""
    starts, ends = bounds[:-1], np.minimum(bounds[:-1] + body, bounds[1:])
    long_enough = ends - starts >= SHORTEST_ARTICLE
    return starts[long_enough], ends[long_enough]
