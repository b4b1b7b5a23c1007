"""Tokenized shards of a corpus, each with its types, which are merged in memory, and lines of progress.

The lines count texts read for a vocabulary, then documents, tokens a second, time left.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from hashbench.common.progress import progress
from hashbench.common.shared import make_once
from hashbench.common.showing import duration_text
from hashbench.data.sources.documents import CorpusShard
from hashbench.data.sources.workers import ONE_THREAD
from hashbench.models.text.base import Tokenizer, tokenizers
from hashbench.models.text.types import Distinct, Interner, TypeTable, looked_up
from hashbench.models.text.unicode import in_chunks, join, split

CHUNK_CHARACTERS = 4_000_000  # read, tokenized and written at a time
ShardFiles = dict[str, bytes]  # by the path below the folder
IDS, TYPES, LENGTHS, FACTS = "ids.int32", "types.npz", "lengths.int64", "facts.json"
SIZES = "sizes.int32"  # of rows of words only
MARK = re.compile(r"[^\w\s]")
MARK_WEIGHT = 10  # characters that a mark counts for in the size of a row
SAY_EVERY_S = 5.0


@dataclass(frozen=True)
class ShardFacts:
    """Counts of a tokenized shard."""

    documents: int
    characters: int
    tokens: int


@dataclass(frozen=True)
class ShardJob:
    """A shard to be tokenized and its pickled tokenizer, to be sent to another process or machine."""

    shard: CorpusShard
    # Pickled; a user-defined class is found where its file was read.
    tokenizer: bytes

    @classmethod
    def of(cls, shard: CorpusShard, tokenizer: Tokenizer) -> ShardJob:
        """The job of a shard and a tokenizer that needs no training any more."""
        return cls(shard, pickle.dumps(tokenizer))

    def carry_out(self, folder: Path, report: Callable[[ShardFacts], None] | None = None) -> None:
        """Tokenizes the shard into a new folder; `report` is called with the counts so far after each chunk.

        Raises InputError for a shard that cannot be read.
        """
        tokenizers()  # imports user-defined files, whose class the bytes may name
        tokenizer: Tokenizer = pickle.loads(self.tokenizer)
        _Tokenizing(folder, tokenizer, report or (lambda facts: None)).make(self.shard)


def make_shard(job: ShardJob, folder: Path, report: Callable[[ShardFacts], None] | None = None) -> ShardFacts:
    """The counts of a shard, which is tokenized into `folder` unless that is complete already."""

    def build(part: Path) -> None:
        job.carry_out(part, report)

    return TokenizedShard(make_once(folder, build)).facts


def files_of_shard(job: ShardJob) -> ShardFiles:
    """The files (path -> content) of a shard that is tokenized here, with one thread, for another machine."""
    os.environ |= ONE_THREAD
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "shard"
        job.carry_out(folder)
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@dataclass(frozen=True)
class TokenizedShard:
    """The files of a tokenized shard."""

    folder: Path

    @property
    def facts(self) -> ShardFacts:
        """The shard's counts."""
        return ShardFacts(**json.loads((self.folder / FACTS).read_text("utf-8")))

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each document, (n,) int64."""
        return np.fromfile(self.folder / LENGTHS, np.int64)

    @property
    def sizes(self) -> np.ndarray:
        """The size of each row of words (`text_size`), (n,) int32."""
        return np.fromfile(self.folder / SIZES, np.int32)

    def types(self) -> tuple[Distinct, np.ndarray]:
        """The types of the shard, and the index among them of each id (n,) int32 in its file."""
        with np.load(self.folder / TYPES) as arrays:
            return Distinct(arrays["blob"], arrays["offsets"], arrays["counts"]), arrays["places"]

    def final_ids(self, of_types: np.ndarray, block: int) -> Iterator[np.ndarray]:
        """Final ids (n,) int32 of the tokens, at most `block` at a time; `of_types` (t,): final ids of the types."""
        meaning = looked_up(of_types, self.types()[1])
        with (self.folder / IDS).open("rb") as file:
            while len(ids := np.fromfile(file, np.int32, block)):
                yield meaning[ids]


def text_size(text: str) -> int:
    """A number that grows with a text's tokens, whatever the tokenizer: rows of similar size are batched together.

    Among rows of equally many words, rows with more marks have more words, and rows with more characters more pieces.
    Measured on Wikipedia in rows of 128 words: 11 % of the words in a batch of 64 are padding, 19 % of the pieces of a
    vocabulary of 1,800; in any order 37 and 48 %.

    >>> text_size("One, two.")
    29
    """
    return len(text) + MARK_WEIGHT * len(MARK.findall(text))


def merged_types(shards: Sequence[TokenizedShard]) -> tuple[TypeTable, list[np.ndarray]]:
    """The types of all shards as one table, and for each shard the final ids (n,) int32 of its types."""
    number: dict[bytes, int] = {}  # of a string, by first occurrence
    counts, of_shards = np.zeros(0, np.int64), []
    for shard in shards:
        types, _ = shard.types()
        strings = split(types.blob, types.offsets)
        which = np.fromiter((number.setdefault(string, len(number)) for string in strings), np.int32, len(strings))
        counts = np.concatenate([counts, np.zeros(len(number) - len(counts), np.int64)])
        counts[which] += types.counts  # a shard has each of its strings once
        of_shards.append(which)
    table, rank = TypeTable.sorted(*join(list(number)), counts)
    return table, [rank[which] for which in of_shards]


class _Tokenizing:
    """The tokenization of one shard into a folder, with the counts so far."""

    def __init__(self, folder: Path, tokenizer: Tokenizer, report: Callable[[ShardFacts], None]) -> None:
        self._folder, self._tokenizer, self._report = folder, tokenizer, report
        self._documents = self._characters = self._tokens = 0

    def make(self, shard: CorpusShard) -> None:
        self._folder.mkdir(parents=True)
        chunks = in_chunks(shard.texts(), CHUNK_CHARACTERS)
        if shard.row_words is not None:
            chunks = self._measured(chunks)
        interner = self._tokenizer.interner()
        with (self._folder / LENGTHS).open("wb") as lengths, (self._folder / IDS).open("wb") as ids:
            for texts in chunks:
                self._chunk(texts, interner, ids, lengths)
        types, places = interner.distinct()
        np.savez(self._folder / TYPES, blob=types.blob, offsets=types.offsets, counts=types.counts, places=places)
        (self._folder / FACTS).write_text(json.dumps(asdict(self._facts())), "utf-8")

    def _measured(self, chunks: Iterator[list[str]]) -> Iterator[list[str]]:
        """The chunks, whose texts' sizes are written as they pass."""
        with (self._folder / SIZES).open("wb") as sizes:
            for texts in chunks:
                np.array([text_size(text) for text in texts], np.int32).tofile(sizes)
                yield texts

    def _chunk(self, texts: list[str], interner: Interner, file: BinaryIO, lengths: BinaryIO) -> None:
        """Appends texts as provisional ids to `file`, their lengths to `lengths`."""
        tokenized = interner.add(texts)
        ids = tokenized.ids.astype(np.int32, copy=False)
        ids.tofile(file)
        np.diff(tokenized.offsets).astype(np.int64, copy=False).tofile(lengths)
        progress("tokenizing documents", step=False)
        self._documents += len(texts)
        self._characters += sum(map(len, texts))
        self._tokens += len(ids)
        self._report(self._facts())

    def _facts(self) -> ShardFacts:
        return ShardFacts(self._documents, self._characters, self._tokens)


