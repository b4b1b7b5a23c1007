"""Corpora as memory-mapped type ids: made once, shared by all models of a tokenizer, described by a manifest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, TypedDict

import numpy as np

from hashbench.artifacts.checksums import FileSum
from hashbench.artifacts.once import make_once
from hashbench.artifacts.shared import SharedFolder
from hashbench.data.documents import Again, CorpusSource
from hashbench.data.fingerprints import cache_folder, digest, write_json
from hashbench.data.sources import Source, locate_corpus
from hashbench.errors import InputError
from hashbench.text.pieces import TrainablePieces
from hashbench.text.tokenizers import Tokenizer
from hashbench.text.types import Interner, TypeTable
from hashbench.text.unicode import in_chunks

FORMAT = 1  # of a prepared corpus; a change makes all of them anew
CHUNK_CHARACTERS = 4_000_000  # read, tokenized and written at a time
BLOCK_IDS = 1 << 24  # ids mapped at a time
# That a BPE is trained on, of all corpora together; more changes few merges
BPE_TRAINING_CHARACTERS = 500_000_000
# Released HashFormers code: an article ends at the first of them
ARTICLE_END = ("See also", "References", "Category")
IDS, DOCUMENTS, MANIFEST = "ids.int32", "documents.npy", "manifest.json"
# Tokens; shorter ones are left out where an article gives one sequence (released code)
SHORTEST_ARTICLE = 2


class CorpusPart(TypedDict):
    """A corpus among those that were prepared together."""

    name: str
    origin: str
    revision: str | None
    fingerprint: str
    packed: bool
    documents: int
    characters: int
    tokens: int


class Manifest(TypedDict):
    """What a prepared corpus was made from."""

    format: int
    key: str
    corpora: list[CorpusPart]
    tokenizer: dict[str, object]
    max_documents: int | None
    first_chunk_only: bool
    types: int
    tokens: int
    sha256: str  # of the ids


@dataclass(frozen=True)
class Corpus:
    """A prepared corpus: documents laid end to end as type ids."""

    folder: Path
    tokenizer: Tokenizer
    manifest: Manifest

    @classmethod
    def load(cls, folder: Path, tokenizer: Tokenizer) -> Corpus:
        """Open a prepared corpus; a tokenizer that was trained with it takes what it learned."""
        manifest: Manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
        if isinstance(tokenizer, TrainablePieces) and tokenizer.trained:
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

    @property
    def fingerprint(self) -> str:
        """SHA-256 of what the corpus was made from, and how."""
        return self.manifest["key"]

    def rows(self, sequence_length: int, n_specials: int = 2) -> tuple[np.ndarray, np.ndarray]:
        """Where in `ids` each sequence begins and ends, two arrays (n,) int64.

        Full packing: all documents end to end, cut into pieces of `sequence_length` minus the special tokens. A
        corpus prepared with `first_chunk_only` gives one such piece an article, but for the parts without articles.
        """
        body = sequence_length - n_specials
        if not self.manifest["first_chunk_only"]:
            return _packed(0, len(self.ids), body)
        pieces, first = [], 0
        for part in self.manifest["corpora"]:
            bounds = np.asarray(self.documents[first : first + part["documents"] + 1])
            pieces.append(_packed(bounds[0], bounds[-1], body) if part["packed"] else _first_chunks(bounds, body))
            first += part["documents"]
        starts, ends = zip(*pieces, strict=True)
        return np.concatenate(starts), np.concatenate(ends)


def prepare(
    corpora: Sequence[str],
    sources: Sequence[Source],
    tokenizer: Tokenizer,
    folder: Path | None = None,
    *,
    max_documents: int | None = None,
    vocabulary_size: int = 50_265,
    first_chunk_only: bool = False,
    progress: Callable[[str], None] | None = None,
    shared: SharedFolder | None = None,
) -> Corpus:
    """The corpora as type ids, made now if no worker made them before.

    `folder` holds all prepared corpora, each in a subfolder named by its key. A tokenizer that needs training is
    trained on the corpora first, in place. With `first_chunk_only` an article is cut before its first "See also",
    "References" or "Category", as in the released HashFormers code.

    Raises:
        InputError: a corpus that no source has, or one without a token.
    """
    located = [locate_corpus(name, sources) for name in corpora]
    recipe = _recipe(tokenizer, vocabulary_size)
    key = digest(
        "corpus",
        str(FORMAT),
        *(source.fingerprint for source in located),
        json.dumps(recipe, sort_keys=True),
        json.dumps([max_documents, first_chunk_only]),
    )
    told = progress or (lambda text: None)
    making = _Making(located, tokenizer, vocabulary_size, max_documents, first_chunk_only, told)
    place = (folder or cache_folder() / "corpora") / key
    make_once(place, lambda partial: making.build(partial, key), older=agrees_with_its_manifest, shared=shared)
    return Corpus.load(place, tokenizer)


def agrees_with_its_manifest(folder: Path) -> bool:
    """Whether ids, documents and types of a prepared corpus are those that its manifest speaks of."""
    try:
        manifest: Manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
        types, documents = TypeTable.load(folder / "types"), np.load(folder / DOCUMENTS, mmap_mode="r")
        fresh = TypeTable(types.blob, types.offsets, types.counts)
        return (
            FileSum.of(folder / IDS).sha256 == manifest["sha256"]
            and fresh.fingerprint == types.fingerprint
            and documents[-1] == manifest["tokens"]
        )
    except (InputError, OSError, ValueError, LookupError, TypeError):
        return False


@dataclass(frozen=True)
class _Making:
    """The making of one prepared corpus."""

    sources: Sequence[CorpusSource]
    tokenizer: Tokenizer
    vocabulary_size: int
    max_documents: int | None
    first_chunk_only: bool
    progress: Callable[[str], None]

    def build(self, folder: Path, key: str) -> None:
        """Make `folder`: tokenizer, ids, documents, types, and the manifest last."""
        folder.mkdir()
        if isinstance(self.tokenizer, TrainablePieces) and self.tokenizer.trained:
            self.progress(f"training the {self.tokenizer.title}")
            self.tokenizer.train(Again(self._training_texts), self.vocabulary_size)
            self.tokenizer.save(folder / "tokenizer")
        interner = self.tokenizer.interner()
        lengths: list[np.ndarray] = [np.zeros(1, np.int64)]
        with (folder / IDS).open("wb") as file:
            parts = [self._write(source, interner, file, lengths) for source in self.sources]
        offsets = np.cumsum(np.concatenate(lengths))
        if offsets[-1] == 0:
            raise InputError(f"corpus {' + '.join(part['name'] for part in parts)}: there is no token in it")
        types, remap = interner.finish()
        np.save(folder / DOCUMENTS, offsets)
        types.save(folder / "types")
        manifest = Manifest(
            format=FORMAT,
            key=key,
            corpora=parts,
            tokenizer=self.tokenizer.recipe(),
            max_documents=self.max_documents,
            first_chunk_only=self.first_chunk_only,
            types=len(types),
            tokens=int(offsets[-1]),
            sha256=_remap_file(folder / IDS, remap),
        )
        write_json(folder / MANIFEST, manifest)

    def _write(self, source: CorpusSource, interner: Interner, file: BinaryIO, lengths: list[np.ndarray]) -> CorpusPart:
        """Append a corpus to `file` as provisional ids, and to `lengths` those of its documents, (n,) of each chunk."""
        n_documents = n_characters = n_tokens = 0
        for texts in in_chunks(self._documents(source), CHUNK_CHARACTERS):
            tokenized = interner.add(texts)
            file.write(tokenized.ids.astype(np.int32, copy=False).tobytes())
            lengths.append(np.diff(tokenized.offsets))
            n_documents += len(texts)
            n_characters += sum(map(len, texts))
            n_tokens += len(tokenized.ids)
            self.progress(f"{source.name}: {n_documents:,} documents, {n_tokens:,} tokens")
        return CorpusPart(
            name=source.name,
            origin=source.origin,
            revision=source.revision,
            fingerprint=source.fingerprint,
            packed=source.packed,
            documents=n_documents,
            characters=n_characters,
            tokens=n_tokens,
        )

    def _documents(self, source: CorpusSource) -> Iterator[str]:
        texts = source.documents(self.max_documents)
        return map(article, texts) if self.first_chunk_only and not source.packed else texts

    def _training_texts(self) -> Iterator[str]:
        """The beginnings of all corpora, in equal shares."""
        for source in self.sources:
            left = BPE_TRAINING_CHARACTERS // len(self.sources)
            for text in self._documents(source):
                if left <= 0:
                    break
                left -= len(text)
                yield text


def article(text: str) -> str:
    """A text up to the first "See also", "References" or "Category" anywhere in it (released HashFormers code).

    >>> article("A cat is an animal. References 1. Cats")
    'A cat is an animal. '
    """
    ends = [place for place in map(text.find, ARTICLE_END) if place >= 0]
    return text[: min(ends)] if ends else text


def _recipe(tokenizer: Tokenizer, vocabulary_size: int) -> dict[str, object]:
    """The tokenizer's recipe, with the size it is or will be trained to; the corpora are named elsewhere in the key."""
    if isinstance(tokenizer, TrainablePieces) and tokenizer.trained:
        trained = {"kind": tokenizer.kind, "train": vocabulary_size, "characters": BPE_TRAINING_CHARACTERS}
        return trained | tokenizer.options()
    return tokenizer.recipe()


