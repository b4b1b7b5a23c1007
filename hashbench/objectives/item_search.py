"""From m distributions over buckets to a ranking of items (Superbloom, Algorithm 1, extended to the top k).

score(s) = sum_j l_j(h_j(s)), l_j the log-probabilities of map j's buckets; `join="min"` takes the smallest instead.
Items are numbered by frequency, and of equal scores the lower number comes first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Literal

import numpy as np
import torch
from torch import Tensor

EXHAUSTIVE_BELOW = 30_000  # items: below, scoring all of them is faster than looking for candidates
CELLS = 1 << 24  # scores that exist at a time: 64 MB in float32
BLOCK = 64  # neighbouring buckets of which the highest is found first
WIDER = 16  # times as many buckets are looked at, where those at hand do not certify
NOBODY = -1  # fills up a ranking with fewer items than were asked for


@dataclass(frozen=True)
class Found:
    """The best items of each query."""

    items: Tensor  # (Q, k) int64, -1 where there were fewer
    scores: Tensor  # (Q, k) float32, -inf where there were fewer
    certified: Tensor  # (Q,) bool: no item outside can have a higher score than the last one


class ItemSearch:
    """Rankings under one set of maps."""

    def __init__(
        self, maps: np.ndarray, alpha: int, *, join: Literal["sum", "min"] = "sum", device: torch.device | str = "cpu"
    ) -> None:
        """`maps` (m, N): bucket of each item, every bucket but the last of a map with `alpha` items."""
        m, self.n_items = maps.shape
        self.alpha, self.n_buckets = alpha, -(-self.n_items // alpha)
        self._join = torch.add if join == "sum" else torch.minimum
        self.maps = torch.from_numpy(maps.astype(np.int32)).to(device)  # (m, N)
        filled = np.full((m, self.n_buckets * alpha), NOBODY, np.int32)
        filled[:, : self.n_items] = np.argsort(maps, axis=1, kind="stable")
        self.members = torch.from_numpy(filled.reshape(m, self.n_buckets, alpha)).to(device)

    @property
    def scores_all(self) -> bool:
        """Whether the items are so few that all of them are scored."""
        return self.n_items < EXHAUSTIVE_BELOW

    def exhaustive(self, logs: Tensor, k: int) -> Found:
        """The k best of all items. `logs` (Q, m, NB)."""
        k = min(k, self.n_items)
        rows = max(1, CELLS // self.n_items)
        parts = [_best(self._all_scores(part), k) for part in logs.split(rows)]
        items, scores = (torch.cat(each) for each in zip(*parts, strict=True))
        return Found(items, scores, torch.ones(len(logs), dtype=torch.bool, device=logs.device))

    def approximate(self, logs: Tensor, k: int, beam: int) -> Found:
        """The k best of the items that stand in one of the `beam` best buckets of any map. `logs` (Q, m, NB).

        Certified (the paper's certificate with the tighter values at beam + 1) are rankings that no other item can
        enter: outside, every l_j is at most the best bucket outside.
        """
        k = min(k, self.n_items)
        parts = [self._candidates(part, beam) for part in logs.split(self._rows(beam))]
        ranked = [_first(candidates, scores, k) for candidates, scores, _ in parts]
        items, scores = (torch.cat(each) for each in zip(*ranked, strict=True))
        bound = torch.cat([bound for _, _, bound in parts])  # (Q,)
        return Found(items, scores, scores[:, -1] >= bound)

    def exact(self, logs: Tensor, k: int, beam: int) -> Found:
        """The k best of all items (up to ties), looking at as few as the certificate allows. `logs` (Q, m, NB)."""
        found = self.approximate(logs, k, beam)
        for row in (~found.certified).nonzero()[:, 0].tolist():
            one = logs[row : row + 1]
            wider = self._sufficient(one[0], found.scores[row, -1], beam)
            every = wider * self.alpha * len(self.maps) >= self.n_items
            again = self.exhaustive(one, k) if every else self.approximate(one, k, wider)
            found.items[row], found.scores[row] = again.items[0], again.scores[0]
        return Found(found.items, found.scores, torch.ones_like(found.certified))

    def best(self, logs: Tensor, k: int, beam: int) -> Found:
        """The k best items, all scored where they are few, else by `exact`."""
        return self.exhaustive(logs, k) if self.scores_all else self.exact(logs, k, beam)

    def ranks(self, logs: Tensor, targets: Tensor) -> Tensor:
        """Rank of one item of each query among all, 1 for the best: logs (Q, m, NB), targets (Q,) -> (Q,) int64."""
        found = []
        for part, wanted in zip(*(each.split(max(1, CELLS // self.n_items)) for each in (logs, targets)), strict=True):
            scores = self._all_scores(part)  # (q, N)
            own = scores.gather(1, wanted[:, None])  # (q, 1)
            earlier = torch.arange(self.n_items, device=scores.device) < wanted[:, None]
            found.append(1 + ((scores > own) | ((scores == own) & earlier)).sum(1))
        return torch.cat(found)

    def _all_scores(self, logs: Tensor) -> Tensor:
        """(q, m, NB) -> (q, N)."""
        return reduce(self._join, (logs[:, j].index_select(1, buckets) for j, buckets in enumerate(self.maps)))

    def _rows(self, beam: int) -> int:
        """Queries whose candidates fit into memory together."""
        return max(1, CELLS // (len(self.maps) * (self.n_buckets + beam * self.alpha)))

    def _candidates(self, logs: Tensor, beam: int) -> tuple[Tensor, Tensor, Tensor]:
        """Items (q, m beam alpha) and their scores, each once (others -1 and -inf), and the bound (q,) of the rest."""
        beam = min(beam, self.n_buckets)
        values, best = top_buckets(logs, min(beam + 1, self.n_buckets))  # (q, m, beam + 1)
        inside = torch.zeros(logs.shape, dtype=torch.bool, device=logs.device)
        inside.scatter_(2, best[..., :beam], True)  # (q, m, NB)
        items, scores = [], []
        for j, members in enumerate(self.members):
            here = members[best[:, j, :beam]].flatten(1).long()  # (q, beam alpha)
            valid = here >= 0
            buckets = [each[here.clamp(min=0)].long() for each in self.maps]
            for earlier in range(j):  # counted in that list already
                valid &= ~inside[:, earlier].gather(1, buckets[earlier])
            joined = reduce(self._join, (logs[:, i].gather(1, bucket) for i, bucket in enumerate(buckets)))
            items.append(here.masked_fill(~valid, NOBODY))
            scores.append(joined.masked_fill(~valid, -torch.inf))
        if beam == self.n_buckets:
            bound = torch.full_like(logs[:, 0, 0], -torch.inf)
        else:
            bound = reduce(self._join, (values[:, j, beam] for j in range(len(self.maps))))
        return torch.cat(items, 1), torch.cat(scores, 1), bound

    def _sufficient(self, logs: Tensor, worst: Tensor, beam: int) -> int:
        """The smallest beam, at least `beam`, outside of which no item scores above `worst`. `logs` (m, NB)."""
        width = beam
        while True:  # few of many buckets are better, so they are not all sorted
            width = min(WIDER * width, self.n_buckets)
            ordered, _ = top_buckets(logs, width)
            bounds = reduce(self._join, ordered.unbind())  # (width,): of what is outside a beam of 0, 1, ...
            above = int((bounds > worst).sum())
            if above < width or width == self.n_buckets:
                return max(beam, above)


def top_buckets(logs: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k highest of (..., NB), highest first, and their places, both (..., k): `topk`, faster where NB is large.

    They stand in the k blocks with the highest maxima, or equals of them do.
    """
    n = logs.shape[-1]
    if n < 4 * k * BLOCK:
        values, places = logs.topk(k)
        return values, places
    whole = n // BLOCK * BLOCK
    blocks = logs[..., :whole].unflatten(-1, (-1, BLOCK)).amax(-1).topk(k).indices  # (..., k)
    inner = torch.arange(BLOCK, device=logs.device)
    places = (blocks[..., None] * BLOCK + inner).flatten(-2)  # (..., k BLOCK)
    rest = torch.arange(whole, n, device=logs.device).expand(*places.shape[:-1], n - whole)
    places = torch.cat([places, rest], -1)
    values, order = logs.gather(-1, places).topk(k)
    return values, places.gather(-1, order)


def _best(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k best of scores (q, N), of equal ones the lower number: items and scores (q, k)."""
    n = scores.shape[1]
    values, items = scores.topk(min(k + 1, n), dim=1)
    if k < n:
        for row in (values[:, k - 1] == values[:, k]).nonzero()[:, 0].tolist():  # a tie at the edge
            above = (scores[row] > values[row, k]).nonzero()[:, 0]
            level = (scores[row] == values[row, k]).nonzero()[: k - len(above), 0]
            items[row, :k] = torch.cat([above, level])
            values[row, :k] = scores[row, items[row, :k]]
    return _first(items[:, :k], values[:, :k], k)


def _first(items: Tensor, scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k best candidates (q, c), of equal ones the lower number, filled up with -1: items and scores (q, k)."""
    if items.shape[1] > k:  # what cannot be among the k best, ties at the edge included, is not sorted
        edge = scores.topk(k, dim=1).values[:, -1:]
        scores, order = scores.topk(int((scores >= edge).sum(1).max()), dim=1)
        items = items.gather(1, order)
    by_item = items.argsort(dim=1)
    scores, order = scores.gather(1, by_item).sort(dim=1, descending=True, stable=True)
    items = items.gather(1, by_item).gather(1, order)
    missing = max(0, k - items.shape[1])
    items = torch.nn.functional.pad(items[:, :k], (0, missing), value=NOBODY)
    scores = torch.nn.functional.pad(scores[:, :k], (0, missing), value=-torch.inf)
    return items.masked_fill(scores == -torch.inf, NOBODY), scores
