"""Corpora as items for masked prediction: word pieces, words and pairs of words (Superbloom on natural language).

Documents are split by the experiment's seed; the word pieces, where they are trained, and the list of words and pairs
are made of training documents alone. Made once, memory-mapped, described by a manifest; a set of documents is then what
a page-link set is, with items in their order and with repetitions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import compress, islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from hashbench.common.errors import InputError
from hashbench.common.shared import make_once
from hashbench.data.sources.builtin import NOTE
from hashbench.data.sources.documents import CorpusSource
from hashbench.data.sources.files import DataTable
from hashbench.data.sources.fingerprints import cache_room, digest, refuse_changed, write_json
from hashbench.data.sources.sources import SourceKind
from hashbench.data.tasks.base import CheckedData, Task
from hashbench.data.tasks.blocks import Beams, Seed, Strict
from hashbench.data.tasks.items import LinkSet, protocol_of, split_pages
from hashbench.models.text.phrases import PairCounts, Phrases, choose, frequent_words, paragraphs
from hashbench.models.text.pieces import TRAIN
from hashbench.models.text.types import Again, TokenizedTexts, TypeTable
from hashbench.models.text.unicode import pack
from hashbench.models.text.words import WordTokenizer

if TYPE_CHECKING:
    from hashbench.models.text.wordpieces import WordPieceTokenizer

NAME = "phrases"  # the kind, and the named task
FORMAT = 1  # of the prepared files; a change makes all files anew
BLOCK_WORDS = 1 << 24  # counted and cut at a time
CHUNK_DOCUMENTS = 2_000  # read and cut into words at a time
LEAST_DOCUMENTS = 3  # one for each split
IDS, DOCUMENTS, MANIFEST, TYPES = "ids.int32", "documents.npy", "manifest.json", "types"


class PhrasesBlock(Strict):
    """How a corpus becomes items that are hidden and predicted; the same for all models of an experiment."""

    corpora: tuple[str, ...] = Field(
        default=("wikipedia", "bookcorpus"),
        min_length=1,
        description="corpora, read in this order: names, paths of own files as texts/*.txt (relative to the "
        "file), or data sets of the hub as hub:OWNER/NAME:CONFIG@COMMIT",
    )
    max_documents: int | None = Field(
        default=None, gt=0, description="read only the first documents of each corpus; null: all"
    )
    vocabulary: str | None = Field(
        default=None,
        min_length=1,
        description=(
            "word pieces of a vocabulary file or hub name (bert-base-uncased); null: trained on the training documents"
        ),
    )
    vocabulary_size: int = Field(
        default=30_522, ge=300, description="rows of a trained vocabulary of word pieces, specials included"
    )
    items: int = Field(
        default=1_000_000,
        gt=0,
        description="items in all: every word piece, then the most frequent words and pairs of words from one list",
    )
    sequence_items: int = Field(default=128, ge=4, description="items of a sequence at most, special ones not counted")
    next_sentence: bool = Field(
        default=True,
        description=(
            "sequences in two segments, the second one followed the first or is of another document, and a head that "
            "tells which, as in BERT; false: one segment"
        ),
    )
    test_share: float = Field(
        default=0.1, gt=0, lt=1, description="share of the documents that are held out for testing"
    )
    validation_share: float = Field(
        default=0.1, gt=0, lt=1, description="share of the remaining documents by which the best evaluation is chosen"
    )
    split_seed: Seed = Field(default=0, description="of the held-out documents and of what is hidden in them")
    validation_sequences: int | None = Field(
        default=100,
        gt=0,
        description=(
            "sequences of an evaluation during training, each with all its hidden items; null: all of validation"
        ),
    )
    test_sequences: int | None = Field(
        default=2_000, gt=0, description="sequences of the test, each with all its hidden items; null: all"
    )
    beams: Beams = (1, 5, 10, 20, 50, 100)


@dataclass(frozen=True)
class LocatedPhrases:
    """A corpus, or several, to be read as items."""

    task: Task
    corpora: tuple[CorpusSource, ...]

    @property
    def protocol(self) -> PhrasesBlock:
        """The experiment's block on how documents are split and cut."""
        protocol: PhrasesBlock = protocol_of(self.task)
        return protocol

    @property
    def origin(self) -> str:
        """Where the corpora were found."""
        return ", ".join(corpus.origin for corpus in self.corpora)

    @property
    def kind(self) -> SourceKind:
        """The kind of source of the first corpus."""
        return self.corpora[0].kind

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the corpora, and of all that decides which items they become and how they are split."""
        made_of = {
            "max_documents": self.protocol.max_documents,
            "items": self.protocol.items,
            "split": [self.protocol.test_share, self.protocol.validation_share, self.protocol.split_seed],
            "pieces": self._pieces().recipe(),
        }
        parts = [corpus.fingerprint for corpus in self.corpora]
        return digest(NAME, str(FORMAT), *parts, json.dumps(made_of, sort_keys=True))

    @property
    def tables(self) -> dict[str, DataTable]:
        """No tables, since the task is made of corpora."""
        return {}

    def checked_items(self) -> CheckedData:
        """The number of items that the experiment's block sets; no corpus is read."""
        return CheckedData(self.protocol.items)

    def load(self) -> LinkSet:
        """The documents as items, made now if no worker made them before.

        Raises:
            InputError: too few documents, or none with a word.
        """
        folder = make_once(cache_room(NAME) / self.fingerprint, self._make)
        documents = np.load(folder / DOCUMENTS)
        items = TypeTable.load(folder / TYPES)
        ids = np.memmap(folder / IDS, dtype=np.int32, mode="r")
        facts = json.loads((folder / MANIFEST).read_text("utf-8"))
        return LinkSet(
            self.task,
            items,
            TokenizedTexts(ids, documents),
            self._splits(len(documents) - 1),
            self.fingerprint,
            self.origin,
            self.kind,
            (*([NOTE] if self.kind == "builtin" else []), str(facts["note"])),
        )

    def _pieces(self) -> WordPieceTokenizer:
        from hashbench.models.text.wordpieces import WordPieceTokenizer  # here: `schema` does not need it

        pieces = WordPieceTokenizer(self.protocol.vocabulary or TRAIN)
        if pieces.trained:
            pieces.vocabulary_size = self.protocol.vocabulary_size
        return pieces

    def _splits(self, n_documents: int) -> dict[str, np.ndarray]:
        """The documents (n,) int64 of each split, ascending."""
        names = " + ".join(corpus.name for corpus in self.corpora)
        if n_documents < LEAST_DOCUMENTS:
            raise InputError(f"corpus {names}: {n_documents} documents are no training, validation and test; give more")
        return split_pages(np.arange(n_documents), self.protocol, names)

    def _texts(self) -> Iterator[str]:
        for corpus in self.corpora:
            yield from corpus.documents(self.protocol.max_documents)

    def _make(self, folder: Path) -> None:
        """Makes `folder`: words first, then the list of phrases, then the items."""
        folder.mkdir()
        words = read_words(self._texts(), folder)
        if not len(words.ids):
            raise InputError(f"corpus {' + '.join(corpus.name for corpus in self.corpora)}: there is no word in it")
        training = np.zeros(len(words.documents) - 1, bool)
        training[self._splits(len(training))["train"]] = True
        pieces = self._pieces()
        if pieces.needs_training:
            pieces.train(Again(lambda: compress(self._texts(), training)), self.protocol.vocabulary_size)
            pieces.save(folder / "tokenizer")
        phrases = listed_phrases(words, training, pieces, self.protocol.items)
        types, documents = write_items(words, training, phrases, folder)
        n_pairs = len(phrases.pair_items)
        note = (
            f"{len(types):,} items: {len(phrases.strings) - n_pairs:,} pieces and words, {n_pairs:,} pairs; "
            f"{documents[-1]:,} of them in {len(training):,} documents"
        )
        for corpus in self.corpora:
            refuse_changed(corpus, f"corpus {corpus.name}")
        np.save(folder / DOCUMENTS, documents)
        write_json(
            folder / MANIFEST,
            {
                "format": FORMAT,
                "key": self.fingerprint,
                "corpora": {corpus.name: corpus.fingerprint for corpus in self.corpora},
                "protocol": self.protocol.model_dump(exclude={"vocabulary"}),
                "pieces": pieces.recipe(),
                "note": note,
            },
        )
        words.remove()


