"""Description of a task's data before any training: rows, repeats, classes, scripts, and what a way of reading keeps.

A *way of reading* is a tokenizer with a coder. Words are the tokens of tokenizer `unicode` that have a letter or a
digit: in scripts that write no white space between words each letter is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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

NO_SCRIPT = ("Zyyy", "Zinh", "Zzzz")  # ISO 15924: of characters that several scripts share, of marks, of unknown ones


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
    """Counts of a split under a way of reading. A code counts as shared if any other type of the data has it."""

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


@dataclass(frozen=True)
class ScriptShares:
    """Shares of a script among all letters, and among the texts of each split, each under its most frequent script."""

    letters: float
    texts: Mapping[str, float]


def script_shares(data: TaskData) -> dict[str, ScriptShares]:
    """The shares of each script that occurs, by its name in Unicode, the most frequent one first."""
    from fontTools.unicodedata import script, script_name

    script_of: dict[str, str] = {}
    letters: Counter[str] = Counter()
    mains: dict[str, Counter[str]] = {split: Counter() for split in data.splits}
    for split, part in data.splits.items():
        for text in (text for column in part.texts for text in column):
            of_text: Counter[str] = Counter()
            for character, n in Counter(text).items():
                if character not in script_of:
                    script_of[character] = script(character)
                if script_of[character] not in NO_SCRIPT:
                    of_text[script_of[character]] += n
            letters.update(of_text)
            if of_text:  # of two that are equally frequent that which is first in the text
                mains[split][max(of_text, key=of_text.__getitem__)] += 1
    return {
        script_name(code): ScriptShares(
            n / letters.total(), {split: of[code] / max(1, of.total()) for split, of in mains.items()}
        )
        for code, n in letters.most_common()
    }


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


def value_range(values: Iterable[float]) -> tuple[float, float, float] | None:
    """Least, mean and largest of the values; None where there are none."""
    array = np.fromiter(values, np.float64)
    return (float(array.min()), float(array.mean()), float(array.max())) if len(array) else None
