"""Description of a task's data before any training: rows, repeats, classes, and what models read.

Words are the tokens of tokenizer `unicode` that have a letter or a
digit: in scripts that write no white space between words each letter is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hashbench.data.sources.rows import Repeats, count_empty, count_repeats
from hashbench.data.tasks.encoding import Unknown, counts_of, encode_task
from hashbench.data.tasks.text import text_kind
from hashbench.data.tasks.text_data import TaskData
from hashbench.models.coders.base import Coder
from hashbench.models.coders.collisions import shared_tokens
from hashbench.models.text.base import Tokenizer
from hashbench.models.text.types import TypeTable
from hashbench.models.text.unicode import well_formed
from hashbench.models.text.words import UnicodeTokenizer


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
class ReadSplit:
    """Counts of a split under a tokenizer and a coder. A code counts as shared if any other type of the data has it."""

    tokens: int
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
    """The share of each class, by its name, among the labels of each split; {} where labels are no classes."""
    kind, names = text_kind(data.task), data.label_names
    counts = {split: kind.class_counts(part, len(names)) for split, part in data.splits.items()}
    shares = {split: of / max(1, of.sum()) for split, of in counts.items() if of is not None}
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
