"""Which rows of train are held out, where a split or a value is to be chosen on rows that training does not see.

Two rules, of which stored experiments name or mean the first:

- `rows`: a tenth of the rows, drawn one by one.
- `groups`: rows of which one lies in the other (`contained.py`) are one group, and groups are drawn, until a tenth of
  the rows is held out; a row whose class train would lose stays there with its group. Short texts may lie in so many
  rows that most of train is one group: then texts of fewer than t words bind no groups, t being the least number with
  which half of the rows are in groups small enough to be drawn. Such a text is held out only if all rows in which it
  lies are, so that no held-out row lies in a row of train. Where no row lies in another and no class is rare, these are
  the rows of the first rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hashbench.data.tasks.contained import Contained

SHARE = 10  # one training row of ten
LARGEST = 50  # rows of a group that is drawn though it is more than a tenth of the tenth
FEWEST_GROUPS = 3  # of all rows, where they are few

# Rows (k,) of train -> how often each class is there (n_classes,), None where labels are no classes
CountClasses = Callable[[np.ndarray], np.ndarray | None]


def drawn_rows(n: int, seed: int) -> np.ndarray:
    """A tenth of n rows, drawn one by one, as True in (n,)."""
    held = np.zeros(n, bool)
    held[_order(n, seed)[: _tenth(n)]] = True
    return held


def drawn_groups(contained: Contained, seed: int, count: CountClasses) -> np.ndarray:
    """About a tenth of the rows in groups, as True in (n,); in any order where nothing can be held out in groups."""
    n = len(contained.row_of)
    groups = _Groups(contained, seed)
    held = groups.held()
    while held.any() and len(lost := lost_classes(held, count)):
        rows = np.flatnonzero(held)
        of_each = np.array([count(rows[place : place + 1]) for place in range(len(rows))])  # (k, n_classes)
        has = of_each[:, lost] > 0
        groups.put_back([rows[of_class] for of_class in has.T])
        held = groups.held()
    return held if held.any() and not held.all() else drawn_rows(n, seed)


def lost_classes(held: np.ndarray, count: CountClasses) -> np.ndarray:
    """The classes that only held-out rows have, of which `held` (n,) is True; (0,) where labels are no classes."""
    kept = count(np.flatnonzero(~held))
    there = count(np.flatnonzero(held))
    return np.empty(0, np.int64) if kept is None or there is None else np.flatnonzero((kept == 0) & (there > 0))


def _order(n: int, seed: int) -> np.ndarray:
    # RandomState: NumPy keeps its stream the same in all versions
    return np.random.RandomState([seed, SHARE]).permutation(n)


def _tenth(n: int) -> int:
    return max(1, n // SHARE)


class _Groups:
    """The groups of distinct rows in the order in which they are drawn, and those that are never drawn."""

    def __init__(self, contained: Contained, seed: int) -> None:
        self._contained = contained
        n, n_distinct = len(contained.row_of), len(contained.words)
        self._rows = np.bincount(contained.row_of, minlength=n_distinct)  # (m,) of each distinct row
        self._tenth = _tenth(n)
        largest = max(1, self._tenth // SHARE, min(n // FEWEST_GROUPS, LARGEST))
        self._group = self._bound(largest)  # (m,) of each distinct row
        sizes = np.bincount(self._group, weights=self._rows)
        place = np.empty(n, np.int64)
        place[_order(n, seed)] = np.arange(n)
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
        """The rows (n,) of the first groups, but those that lie in a row of another one."""
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