class PreparationProgress:
    """Prints the progress of a preparation, at most one line every SAY_EVERY_S seconds."""

    def __init__(
        self, say: Callable[[str], None], total_bytes: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._say, self._total_bytes, self._clock = say, total_bytes, clock
        self._documents = self._tokens = self._bytes = 0  # of all finished shards
        self._new_tokens = self._new_bytes = 0  # of shards that were not found finished
        self._began = self._said = clock()

    def begin(self) -> None:
        """Starts the clock from which speed and remaining time are computed."""
        self._began = self._clock()

    def done(self, size: int, facts: ShardFacts, *, before: bool) -> None:
        """Counts a finished shard of `size` bytes; `before`: it was finished by an earlier process."""
        self._documents += facts.documents
        self._tokens += facts.tokens
        self._bytes += size
        if not before:
            self._new_tokens += facts.tokens
            self._new_bytes += size
        progress("tokenizing documents", step=False)
        self._now_and_then(self._documents, self._tokens, self._new_tokens)

    def going_on(self, facts: ShardFacts) -> None:
        """Prints a line, if one is due, that includes the counts so far of an unfinished shard."""
        progress("tokenizing documents", step=False)
        self._now_and_then(
            self._documents + facts.documents, self._tokens + facts.tokens, self._new_tokens + facts.tokens
        )

    def end(self) -> None:
        """Prints the last line."""
        self._line(self._documents, self._tokens, self._new_tokens)

    def _now_and_then(self, documents: int, tokens: int, new_tokens: int) -> None:
        if self._clock() - self._said >= SAY_EVERY_S:
            self._line(documents, tokens, new_tokens)

    def _line(self, documents: int, tokens: int, new_tokens: int) -> None:
        self._said = self._clock()
        seconds = max(self._said - self._began, 1e-9)
        time_left = ""
        if self._new_bytes and self._bytes < self._total_bytes:
            time_left = f", {duration_text(seconds * (self._total_bytes - self._bytes) / self._new_bytes)} left"
        rate = f", {new_tokens / seconds:,.0f} a second" if new_tokens else ""
        self._say(f"{documents:,} documents, {tokens:,} tokens{rate}{time_left}")


def telling(
    texts: Iterable[str], say: Callable[[str], None], what: str, clock: Callable[[], float] = time.monotonic
) -> Iterator[str]:
    """The texts unchanged; prints now and then how many were read, and at their end that the reading is over."""
    last_line, documents, characters = clock(), 0, 0
    for text in texts:
        documents, characters = documents + 1, characters + len(text)
        progress(what, step=False)
        if clock() - last_line >= SAY_EVERY_S:
            last_line = clock()
            say(f"{what}: {documents:,} documents, {characters:,} characters read")
        yield text
    say(f"{what}: all {documents:,} documents, {characters:,} characters read; their words are counted and merged")
