"""Tags of words that mark spans: `B-city I-city O`, read as conlleval and seqeval read them.

A span is a run of words under one type. `B` begins one, `I` goes on; IOB1, IOB2 and IOBES are read in one way: an `I`
or `E` behind another type, or behind `O`, begins a new span, `E` ends one, `S` is one of a single word. Since words are
whole, a span of words is a span of characters, whatever pieces a tokenizer makes of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hashbench.common.errors import InputError

OUTSIDE = "O"
TAG = re.compile(r"O|[BIES]-.+")
SCHEME = "O, or B-, I-, E- or S- and a type, as B-city"
BILOU = {"U-": "S-", "L-": "E-"}  # the same as IOBES, in spaCy's letters
# Where a row of words has ended, as torch's losses pass it over.
NO_WORD = -100


def words_of(text: str) -> list[str]:
    """The words of a text of a tagging task, which are joined by single spaces."""
    return text.split(" ") if text else []


def iobes(tag: Any) -> Any:
    """A tag of BILOU in the letters of IOBES, anything else as it is.

    >>> [iobes(tag) for tag in ("U-city", "B-city", "L-city", "O")]
    ['S-city', 'B-city', 'E-city', 'O']
    """
    return BILOU[tag[:2]] + tag[2:] if isinstance(tag, str) and tag[:2] in BILOU else tag


class Spans(NamedTuple):
    """Spans of words in a batch of rows, in the order of rows and words."""

    rows: np.ndarray  # (s,) int64
    first: np.ndarray  # (s,) the word that begins it
    last: np.ndarray  # (s,) the word that ends it, itself inside
    types: np.ndarray  # (s,) a number a type


class TagScheme:
    """The meaning of a task's tag ids: which tag begins or continues a span, and the type of the span."""

    def __init__(self, tags: Sequence[str]) -> None:
        """Raises InputError for a tag outside the scheme."""
        for tag in tags:
            if not TAG.fullmatch(tag):
                raise InputError(f"tag {tag!r} is outside the scheme; a tag is {SCHEME}")
        types = sorted({tag[2:] for tag in tags if tag != OUTSIDE})
        self.outside = list(tags).index(OUTSIDE) if OUTSIDE in tags else -1  # the id of no span
        # One entry more, for what is no word: outside
        self.parts = np.array([tag[0] for tag in (*tags, OUTSIDE)])
        self.types = np.array([types.index(tag[2:]) if tag != OUTSIDE else -1 for tag in (*tags, OUTSIDE)])

    def spans(self, tags: np.ndarray) -> Spans:
        """Ids of tags (B, W), anything below 0 where there is no word -> the spans, row by row.

        >>> TagScheme(["O", "B-a", "I-a", "I-b"]).spans(np.array([[1, 2, 3, 0, 2]])).first.tolist()
        [0, 2, 4]
        """
        n, width = tags.shape
        # A word outside behind each row, so that nothing runs on into the next
        laid = np.concatenate([np.where(tags < 0, -1, tags), np.full((n, 1), -1)], axis=1).ravel()  # (B (W + 1),)
        part, kind = self.parts[laid], self.types[laid]
        before = np.concatenate([[OUTSIDE], part[:-1]])
        kind_before = np.concatenate([[-1], kind[:-1]])
        inside, inside_before = part != OUTSIDE, before != OUTSIDE
        closed = np.isin(before, ["E", "S"])  # whatever comes behind it is another span
        broken = closed | np.isin(part, ["B", "S"]) | (kind != kind_before) | ~inside_before
        begins = np.flatnonzero(inside & broken)
        ends = np.flatnonzero(inside_before & (broken | ~inside)) - 1
        return Spans(begins // (width + 1), begins % (width + 1), ends % (width + 1), kind[begins])

    def counts(self, gold: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """Ids of tags (B, W) each, gold below 0 where there is no word -> (B, 5) int64.

        Columns: spans in gold, predicted spans, predicted spans that are equal in both ends and type, words, words
        with the right tag.
        """
        is_word = gold >= 0
        predicted = np.where(is_word, predicted, -1)
        real, guessed = self.spans(gold), self.spans(predicted)
        # What begins at each word: (B, W)
        end, kind = np.full(gold.shape, -1), np.full(gold.shape, -1)
        end[real.rows, real.first], kind[real.rows, real.first] = real.last, real.types
        place = (guessed.rows, guessed.first)
        right = (end[place] == guessed.last) & (kind[place] == guessed.types)
        rows = len(gold)
        return np.stack(
            [
                np.bincount(real.rows, minlength=rows),
                np.bincount(guessed.rows, minlength=rows),
                np.bincount(guessed.rows[right], minlength=rows),
                is_word.sum(axis=1),
                (is_word & (gold == predicted)).sum(axis=1),
            ],
            axis=1,
        )
