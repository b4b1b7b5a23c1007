"""From m distributions over buckets to a ranking of items (Superbloom, Algorithm 1, extended to the top k).

score(s) = sum_j l_j(h_j(s)), l_j the log-probabilities of map j's buckets.
Items are numbered by frequency, and of equal scores the lower number comes first. At the end of a ranking found by
`exact` any of the items that share its last score may be in it; `exhaustive` takes the lowest numbers there too.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import reduce
from itertools import permutations

import numpy as np
import torch
from torch import Tensor

# Items: below this number, scoring every item is faster than looking for candidates.
EXHAUSTIVE_BELOW = 30_000
CELLS = 1 << 24  # scores that exist at a time: 64 MB in float32
NEIGHBOURS = 64  # neighbouring buckets; the highest among them is found first
NOBODY = -1  # fills up a ranking with fewer items than were requested


@dataclass(frozen=True)
class ItemRanking:
    """The best items of each query."""

    items: Tensor  # (Q, k) int64, -1 where there were fewer
    scores: Tensor  # (Q, k) float32, -inf where there were fewer
    # (Q,) bool: no item outside can have a higher score than the last one
    certified: Tensor


class ItemSearch:
    """Searches for the best items under one set of maps."""

    def __init__(self, maps: np.ndarray, alpha: int, *, device: torch.device | str = "cpu") -> None:
        """`maps` (m, N): bucket of each item, every bucket but the last of a map with `alpha` items."""
        m, self.n_items = maps.shape
        self.alpha, self.n_buckets = alpha, -(-self.n_items // alpha)
        self.maps = torch.from_numpy(maps.astype(np.int32)).to(device)  # (m, N)
        # Places of members in a map; the last ones of the last bucket may be empty.
        places = self.n_buckets * alpha
        filled = np.full((m, places), NOBODY, np.int32)
        filled[:, : self.n_items] = np.argsort(maps, axis=1, kind="stable")
        # A member's buckets in the other maps lie beside the buckets of its fellow members: a bucket is scored
        # from neighbouring memory, where looking each member up in the maps would go all over it.
        elsewhere = np.zeros((m, places, m - 1), np.int32)
        for j, i in permutations(range(m), 2):
            elsewhere[j, : self.n_items, i - (i > j)] = maps[i][filled[j, : self.n_items]]
        self._members = torch.from_numpy(filled.reshape(m, self.n_buckets, alpha)).to(device)
        self._elsewhere = torch.from_numpy(elsewhere.reshape(m, self.n_buckets, alpha, m - 1)).to(device)
        self._slots = torch.arange(alpha, device=device)

    @property
    def scores_all(self) -> bool:
        """True where the items are so few that every item is scored."""
        return self.n_items < EXHAUSTIVE_BELOW

    def exhaustive(self, logs: Tensor, k: int) -> ItemRanking:
        """The k best of all items. `logs` (Q, m, NB)."""
        k = min(k, self.n_items)
        rows = max(1, CELLS // self.n_items)
        parts = [_best(self._all_scores(part), k) for part in logs.split(rows)]
        items, scores = (torch.cat(tensors) for tensors in zip(*parts, strict=True))
        return ItemRanking(items, scores, torch.ones(len(logs), dtype=torch.bool, device=logs.device))

    def approximate(self, logs: Tensor, k: int, beam: int) -> ItemRanking:
        """The k best of the items in one of the `beam` best buckets of any map. `logs` (Q, m, NB).

        Certified (the paper's certificate with the tighter values at beam + 1) are rankings that no other item can
        enter: outside, every l_j is at most the best bucket outside.
        """
        rows = max(1, CELLS // (len(self.maps) * (self.n_buckets + beam * self.alpha)))
        parts = [self._in_beam(part, min(k, self.n_items), min(beam, self.n_buckets)) for part in logs.split(rows)]
        return ItemRanking(*(torch.cat([getattr(part, field.name) for part in parts]) for field in fields(ItemRanking)))

    def exact(self, logs: Tensor, k: int) -> ItemRanking:
        """The k best of all items: by a beam of width k, and of all items where that is not certified.

        Where items are few, all are scored at once. `logs` (Q, m, NB).
        """
        if self.scores_all:
            return self.exhaustive(logs, k)
        ranking = self.approximate(logs, k, max(k, 1))
        unsure = (~ranking.certified).nonzero()[:, 0]
        if len(unsure):
            again = self.exhaustive(logs[unsure], k)
            ranking.items[unsure], ranking.scores[unsure] = again.items, again.scores
        return ItemRanking(ranking.items, ranking.scores, torch.ones_like(ranking.certified))

    def ranks(self, logs: Tensor, targets: Tensor) -> Tensor:
        """Rank of one item of each query among all, 1 for the best: logs (Q, m, NB), targets (Q,) -> (Q,) int64."""
        ranks = []
        for part, wanted in zip(
            *(tensors.split(max(1, CELLS // self.n_items)) for tensors in (logs, targets)), strict=True
        ):
            scores = self._all_scores(part)  # (q, N)
            score = scores.gather(1, wanted[:, None])  # (q, 1)
            earlier = torch.arange(self.n_items, device=scores.device) < wanted[:, None]
            ranks.append(1 + ((scores > score) | ((scores == score) & earlier)).sum(1))
        return torch.cat(ranks)

    def _all_scores(self, logs: Tensor) -> Tensor:
        """Log-probabilities of buckets (q, m, NB) -> scores of all items (q, N)."""
        return reduce(torch.add, (logs[:, j].index_select(1, buckets) for j, buckets in enumerate(self.maps)))

    def _in_beam(self, logs: Tensor, k: int, beam: int) -> ItemRanking:
        """The k best of the items in the `beam` best buckets of each map, for queries (q, m, NB) that fit together."""
        values, best = top_buckets(logs, min(beam + 1, self.n_buckets))
        places, scores = self._candidates(logs, values[..., :beam], best[..., :beam])
        # Items are read where they can be among the k best, ties at the edge included.
        if places.shape[1] > k:
            edge = scores.topk(k, dim=1).values[:, -1:]
            scores, chosen = scores.topk(int((scores >= edge).sum(1).max()), dim=1)
            places = places.gather(1, chosen)
        items, scores = _first(self._members.flatten()[places].long(), scores, k)
        if beam == self.n_buckets:
            return ItemRanking(items, scores, torch.ones(len(logs), dtype=torch.bool, device=logs.device))
        # (q,): what is outside is at most that
        bound = reduce(torch.add, values[..., beam].unbind(1))
        return ItemRanking(items, scores, scores[:, -1] >= bound)

    def _candidates(self, logs: Tensor, values: Tensor, best: Tensor) -> tuple[Tensor, Tensor]:
        """Indexes of the items in the buckets `best`, and their scores, both (q, m beam alpha).

        `logs` (q, m, NB); `values` (q, m, beam) are the scores of `best` (q, m, beam). Indexes are into the flattened
        members of all buckets. An item's score is at its first index; at others, and where there is no item, it is
        -inf.
        """
        inside = torch.zeros(logs.shape, dtype=torch.bool, device=logs.device)
        inside.scatter_(2, best, True)  # (q, m, NB)
        places, scores = [], []
        for j in range(len(self.maps)):
            parts, twice = [], []
            # In this order, as all scores are joined: equal to the last bit.
            for i in range(len(self.maps)):
                if i == j:
                    parts.append(values[:, j, :, None].expand(-1, -1, self.alpha).flatten(1))
                    continue
                # (q, beam alpha)
                buckets = self._elsewhere[j, :, :, i - (i > j)][best[:, j]].flatten(1).long()
                parts.append(logs[:, i].gather(1, buckets))
                if i < j:  # counted in that list already
                    twice.append(inside[:, i].gather(1, buckets))
            here = (best[:, j, :, None] * self.alpha + self._slots).flatten(1)  # (q, beam alpha)
            left_out = reduce(torch.logical_or, twice, here >= self.n_items)
            scores.append(reduce(torch.add, parts).masked_fill(left_out, -torch.inf))
            places.append(here + j * self.n_buckets * self.alpha)
        return torch.cat(places, 1), torch.cat(scores, 1)


def top_buckets(logs: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k highest of logs of shape (..., NB), highest first, and their indexes, both (..., k).

    As `topk`, but faster where NB is large: the k blocks with the highest maxima hold the k highest, or their equals.
    """
    n = logs.shape[-1]
    if n < 4 * k * NEIGHBOURS:
        values, places = logs.topk(k)
        return values, places
    whole = n // NEIGHBOURS * NEIGHBOURS
    blocks = logs[..., :whole].unflatten(-1, (-1, NEIGHBOURS)).amax(-1).topk(k).indices  # (..., k)
    inner = torch.arange(NEIGHBOURS, device=logs.device)
    places = (blocks[..., None] * NEIGHBOURS + inner).flatten(-2)  # (..., k NEIGHBOURS)
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
    """The k best candidates, of equal ones the lower number, filled up with -1.

    items (q, c), scores (q, c) -> items (q, k), scores (q, k).
    """
    by_item = items.argsort(dim=1)
    scores, order = scores.gather(1, by_item).sort(dim=1, descending=True, stable=True)
    items = items.gather(1, by_item).gather(1, order)
    missing = max(0, k - items.shape[1])
    items = torch.nn.functional.pad(items[:, :k], (0, missing), value=NOBODY)
    scores = torch.nn.functional.pad(scores[:, :k], (0, missing), value=-torch.inf)
    return items.masked_fill(scores == -torch.inf, NOBODY), scores
