"""Preparation of corpora for pre-training: tokenized shard by shard on all cores, then their types are merged.

It is done once for all models of a tokenizer. What is finished lies in a folder beside the corpus until the corpus is
whole: the trained vocabulary and each shard. A preparation that was killed takes it up again.
The result depends on the texts and the tokenizer alone, not on shards or processes.

A vocabulary that is learned on more than one kind of text, as on corpora and the training texts of tasks, is learned
before the corpora are prepared, and has a folder in the cache; one of the corpora alone is part of their preparation.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from filelock import FileLock

from hashbench.common.checksums import MANIFEST as SUMS
from hashbench.common.checksums import remove
from hashbench.common.errors import InputError
from hashbench.common.shared import SharedFolder, make_once
from hashbench.data.corpora.corpus import (
    DOCUMENTS,
    IDS,
    MANIFEST,
    SIZES,
    Corpus,
    CorpusPart,
    Manifest,
)
from hashbench.data.corpora.tokenizing import (
    PreparationProgress,
    ShardFacts,
    ShardJob,
    TokenizedShard,
    make_shard,
    merged_types,
    telling,
)
from hashbench.data.sources import documents as shards
from hashbench.data.sources.documents import CorpusShard, CorpusSource
from hashbench.data.sources.fingerprints import cache_room, digest, refuse_changed, write_json
from hashbench.data.sources.sources import Source, locate_corpus
from hashbench.data.sources.workers import call_each
from hashbench.models.text.base import Tokenizer
from hashbench.models.text.compiled import thread_count
from hashbench.models.text.types import Again
from hashbench.models.text.unicode import offsets_from

FORMAT = 1  # of a prepared corpus; a change makes every corpus anew
BLOCK_IDS = 1 << 22  # written at a time
WORK = ".shards"  # ends the name of the folder of what is finished
MEMORY_REMEDY = "start it again with HASHBENCH_THREADS=1, or more memory; it goes on behind the finished shards"


class ShardWorkers(Protocol):
    """The processes or machines that tokenize shards."""

    def tokenize(
        self, jobs: Sequence[tuple[ShardJob, Path]], report: Callable[[ShardFacts], None]
    ) -> Iterator[tuple[int, ShardFacts]]:
        """The number of each job (a shard and the folder it is written to) and the shard's counts, as the jobs end.

        `report` may be called with the counts so far of an unfinished shard.
        """


class LocalShardWorkers:
    """The number of cores of this machine, or HASHBENCH_THREADS."""

    def tokenize(
        self, jobs: Sequence[tuple[ShardJob, Path]], report: Callable[[ShardFacts], None]
    ) -> Iterator[tuple[int, ShardFacts]]:
        """The number of each job and the shard's counts, as the jobs end; little work is done in this process."""
        if len(jobs) == 1 or sum(job.shard.bytes for job, _ in jobs) <= shards.SHARD_BYTES:
            yield from ((number, make_shard(*job, report)) for number, job in enumerate(jobs))
        else:
            yield from call_each(make_shard, jobs, workers=thread_count(), remedy=MEMORY_REMEDY)


