"""Rows whose texts lie in those of other rows, word for word, by hashes of runs of words.

A text lies in another if its words are there, one behind the other. Words are the tokens of tokenizer `unicode`
(version 2), so case, blanks and normal forms do not count. A text without words lies in no other but its equals. Of
pairs both texts must lie in those of the other row, in this order or the other.

A run of words has a hash of 64 bits at each power of two: that of 2 k words is mixed from those of its halves of k. A
text of n words, k <= n < 2 k, is two such runs that may overlap, its first and its last k words. Only places where the
first run of some text begins are looked at for each number of words. For N words in all that takes N log(longest text)
steps, and a step for each number of words and such place. Two different runs with equal hashes are not to be expected
before some billions of runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hashbench.common.splitmix import GAMMA, mix
from hashbench.models.text.unicode import well_formed
from hashbench.models.text.words import UnicodeTokenizer

FILTER_BITS = 22  # of a table that rules out most hashes before they are searched for
BLOCK = 4_000_000  # rows compared at a time: bounds the memory


@dataclass(frozen=True)
class Contained:
    """The distinct rows of a table, and which of them lie in which.

    `row_of` (n,): the distinct row of each row; `words` (m,): the words of each distinct row; `inner`, `outer` (p,):
    distinct rows of which the first lies in the second, another one.
    """

    row_of: np.ndarray
    words: np.ndarray
    inner: np.ndarray
    outer: np.ndarray

    @classmethod
    def of(cls, columns: Sequence[Sequence[str]]) -> Contained:
        """The rows of one column of texts (n,), or of two that make pairs."""
        n = len(columns[0])
        text_of, words, inner, outer = _texts([text for column in columns for text in column])
        if len(columns) == 1:
            return cls(text_of, words, inner, outer)
        pairs = np.sort(text_of.reshape(2, n).T, axis=1)  # (n, 2): in the other order it is the same row
        distinct, row_of = np.unique(pairs, axis=0, return_inverse=True)
        return cls(row_of.reshape(n), words[distinct].sum(axis=1), *_pairs(distinct, len(words), inner, outer))

    def lying_in(self, held: np.ndarray) -> int:
        """The number of rows of `held` (n,) bool that equal another row, or lie in one, that is not held."""
        outside = np.zeros(len(self.words), bool)
        outside[self.row_of[~held]] = True
        lying = outside.copy()
        lying[self.inner[outside[self.outer]]] = True
        return int(lying[self.row_of[held]].sum())


def _texts(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The distinct texts by their words: which each text is (n,), their words (m,), which (p,) lies in which (p,).

    Texts that differ in nothing but case or blanks are one.
    """
    interner = UnicodeTokenizer(version=2).interner()
    added = interner.add(list(map(well_formed, texts)))
    ids, offsets = interner.finish()[1][added.ids].astype(np.int64), np.asarray(added.offsets, np.int64)
    numbers: dict[bytes, int] = {}
    text_of, firsts = np.empty(len(texts), np.int64), list[int]()
    for row in range(len(texts)):
        key = ids[offsets[row] : offsets[row + 1]].tobytes()
        if key not in numbers:
            numbers[key] = len(firsts)
            firsts.append(row)
        text_of[row] = numbers[key]
    del numbers
    starts, ends = offsets[:-1][firsts], offsets[1:][firsts]
    words = ends - starts
    at = _runs(starts, words)
    return text_of, words, *_within(ids[at], words)


