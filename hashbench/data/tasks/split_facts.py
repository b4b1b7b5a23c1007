"""A task's data before any training: rows, repeats, classes, and how much of the texts a model reads.

Words of a text are the tokens of tokenizer `unicode` that have a letter or a digit: in scripts that write no white
space between words each letter is one. Fertility, and the share of words that are one token, are those of the package
toklens: words are what is between white space, and each is tokenized by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hashbench.common.measured import TextCounts, TextsRead
from hashbench.data.sources.batching import kept_tokens
from hashbench.data.sources.fingerprints import marked_cache_folder
from hashbench.data.sources.mapped import taken
from hashbench.data.sources.rows import Repeats, count_empty, count_repeats
from hashbench.data.tasks.encoding import Unknown, counts_of, encode_task
from hashbench.data.tasks.text import text_kind
from hashbench.data.tasks.text_data import TaskData
from hashbench.models.coders.base import Coder, shared_tokens
from hashbench.models.embeddings.base import Template
from hashbench.models.text.base import Tokenizer
from hashbench.models.text.types import TypeTable
from hashbench.models.text.unicode import well_formed
from hashbench.models.text.words import UnicodeTokenizer

TEXTS_AT_ONCE = 10_000  # cut texts whose tokens are looked for at a time; bounds the memory of a library's answers
FEWEST_TOKENS = 8  # tokens of an input, as in a recipe


def texts_read(
    data: TaskData, tokenizer: Tokenizer, template: Template, max_length: int, folder: Path | None = None
) -> TextsRead:
    """The counts of every split, where an input has at most `max_length` tokens, special ones included.

    `folder` keeps the encoded task (None: the cache folder), which a training makes and reads too.
    """
    lengths = _Lengths(data, tokenizer, folder)
    return TextsRead(max_length, {split: lengths.counts(split, template, max_length) for split in data.splits})


def length_that_keeps(
    data: TaskData, tokenizer: Tokenizer, template: Template, *, keep: float, at_most: int, folder: Path | None = None
) -> int:
    """The least limit on the tokens of an input with which a share `keep` of the tokens of train is read.

    `at_most` where that share needs more.
    """
    lengths = _Lengths(data, tokenizer, folder).of_texts("train")
    wanted = keep * sum(int(column.sum()) for column in lengths)

    def suffices(max_length: int) -> bool:
        return sum(int(kept.sum()) for kept in kept_tokens(lengths, template, max_length)) >= wanted

    low, high = min(FEWEST_TOKENS, at_most), at_most
    while low < high:  # more tokens never keep less
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle + 1, high)
    return low


class _Lengths:
    """The lengths of the texts of a task in tokens of a tokenizer, part by part."""

    def __init__(self, data: TaskData, tokenizer: Tokenizer, folder: Path | None) -> None:
        self._data, self._tokenizer = data, tokenizer
        self._parts, self._offsets = data.task.kind.tokenized_parts(data)
        self._encoded = encode_task(self._parts, tokenizer, (folder or marked_cache_folder()) / "tasks")

    def of_texts(self, split: str) -> list[np.ndarray]:
        """Tokens of each text (n,) of each column."""
        return [np.diff(column.offsets[self._offsets[split]]) for column in self._encoded.splits[split]]

    def counts(self, split: str, template: Template, max_length: int) -> TextCounts:
        """The counts of a split."""
        lengths = self.of_texts(split)
        kept = kept_tokens(lengths, template, max_length)
        texts = self._data.splits[split].texts
        lost = [np.flatnonzero(before > after) for before, after in zip(lengths, kept, strict=True)]
        return TextCounts(
            texts=sum(map(len, lengths)),
            texts_cut=sum(map(len, lost)),
            tokens=sum(int(column.sum()) for column in lengths),
            tokens_lost=sum(int((before - after).sum()) for before, after in zip(lengths, kept, strict=True)),
            characters=sum(len(well_formed(text)) for column in texts for text in column),
            characters_lost=sum(
                self._lost(split, column, rows, kept[column][rows], list(map(well_formed, taken(texts[column], rows))))
                for column, cut in enumerate(lost)
                for rows in np.split(cut, range(TEXTS_AT_ONCE, len(cut), TEXTS_AT_ONCE))
            ),
        )

    def _lost(self, split: str, column: int, rows: np.ndarray, kept: np.ndarray, texts: Sequence[str]) -> int:
        """Characters of the cut texts `rows` (k,) of a column that lie behind their first `kept` (k,) tokens."""
        first = self._encoded.splits[split][column].offsets  # (parts + 1,): the tokens before each part
        starts = self._offsets[split][rows]
        # The part in which the last kept token lies: all before it are kept whole
        last = np.searchsorted(first, first[starts] + kept, side="left") - 1
        last = np.maximum(last, starts)
        inside = first[starts] + kept - first[last]
        parts = self._parts.splits[split].texts[column]
        ends = self._tokenizer.reach([well_formed(parts[part]) for part in last], inside.tolist())
        before = [sum(map(len, parts[start:part])) for start, part in zip(starts, last, strict=True)]
        return sum(len(text) - behind - end for text, behind, end in zip(texts, before, ends, strict=True))


@dataclass(frozen=True)
class SplitFacts:
    """Counts of a split: its rows, and of its texts (both of a pair) the characters, bytes in UTF-8 and words."""

    rows: int
    repeats: Repeats
    empty: int  # rows in which a text is missing or empty
    texts: int
    characters: int
    bytes: int
    words: int


@dataclass(frozen=True)
class WordTokens:
    """Counts of the words between white space, each tokenized by itself."""

    words: int
    tokens: int
    single: int  # words that are one token

    @property
    def share_single(self) -> float | None:
        """The share of words that are one token; None without words."""
        return self.single / self.words if self.words else None


def word_tokens(columns: Iterable[Iterable[str]], tokenizer: Tokenizer) -> WordTokens:
    """The counts of the words of texts under a tokenizer that has its vocabulary."""
    occurrences = Counter(word for column in columns for text in column for word in well_formed(text).split())
    words, interner = list(occurrences), tokenizer.interner()
    lengths = [
        np.diff(interner.add(words[at : at + TEXTS_AT_ONCE]).offsets) for at in range(0, len(words), TEXTS_AT_ONCE)
    ]
    tokens = np.concatenate([np.zeros(0, np.int64), *lengths])  # (n,) of each distinct word
    counts = np.fromiter(occurrences.values(), np.int64, len(words))
    return WordTokens(int(counts.sum()), int(counts @ tokens), int(counts[tokens == 1].sum()))


@dataclass(frozen=True)
class ReadSplit:
    """Counts of a split under a tokenizer and a coder. A code counts as shared if any other type of the data has it."""

    tokens: int
    words: WordTokens
    types: int  # distinct tokens
    types_shared: float | None  # share of its types whose code is shared; None without types
    tokens_shared: float | None  # share of its tokens
    unknown: Unknown | None  # None where no token can be unknown


def split_facts(data: TaskData) -> dict[str, SplitFacts]:
    """The counts of each split."""
    repeats, empty = count_repeats(data.splits), count_empty(data.splits)
    facts = {}
    for split, part in data.splits.items():
        texts = [well_formed(text) for column in part.texts for text in column]
        facts[split] = SplitFacts(
            rows=len(part),
            repeats=repeats[split],
            empty=empty[split],
            texts=len(texts),
            characters=sum(map(len, texts)),
            bytes=sum(len(text.encode()) for text in texts),
            words=_count_words(texts),
        )
    return facts


def _count_words(texts: Sequence[str]) -> int:
    interner = UnicodeTokenizer().interner()
    ids = interner.add(texts).ids
    types, remap = interner.finish()
    is_word = np.array([any(map(str.isalnum, string)) for string in types.strings()], bool)  # (n,)
    return int(is_word[remap[ids]].sum()) if len(types) else 0


def class_shares(data: TaskData) -> dict[str, dict[str, float]]:
    """The share of each class, by its name, among the labels of each split; {} where labels are no classes.

    Of several labels a row it is the share of the rows that have the label.
    """
    kind, names = text_kind(data.task), data.label_names
    counts = {split: kind.class_counts(part, len(names)) for split, part in data.splits.items()}
    rows = {split: len(part) if kind.multi_label else None for split, part in data.splits.items()}
    shares = {split: of / max(1, rows[split] or of.sum()) for split, of in counts.items() if of is not None}
    return {name: {split: float(of[i]) for split, of in shares.items()} for i, name in enumerate(names)}


def read_splits(data: TaskData, tokenizer: Tokenizer, coder: Coder, folder: Path | None = None) -> dict[str, ReadSplit]:
    """The counts of each split under a tokenizer that has its vocabulary, and a coder, which is fitted here if need be.

    A coder learns from the pieces of the tokenizer, or from the types of train. `folder` keeps the encoded task.
    """
    encoded = encode_task(data.task.kind.tokenized_parts(data)[0], tokenizer, folder)
    counts: dict[str, np.ndarray] = {
        split: np.sum([np.bincount(column.ids, minlength=len(encoded.types)) for column in columns], axis=0)
        for split, columns in encoded.splits.items()
    }
    if not coder.fit_pieces(tokenizer.pieces) and coder.needs_fit:
        coder.fit(_of_train(encoded.types, counts["train"]))
    codes = coder.encode_types(encoded.types)
    unknown = counts_of(encoded, tokenizer, coder, codes)
    return {
        split: ReadSplit(
            tokens=int(of.sum()),
            words=word_tokens(data.splits[split].texts, tokenizer),
            types=int((of > 0).sum()),
            types_shared=shared_tokens(codes, (of > 0).astype(np.int64)) if of.any() else None,
            tokens_shared=shared_tokens(codes, of) if of.any() else None,
            unknown=unknown.get(split),
        )
        for split, of in counts.items()
    }


def _of_train(types: TypeTable, counts: np.ndarray) -> TypeTable:
    """The types that have a count (n,), with these counts."""
    there = np.flatnonzero(counts)
    return TypeTable.from_counts(dict(zip(types.strings(there), counts[there].tolist(), strict=True)))