def prepare(
    corpora: Sequence[str],
    sources: Sequence[Source],
    tokenizer: Tokenizer,
    folder: Path | None = None,
    *,
    max_documents: int | None = None,
    vocabulary_size: int = 50_265,
    first_chunk_only: bool = False,
    learned: str = "",
    words_per_row: int | None = None,
    progress: Callable[[str], None] | None = None,
    shared: SharedFolder | None = None,
    workers: ShardWorkers | None = None,
) -> Corpus:
    """The corpora as type ids, made now if no worker made them before.

    `folder` holds all prepared corpora, each in a subfolder named by its key. A tokenizer that needs training is
    trained on the corpora first, in place; `learned`: the key of the vocabulary that it got before.
    With `first_chunk_only` an article is cut before its first "See also", "References" or "Category", as in the
    released HashFormers code. With `words_per_row` documents are cut into rows of so many words (`word_rows`), which
    take the place of documents. `workers`: this machine's, if not given.

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
        json.dumps([max_documents, first_chunk_only, *([] if words_per_row is None else [words_per_row])]),
        *([learned] if learned else []),
    )
    place = (folder or cache_room("corpora")) / key
    say = progress or (lambda text: None)
    making = _Making(
        located, tokenizer, vocabulary_size, max_documents, first_chunk_only, bool(learned), words_per_row,
        place.with_name(f"{key}{WORK}"), workers or LocalShardWorkers(),
        lambda text: say(f"{' + '.join(source.name for source in located)}: {text}"),
        watched=progress is not None,
    )  # fmt: skip
    make_once(place, lambda partial: making.build(partial, key), shared=shared)
    if making.work.exists():
        with FileLock(f"{place}.lock"):
            remove(making.work)
    return Corpus.load(place, tokenizer)


@dataclass(frozen=True)
class _Making:
    """The preparation of one corpus from one or several sources."""

    sources: Sequence[CorpusSource]
    tokenizer: Tokenizer
    vocabulary_size: int
    max_documents: int | None
    first_chunk_only: bool
    learned: bool  # whether the tokenizer has its vocabulary
    words_per_row: int | None
    work: Path  # where what is finished lies until all is
    workers: ShardWorkers
    progress: Callable[[str], None]
    watched: bool  # whether the caller prints progress

    def build(self, folder: Path, key: str) -> None:
        """Makes `folder`: tokenizer, ids, documents, types, and the manifest last."""
        folder.mkdir()
        if self.learned:
            self.tokenizer.save(folder / "tokenizer")
        elif self.tokenizer.trained:
            learned = make_once(self.work / "tokenizer", self._train)
            self.tokenizer.load(learned)
            shutil.copytree(learned, folder / "tokenizer", ignore=shutil.ignore_patterns(SUMS))
        of_each = [
            source.shards(self.max_documents, articles=self._cuts(source), row_words=self.words_per_row)
            for source in self.sources
        ]
        tokenized = self._tokenized([shard for some in of_each for shard in some])
        self._refuse_changed()
        rest = iter(tokenized)
        parts = [
            self._part(source, [next(rest) for _ in some]) for source, some in zip(self.sources, of_each, strict=True)
        ]
        if not any(part["tokens"] for part in parts):
            raise InputError(f"corpus {' + '.join(part['name'] for part in parts)}: there is no token in it")
        if len(tokenized) > 1:
            self.progress(f"merging the types of {len(tokenized)} shards")
        types, of_types = merged_types(tokenized)
        types.save(folder / "types")
        # Where in the ids each document begins, and the end of the last
        np.save(folder / DOCUMENTS, offsets_from(np.concatenate([shard.lengths for shard in tokenized])))
        if self.words_per_row is not None:
            np.save(folder / SIZES, np.concatenate([shard.sizes for shard in tokenized]))
        manifest = Manifest(
            format=FORMAT,
            key=key,
            corpora=parts,
            tokenizer=self.tokenizer.recipe(),
            max_documents=self.max_documents,
            first_chunk_only=self.first_chunk_only,
            types=len(types),
            tokens=sum(part["tokens"] for part in parts),
            sha256=_write_ids(folder / IDS, tokenized, of_types),
        )
        if self.words_per_row is not None:
            manifest["words_per_row"] = self.words_per_row
        write_json(folder / MANIFEST, manifest)

    def _tokenized(self, wanted: Sequence[CorpusShard]) -> list[TokenizedShard]:
        """All shards in order, tokenized now unless an earlier process finished them."""
        folders = [
            self.work / "tokenized" / f"{number:06d}-{digest(shard.name)[:16]}" for number, shard in enumerate(wanted)
        ]
        progress = PreparationProgress(self.progress, sum(shard.bytes for shard in wanted))
        for finished in (True, False):
            numbers = [number for number, folder in enumerate(folders) if folder.exists() == finished]
            jobs = [(ShardJob.of(wanted[number], self.tokenizer), folders[number]) for number in numbers]
            if finished and jobs:
                self.progress(f"{len(jobs)} of {len(wanted)} shards are done already")
            progress.begin()
            for which, facts in self.workers.tokenize(jobs, progress.going_on):
                progress.done(wanted[numbers[which]].bytes, facts, before=finished)
        progress.end()
        return [TokenizedShard(folder) for folder in folders]

    def _cuts(self, source: CorpusSource) -> bool:
        return self.first_chunk_only and not source.packed

    def _refuse_changed(self) -> None:
        """Raises InputError where a corpus was changed while it was read; what was read of it is removed."""
        try:
            for source in self.sources:
                refuse_changed(source, f"corpus {source.name}")
        except InputError:
            remove(self.work)
            raise

    def _part(self, source: CorpusSource, tokenized: Sequence[TokenizedShard]) -> CorpusPart:
        facts = [shard.facts for shard in tokenized]
        part = CorpusPart(
            name=source.name,
            origin=source.origin,
            revision=source.revision,
            fingerprint=source.fingerprint,
            packed=source.packed,
            documents=sum(of_shard.documents for of_shard in facts),
            characters=sum(of_shard.characters for of_shard in facts),
            tokens=sum(of_shard.tokens for of_shard in facts),
        )
        return {**part, "about": source.facts} if source.facts else part

    def _train(self, folder: Path) -> None:
        what = f"training the {self.tokenizer.title}"
        texts = Again(lambda: telling(self._training_texts(), self.progress, what))
        self.tokenizer.train(texts, self.vocabulary_size, bars=self.watched and sys.stderr.isatty())
        self.tokenizer.save(folder)

    def _training_texts(self) -> Iterator[str]:
        """The texts that a tokenizer is trained on: the first documents of each corpus, of about equal size in all."""
        n = len(self.sources)
        return first_texts(
            [corpus_texts(source, self.max_documents, articles=self._cuts(source), of=n) for source in self.sources]
        )


def _recipe(tokenizer: Tokenizer, vocabulary_size: int) -> dict[str, object]:
    """The tokenizer's recipe for the key of a corpus, with the size of a vocabulary that is trained."""
    return trained_recipe(tokenizer, vocabulary_size) if tokenizer.trained else tokenizer.recipe()