@dataclass(frozen=True)
class Words:
    """Documents as ids of words, in a file that is removed once they are counted."""

    path: Path
    types: TypeTable
    ids: np.ndarray  # (n,) int32, memory-mapped
    paragraphs: np.ndarray  # where each paragraph begins, ascending
    documents: np.ndarray  # (n_documents + 1,) where each document begins

    def blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray, int, int]]:
        """Blocks of whole documents, each of about BLOCK_WORDS words.

        Words (n,) int32, which words begin a paragraph (n,) bool, first document, document behind.
        """
        first, n = 0, len(self.documents) - 1
        while first < n:
            start = int(self.documents[first])
            last = int(np.searchsorted(self.documents, start + BLOCK_WORDS, side="right")) - 1
            last = min(max(last, first + 1), n)
            ids = np.asarray(self.ids[start : int(self.documents[last])])
            begins = np.zeros(len(ids), bool)
            low, high = np.searchsorted(self.paragraphs, (start, start + len(ids)))
            begins[self.paragraphs[low:high] - start] = True
            yield ids, begins, first, last
            first = last

    def of_documents(self, chosen: np.ndarray, first: int, last: int) -> np.ndarray:
        """Which words (n,) bool of the documents first .. last - 1 belong to `chosen` (n_documents,) ones."""
        return np.repeat(chosen[first:last], np.diff(self.documents[first : last + 1]))

    def remove(self) -> None:
        """Deletes the file of ids."""
        self.path.unlink()