def _remap_file(path: Path, remap: np.ndarray) -> str:
    """Turn provisional ids in a file into final ones by `remap` (n,), in place; SHA-256 (hex) of the result."""
    checksum = hashlib.sha256()
    ids = np.memmap(path, dtype=np.int32, mode="r+")
    for start in range(0, len(ids), BLOCK_IDS):
        block = remap[ids[start : start + BLOCK_IDS]]
        ids[start : start + BLOCK_IDS] = block
        checksum.update(block.astype("<i4", copy=False).tobytes())
    ids.flush()
    return checksum.hexdigest()


def _packed(start: int, end: int, body: int) -> tuple[np.ndarray, np.ndarray]:
    """Begins and ends (n,) int64 of pieces of `body` tokens from `start` to `end`; the last may be shorter."""
    starts = np.arange(start, end, body, dtype=np.int64)
    return starts, np.minimum(starts + body, end)


def _first_chunks(bounds: np.ndarray, body: int) -> tuple[np.ndarray, np.ndarray]:
    """Begins and ends (n,) int64 of the first `body` tokens of each long enough article; `bounds` (articles + 1,)."""
    starts, ends = bounds[:-1], np.minimum(bounds[:-1] + body, bounds[1:])
    long_enough = ends - starts >= SHORTEST_ARTICLE
    return starts[long_enough], ends[long_enough]