def _write_ids(path: Path, tokenized: Sequence[TokenizedShard], of_types: Sequence[np.ndarray]) -> str:
    """Writes the final ids of all shards, given the final ids of their types; returns their SHA-256 (hex)."""
    checksum = hashlib.sha256()
    with path.open("wb") as file:
        for shard, final in zip(tokenized, of_types, strict=True):
            for ids in shard.final_ids(final, BLOCK_IDS):
                little = ids.astype("<i4", copy=False).data
                file.write(little)
                checksum.update(little)
    return checksum.hexdigest()


VOCABULARY_FORMAT = 1  # of a learned vocabulary; a change learns every vocabulary anew
# A vocabulary is learned on so many characters of all corpora, and as many of all tasks; more changes few merges
TRAINING_CHARACTERS = 500_000_000


@dataclass(frozen=True)
class LearnedTexts:
    """Texts that a vocabulary is learned on, not read yet."""

    fingerprint: str  # of the data and of the part that is read
    read: Callable[[], Iterable[str]]
    most: int  # characters, about, that are read


def corpus_texts(source: CorpusSource, max_documents: int | None, *, articles: bool, of: int) -> LearnedTexts:
    """The texts of one of `of` corpora that a vocabulary is learned on together."""
    return LearnedTexts(
        digest("corpus", source.fingerprint, json.dumps([max_documents, articles])),
        lambda: source.documents(max_documents, articles=articles),
        TRAINING_CHARACTERS // of,
    )


def first_texts(parts: Sequence[LearnedTexts]) -> Iterator[str]:
    """The first texts of each part, up to its number of characters; the last text is whole."""
    for part in parts:
        remaining = part.most
        for text in part.read():
            if remaining <= 0:
                break
            remaining -= len(text)
            yield text


def trained_recipe(tokenizer: Tokenizer, vocabulary_size: int) -> dict[str, object]:
    """The recipe of a vocabulary that is learned, with its size and the number of characters that are read for it."""
    trained = {"kind": tokenizer.kind, "train": vocabulary_size, "characters": TRAINING_CHARACTERS}
    return trained | tokenizer.options()


def learn_vocabulary(
    tokenizer: Tokenizer,
    vocabulary_size: int,
    parts: Sequence[LearnedTexts],
    folder: Path,
    *,
    progress: Callable[[str], None] | None = None,
    shared: SharedFolder | None = None,
) -> str:
    """The key of a vocabulary, which is learned now if `folder` has it not yet, and loaded into the tokenizer."""
    recipe = json.dumps(trained_recipe(tokenizer, vocabulary_size), sort_keys=True)
    key = digest("vocabulary", str(VOCABULARY_FORMAT), recipe, *(part.fingerprint for part in parts))

    def build(partial: Path) -> None:
        what = f"training the {tokenizer.title}"
        texts = Again(lambda: telling(first_texts(parts), progress or (lambda text: None), what))
        tokenizer.train(texts, vocabulary_size)
        tokenizer.save(partial)

    tokenizer.load(make_once(folder / key, build, shared=shared))
    return key