def _within(ids: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which of m distinct texts lies in which other, (p,) and (p,): ids of all words one text behind the other (N,)."""
    offsets = np.append(0, np.cumsum(words))
    text_at = np.repeat(np.arange(len(words), dtype=np.int32), words)  # (N,)
    n_behind = (np.repeat(offsets[1:], words) - np.arange(len(ids))).astype(np.int32)  # (N,) words to the text's end
    hashes = mix(ids.astype(np.uint64) + np.uint64(GAMMA))  # (N,) of runs of k words; over the end of a text unused
    codes_found, k = [np.empty(0, np.int64)], 1
    while k <= max(words, default=0):
        texts = np.flatnonzero((words >= k) & (words < 2 * k))
        heads = hashes[offsets[texts]]
        places = np.flatnonzero(_among(hashes, heads) & (n_behind >= k))
        for n in np.unique(words[texts]):
            of_length = texts[words[texts] == n]
            ends = offsets[of_length] + n - k
            keys = _joined(hashes[offsets[of_length]], hashes[ends])
            there = places[n_behind[places] >= n]
            order = np.argsort(keys)
            windows = _joined(hashes[there], hashes[there + n - k])
            at = np.minimum(np.searchsorted(keys, windows, sorter=order), len(keys) - 1)
            inner, is_one = of_length[order[at]], keys[order[at]] == windows
            inner, outer = inner[is_one], text_at[there[is_one]]
            other = inner != outer
            codes_found.append(np.unique(inner[other] * len(words) + outer[other]))
        hashes[:-k] = _joined(hashes[:-k], hashes[k:])
        k *= 2
    links = np.concatenate(codes_found)
    return links // max(1, len(words)), links % max(1, len(words))


def _joined(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The hash of two runs of words, one behind the other: uint64 (n,), (n,) -> (n,)."""
    return mix(first * np.uint64(GAMMA) + mix(second))


def _among(values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Which of the hashes (n,) may be among those wanted; a few others are let through."""
    low = np.uint64(2**FILTER_BITS - 1)
    table = np.zeros(2**FILTER_BITS, bool)
    table[wanted & low] = True
    return table[values & low]


def _pairs(rows: np.ndarray, n_texts: int, inner: np.ndarray, outer: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which of m distinct pairs of texts (m, 2) lies in which other, (p,) and (p,); `inner`, `outer`: of texts (p,).

    Of a pair the text with the fewer places is looked up, and the other one is compared there.
    """
    every = np.arange(n_texts)
    codes = np.unique(np.concatenate([inner * n_texts + outer, every * n_texts + every]))  # a text lies in itself
    above, above_at = codes % n_texts, np.searchsorted(codes, np.arange(n_texts + 1) * n_texts)
    sides = np.concatenate([rows[:, 0], rows[:, 1]])
    order = np.argsort(sides, kind="stable")  # places (2 m,) of each text: row, or m + row for the second side
    place_at = np.searchsorted(sides[order], np.arange(n_texts + 1))
    n_above = np.add.reduceat(np.diff(place_at)[above], above_at[:-1]) if n_texts else np.empty(0, np.int64)
    rarer = np.argmin(n_above[rows], axis=1)  # (m,)
    looked, compared = rows[np.arange(len(rows)), rarer], rows[np.arange(len(rows)), 1 - rarer]
    codes_found = [np.empty(0, np.int64)]
    for block in _blocks(n_above[looked]):
        row = np.repeat(block, np.diff(above_at)[looked[block]])
        text = above[_runs(above_at[looked[block]], np.diff(above_at)[looked[block]])]
        n_places = np.diff(place_at)[text]
        row, place = np.repeat(row, n_places), order[_runs(place_at[text], n_places)]
        other, side = place % len(rows), place // len(rows)
        code = compared[row] * n_texts + rows[other, 1 - side]
        is_in = (codes[np.minimum(np.searchsorted(codes, code), len(codes) - 1)] == code) & (row != other)
        codes_found.append(np.unique(row[is_in] * len(rows) + other[is_in]))
    links = np.concatenate(codes_found)
    return links // max(1, len(rows)), links % max(1, len(rows))


def _runs(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The numbers from each start (n,) on, as many as its length (n,), one run behind the other."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - lengths), lengths)


def _blocks(costs: np.ndarray) -> list[np.ndarray]:
    """Numbers 0 to n - 1 in blocks whose costs (n,) sum up to about BLOCK."""
    cuts = np.flatnonzero(np.diff(np.cumsum(costs) // BLOCK)) + 1
    return np.split(np.arange(len(costs)), cuts)
