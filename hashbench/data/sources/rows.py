"""Counts of rows whose texts are missing or copies of others, within a split and between splits, and notes on them.

Two rows are copies exactly, but for case, blanks and characters that show nothing, or as pairs in the other order. A
row counts once, in the first of these ways in which another is its copy. Rows are compared by 64 bits of a hash: of ten
million rows two are one by chance once in a hundred thousand data sets.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from hashbench.common.invisible import UNSEEN

WAYS = (
    "",
    " but for case, blanks or invisible characters",
    " in the other order",
)  # in which a row is a copy, as notes say it
NUL = "\0"


class LabelledTexts(Protocol):
    """Texts with labels."""

    @property
    def texts(self) -> tuple[Sequence[str], ...]: ...
    @property
    def labels(self) -> np.ndarray: ...


def count_empty(splits: Mapping[str, LabelledTexts]) -> dict[str, int]:
    """The number of rows of each split in which a text is missing or empty."""
    return {
        name: sum(any(not text.strip() for text in row) for row in zip(*split.texts, strict=True))
        for name, split in splits.items()
    }


def missing_texts(splits: Mapping[str, LabelledTexts]) -> list[str]:
    """A note with the number of rows of each split in which a text is missing or empty, if there are such rows."""
    return _note("missing or empty texts", count_empty(splits))


class Repeats(NamedTuple):
    """Numbers of rows of a split that repeat the texts and label of a row before them, and whose texts train has."""

    repeated: int
    in_train: int  # 0 for train itself


def count_repeats(splits: Mapping[str, LabelledTexts]) -> dict[str, Repeats]:
    """The numbers of repeated rows of each split."""
    rows = {name: _Rows(split) for name, split in splits.items()}
    return {
        name: Repeats(of.n_repeated(), of.copies_of(rows["train"])[0] if name != "train" else 0)
        for name, of in rows.items()
    }


def row_notes(
    splits: Mapping[str, LabelledTexts], *, about: Collection[str] | None = None, selected: Collection[str] = ()
) -> list[str]:
    """Notes on copies of rows, on one text under several labels, and on texts with a NUL character.

    `about`: the splits whose rows are counted; None: all. `selected`: the splits that the best evaluation is
    chosen on. Other splits should share no rows with them or with train.
    """
    rows = {name: _Rows(split) for name, split in splits.items()}
    noted = {name: of for name, of in rows.items() if about is None or name in about}
    notes = _note("repeated", {name: of.n_repeated() for name, of in noted.items()})
    again = {name: of.copies_within() for name, of in noted.items()}
    notes += [
        line
        for at, way in enumerate(WAYS[1:], 1)
        for line in _note(f"repeated{way}", {name: counts[at] for name, counts in again.items()})
    ]
    for other in ("train", *selected):
        if other not in rows:
            continue
        apart = [name for name in noted if name != "train" and name not in (selected if other != "train" else ())]
        shared = {name: noted[name].copies_of(rows[other]) for name in apart}
        for at, way in enumerate(WAYS):
            notes += _note(f"texts also in {other}{way}", {name: counts[at] for name, counts in shared.items()})
    for what in ("labels", "scores", "sets of labels"):
        several = {name: of.n_under_several() for name, of in noted.items() if of.label == what}
        shown = [f"{texts:,} of {name} ({_rows(n)})" for name, (texts, n) in several.items() if texts]
        notes += [f"texts under several {what}: {', '.join(shown)}"] if shown else []
    return notes + _note("NUL characters (U+0000) in texts", {name: of.n_nul for name, of in noted.items()})


class _Rows:
    """The rows of a split by the keys of their texts, uint64 (n,) for each of WAYS that they have."""

    def __init__(self, split: LabelledTexts) -> None:
        keys = [bytearray() for _ in WAYS[: 1 + len(split.texts)]]
        blank = []
        self.n_nul = 0
        for row in zip(*split.texts, strict=True):
            bare = tuple(map(plain, row))
            blank.append(not any(bare))
            self.n_nul += any(NUL in text for text in row)
            forms = (row, row if blank[-1] else bare, row if blank[-1] else tuple(sorted(bare)))
            before, key = None, b""
            for form, gathered in zip(forms, keys, strict=False):
                key = key if form == before else hashlib.blake2b(repr(form).encode(), digest_size=8).digest()
                before = form
                gathered += key
        self._keys = [np.frombuffer(bytes(gathered), np.uint64) for gathered in keys]
        self._blank = np.array(blank, bool)
        of = split.labels
        self.label = "sets of labels" if of.ndim > 1 else "scores" if of.dtype.kind == "f" else "labels"
        numbers: dict[object, int] = {}
        labels = of.tolist() if of.ndim == 1 else map(np.ndarray.tobytes, of)
        self._labels = np.fromiter((numbers.setdefault(label, len(numbers)) for label in labels), np.int64, len(of))

    def n_repeated(self) -> int:
        """How many rows have the texts and the label of a row before them."""
        return len(self._labels) - len(self._first_of_each())

    def copies_within(self) -> list[int]:
        """How many rows are copies of a row before them, in each of WAYS."""
        return _in_first_way([_before(keys) for keys in self._keys])

    def copies_of(self, other: _Rows) -> list[int]:
        """How many rows are copies of rows of another split, in each of WAYS."""
        return _in_first_way([np.isin(keys, of) for keys, of in zip(self._keys, other._keys, strict=True)])

    def n_under_several(self) -> tuple[int, int]:
        """How many texts have several labels, and how many rows these have; rows without a text are left out."""
        keys = self._keys[0]
        different = self._first_of_each()
        texts, counts = np.unique(keys[different[~self._blank[different]]], return_counts=True)
        several = texts[counts > 1]
        return len(several), int((np.isin(keys, several) & ~self._blank).sum())

    def _first_of_each(self) -> np.ndarray:
        """A row (k,) for each different pair of texts and label."""
        order = np.lexsort((self._labels, self._keys[0]))
        keys, labels = self._keys[0][order], self._labels[order]
        is_new = np.ones(len(order), bool)
        is_new[1:] = (keys[1:] != keys[:-1]) | (labels[1:] != labels[:-1])
        return order[is_new]


def plain(text: str) -> str:
    """A text without differences in case, blanks, invisible characters and Unicode normal form."""
    return " ".join(
        (text if text.isascii() else UNSEEN.sub("", unicodedata.normalize("NFKC", text))).casefold().split()
    )


def _before(keys: np.ndarray) -> np.ndarray:
    """True for each key (n,) that equals an earlier one: bool (n,)."""
    again = np.ones(len(keys), bool)
    again[np.unique(keys, return_index=True)[1]] = False
    return again


def _in_first_way(copies: Sequence[np.ndarray]) -> list[int]:
    """How many rows are copies in each of WAYS, bool (n,) each, and not in an earlier one; 0 for a way there is not."""
    counts, counted = [0] * len(WAYS), np.zeros(len(copies[0]), bool)
    for at, is_copy in enumerate(copies):
        counts[at] = int((is_copy & ~counted).sum())
        counted |= is_copy
    return counts


def _note(what: str, counts: Mapping[str, int]) -> list[str]:
    """A note with the numbers of rows of the splits that have some; no note where none has."""
    counted = [f"{_rows(n)} of {split}" for split, n in counts.items() if n]
    return [f"{what}: {', '.join(counted)}"] if counted else []


def _rows(n: int) -> str:
    return f"{n:,} row{'' if n == 1 else 's'}"
