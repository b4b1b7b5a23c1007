"""Which rows of train are held out, where a split or a value is to be chosen on rows that training does not see.

Two rules; stored experiments name or mean the first:

- `rows`: a tenth of the rows, drawn one by one, by chance alone or in an order in which every beginning has the labels
  in their proportions.
- `groups`: two rows are in one group if one lies in the other (`Contained`), and groups are drawn until a tenth of
  the rows is held out; a row whose class train would lose stays there with its group. Short texts may lie in so many
  rows that most of train is one group: then texts of fewer than t words bind no groups, t being the least number with
  which half of the rows are in groups small enough to be drawn. Such a text is held out only if all rows in which it
  lies are, so that no held-out row lies in a row of train. Where no row lies in another and no class is rare, these are
  the rows of the first rule.

A text lies in another if its words are there, one behind the other. Words are the tokens of tokenizer `unicode`
(version 2), so case, blanks and normal forms do not count. A text without words lies only in its equals. For
pairs both texts must lie in the two texts of the other row, in either order.

A run of words has a hash of 64 bits at each power of two: the hash of 2 k words is mixed from its halves' hashes. A
text of n words, k <= n < 2 k, is two such runs that may overlap, its first and its last k words. Only places where the
first run of some text begins are looked at for each number of words. For N words in all that takes N log(longest text)
steps, and a step for each number of words and such place. Two different runs with equal hashes are not to be expected
before some billions of runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hashbench.common.splitmix import GAMMA, mix
from hashbench.models.text.unicode import well_formed
from hashbench.models.text.words import UnicodeTokenizer

SHARE = 10  # one training row of ten
LARGEST_GROUP = 50  # rows of a group that is drawn though it is more than a tenth of the tenth
FEWEST_GROUPS = 3  # of all rows, where they are few

# Rows (k,) of train -> how often each class is there (n_classes,), None where labels are no classes
CountClasses = Callable[[np.ndarray], np.ndarray | None]


def order_by_chance(n: int, seed: int) -> np.ndarray:
    """All n rows in the order in which a seed draws them."""
    # RandomState: NumPy keeps its stream the same in all versions
    return np.random.RandomState([seed, SHARE]).permutation(n)


def drawn_rows(order: np.ndarray) -> np.ndarray:
    """A tenth of the rows, the first ones in their order (n,), as True in (n,)."""
    held = np.zeros(len(order), bool)
    held[order[: _tenth(len(order))]] = True
    return held


def drawn_groups(contained: Contained, order: np.ndarray, count: CountClasses) -> np.ndarray:
    """About a tenth of the rows in groups, as True in (n,), `order` (n,) being that in which rows are drawn.

    One by one where nothing can be held out in groups.
    """
    groups = _Groups(contained, order)
    held = groups.held()
    while held.any() and len(lost := lost_classes(held, count)):
        rows = np.flatnonzero(held)
        of_each = np.array([count(rows[place : place + 1]) for place in range(len(rows))])  # (k, n_classes)
        has = of_each[:, lost] > 0
        groups.put_back([rows[of_class] for of_class in has.T])
        held = groups.held()
    return held if held.any() and not held.all() else drawn_rows(order)


def lost_classes(held: np.ndarray, count: CountClasses) -> np.ndarray:
    """The classes that only held-out rows have, where `held` (n,) is True; (0,) where labels are no classes."""
    kept = count(np.flatnonzero(~held))
    there = count(np.flatnonzero(held))
    return np.empty(0, np.int64) if kept is None or there is None else np.flatnonzero((kept == 0) & (there > 0))


def _tenth(n: int) -> int:
    return max(1, n // SHARE)


class _Groups:
    """The groups of distinct rows in the order in which they are drawn, and groups that are never drawn."""

    def __init__(self, contained: Contained, order: np.ndarray) -> None:
        self._contained = contained
        n, n_distinct = len(contained.row_of), len(contained.words)
        self._rows = np.bincount(contained.row_of, minlength=n_distinct)  # (m,) of each distinct row
        self._tenth = _tenth(n)
        largest = max(1, self._tenth // SHARE, min(n // FEWEST_GROUPS, LARGEST_GROUP))
        self._group = self._bound(largest)  # (m,) of each distinct row
        sizes = np.bincount(self._group, weights=self._rows)
        place = np.empty(n, np.int64)
        place[order] = np.arange(n)
        first = np.full(len(sizes), n)
        np.minimum.at(first, self._group[contained.row_of], np.arange(n))
        small = np.flatnonzero(sizes <= largest)
        # Groups of more than a tenth come last: they are drawn only if nothing else can be
        self._drawn = small[np.lexsort((place[first[small]], sizes[small] > self._tenth))]

    def _bound(self, largest: int) -> np.ndarray:
        """The group of each distinct row (m,), bound by as short texts as leave half of the rows in small groups."""
        lengths = np.unique(self._contained.words[self._contained.inner])
        low, high = 0, len(lengths)  # at `high` nothing is bound, which is always possible
        while low < high:
            middle = (low + high) // 2
            group = self._joined(int(lengths[middle]))
            sizes = np.bincount(group, weights=self._rows)
            low, high = (low, middle) if 2 * self._rows[sizes[group] <= largest].sum() >= self._rows.sum() else (
                middle + 1, high)  # fmt: skip
        return self._joined(int(lengths[low]) if low < len(lengths) else None)

    def _joined(self, least: int | None) -> np.ndarray:
        """The group of each distinct row (m,), bound by texts of at least so many words; None: by none."""
        from scipy.sparse import coo_matrix
        from scipy.sparse.csgraph import connected_components

        of, m = self._contained, len(self._contained.words)
        bind = np.flatnonzero(of.words[of.inner] >= least) if least is not None else np.empty(0, np.int64)
        links = coo_matrix((np.ones(len(bind), bool), (of.inner[bind], of.outer[bind])), shape=(m, m))
        group: np.ndarray = connected_components(links, directed=False)[1]
        return group

    def held(self) -> np.ndarray:
        """The rows (n,) that are held out: of so many groups that their number is nearest to a tenth, at least one."""
        low, high = 0, len(self._drawn)  # the largest number of groups with at most a tenth of the rows
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._first(middle).sum() <= self._tenth else (low, middle - 1)
        fewer, more = self._first(low), self._first(low + 1)
        is_nearer = fewer.any() and self._tenth - fewer.sum() <= abs(int(more.sum()) - self._tenth)
        return fewer if is_nearer or more.all() else more

    def _first(self, n_groups: int) -> np.ndarray:
        """The rows (n,) of the first groups, without rows that lie in a row of another group."""
        is_drawn = np.zeros(int(self._group.max(initial=0)) + 1, bool)
        is_drawn[self._drawn[:n_groups]] = True
        distinct = is_drawn[self._group]
        outside = self._contained.inner[~distinct[self._contained.outer]]
        distinct[outside] = False
        return distinct[self._contained.row_of]

    def put_back(self, rows: Sequence[np.ndarray]) -> None:
        """Has groups stay in train: of each of these sets of held-out rows (k,) the group that is drawn last."""
        place = np.full(int(self._group.max(initial=0)) + 1, -1)
        place[self._drawn] = np.arange(len(self._drawn))
        of = self._group[self._contained.row_of]
        self._drawn = np.delete(self._drawn, list({int(place[of[of_class]].max()) for of_class in rows}))


FILTER_BITS = 22  # of a table that rules out most hashes before they are searched for
COMPARED_AT_ONCE = 4_000_000  # rows compared at a time: bounds the memory


@dataclass(frozen=True)
class Contained:
    """The distinct rows of a table, and which rows lie in which.

    `row_of` (n,): the distinct row of each row; `words` (m,): the words of each distinct row; `inner`, `outer` (p,):
    two different distinct rows, the first of which lies in the second.
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
    """Numbers 0 to n - 1 in blocks whose costs (n,) sum up to about COMPARED_AT_ONCE."""
    cuts = np.flatnonzero(np.diff(np.cumsum(costs) // COMPARED_AT_ONCE)) + 1
    return np.split(np.arange(len(costs)), cuts)