def read_words(texts: Iterator[str], folder: Path) -> Words:
    """Documents cut into words, in a file of `folder`."""
    interner = WordTokenizer("whitespace", lowercase=False).interner()
    path, n_words = folder / "words.int32", 0
    begins, lengths = [np.zeros(0, np.int64)], [np.zeros(1, np.int64)]
    with path.open("wb") as file:
        while chunk := [paragraphs(text) for text in islice(texts, CHUNK_DOCUMENTS)]:
            chunk_words = interner.add([paragraph for document in chunk for paragraph in document])
            file.write(chunk_words.ids.astype(np.int32, copy=False).tobytes())
            begins.append(chunk_words.offsets[:-1] + n_words)
            ends = np.cumsum([0, *map(len, chunk)])  # in paragraphs
            lengths.append(np.diff(chunk_words.offsets[ends]))
            n_words += len(chunk_words.ids)
    types, remap = interner.finish()
    documents = np.cumsum(np.concatenate(lengths))
    if not n_words:
        return Words(path, types, np.zeros(0, np.int32), np.concatenate(begins), documents)
    ids = np.memmap(path, dtype=np.int32, mode="r+")
    for start in range(0, n_words, BLOCK_WORDS):
        ids[start : start + BLOCK_WORDS] = remap[ids[start : start + BLOCK_WORDS]]
    return Words(path, types, ids, np.concatenate(begins), documents)


def listed_phrases(words: Words, training: np.ndarray, pieces: WordPieceTokenizer, n_items: int) -> Phrases:
    """The pieces, words and pairs of words chosen from the training documents; `training` (n_documents,) bool."""
    counts = np.zeros(len(words.types), np.int64)
    for ids, _, first, last in words.blocks():
        counts += np.bincount(ids[words.of_documents(training, first, last)], minlength=len(counts))
    wanted = max(1, n_items - len(pieces.pieces))
    pairs = PairCounts(frequent_words(words.types, counts, pieces, wanted))
    for ids, begins, first, last in words.blocks():
        trained = words.of_documents(training, first, last)
        # Whole documents: what follows a gap begins a paragraph
        pairs.add(ids[trained], begins[trained])
    return choose(words.types, counts, pairs, pieces, n_items)


def write_items(words: Words, training: np.ndarray, phrases: Phrases, folder: Path) -> tuple[TypeTable, np.ndarray]:
    """Writes the documents as items into `folder`; returns the items, by training frequency, and documents' bounds.

    `training` (n_documents,) bool; the bounds are (n_documents + 1,) int64. An item that training never has keeps its
    row behind the others.
    """
    counts = np.zeros(len(phrases.strings), np.int64)
    bounds, total = [np.zeros(1, np.int64)], 0
    with (folder / IDS).open("wb") as file:
        for ids, begins, first, last in words.blocks():
            items, offsets = phrases.segment(ids, begins)
            file.write(items.astype(np.int32, copy=False).tobytes())
            trained = np.repeat(words.of_documents(training, first, last), np.diff(offsets)) & (items >= 0)
            counts += np.bincount(items[trained], minlength=len(counts))
            bounds.append(offsets[words.documents[first + 1 : last + 1] - words.documents[first]] + total)
            total += len(items)
    types, rank = TypeTable.sorted(*pack(phrases.strings), counts)
    types.save(folder / TYPES)
    ids = np.memmap(folder / IDS, dtype=np.int32, mode="r+")
    for start in range(0, total, BLOCK_WORDS):
        block = np.asarray(ids[start : start + BLOCK_WORDS])
        ids[start : start + BLOCK_WORDS] = np.where(block >= 0, rank[block], block)
    ids.flush()
    return types, np.concatenate(bounds)
