"""From m distributions over buckets to a ranking of items (Superbloom, Algorithm 1, extended to the top k).

score(s) = sum_j l_j(h_j(s)), l_j the log-probabilities of map j's buckets; `join="min"` takes the smallest instead.
Items are numbered by frequency, and of equal scores the lower number comes first. At the end of a ranking found by
`exact` any of the items that share its last score may be in it; `exhaustive` takes the lowest numbers there too.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import reduce
from itertools import permutations
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from hashbench.models.objectives.item_search_kernel import rank_items

# Items: below, scoring all of them is faster than looking for candidates.
EXHAUSTIVE_BELOW = 30_000
CELLS = 1 << 24  # scores that exist at a time: 64 MB in float32
BLOCK = 64  # neighbouring buckets of which the highest is found first
# Times as many buckets are put in order, where those at hand do not certify.
WIDER = 8
NOBODY = -1  # fills up a ranking with fewer items than were requested
# The best buckets of each map, best first: their logs and numbers, both (q, m, width).
Order = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class ItemRanking:
    """The best items of each query."""

    items: Tensor  # (Q, k) int64, -1 where there were fewer
    scores: Tensor  # (Q, k) float32, -inf where there were fewer
    # (Q,) bool: no item outside can have a higher score than the last one
    certified: Tensor


class ItemSearch:
    """Searches for the best items under one set of maps."""

    def __init__(
        self, maps: np.ndarray, alpha: int, *, join: Literal["sum", "min"] = "sum", device: torch.device | str = "cpu"
    ) -> None:
        """`maps` (m, N): bucket of each item, every bucket but the last of a map with `alpha` items."""
        m, self.n_items = maps.shape
        self.alpha, self.n_buckets = alpha, -(-self.n_items // alpha)
        self._join = torch.add if join == "sum" else torch.minimum
        self.maps = torch.from_numpy(maps.astype(np.int32)).to(device)  # (m, N)
        # Places of members in a map; the last ones of the last bucket may be empty.
        places = self.n_buckets * alpha
        filled = np.full((m, places), NOBODY, np.int32)
        filled[:, : self.n_items] = np.argsort(maps, axis=1, kind="stable")
        # A member's buckets in the other maps lie beside those of its bucket's other members: a bucket is scored
        # from neighbouring memory, where looking each member up in the maps would go all over it.
        elsewhere = np.zeros((m, places, m - 1), np.int32)
        for j, i in permutations(range(m), 2):
            elsewhere[j, : self.n_items, i - (i > j)] = maps[i][filled[j, : self.n_items]]
        self._members = torch.from_numpy(filled.reshape(m, self.n_buckets, alpha)).to(device)
        self._elsewhere = torch.from_numpy(elsewhere.reshape(m, self.n_buckets, alpha, m - 1)).to(device)
        self._slots = torch.arange(alpha, device=device)

    @property
    def scores_all(self) -> bool:
        """True where the items are so few that all of them are scored."""
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
        k, width = min(k, self.n_items), min(beam + 1, self.n_buckets)
        return _joined([self._look(part, top_buckets(part, width), k, beam) for part in logs.split(self._rows(beam))])

    def exact(self, logs: Tensor, k: int, beam: int) -> ItemRanking:
        """The k best of all items (up to ties), looking at as few as the certificate allows. `logs` (Q, m, NB).

        Compiled on a CPU; elsewhere by beams, of which `beam` is the first.
        """
        if logs.device.type != "cpu" or logs.dtype != torch.float32:
            return self.exact_by_beams(logs, k, beam)
        members, elsewhere, by_sum = self._members.numpy(), self._elsewhere.numpy(), self._join is torch.add
        values = logs.detach().contiguous().numpy()
        items, scores = rank_items(values, elsewhere, members, self.n_items, by_sum, min(k, self.n_items))
        items[scores == -np.inf] = NOBODY
        return ItemRanking(torch.from_numpy(items), torch.from_numpy(scores), torch.ones(len(logs), dtype=torch.bool))

    def exact_by_beams(self, logs: Tensor, k: int, beam: int) -> ItemRanking:
        """`exact` by tensor operations: search in a beam, then in a wider one for rankings that this does not certify.

        `logs` (Q, m, NB).
        """
        k, width = min(k, self.n_items), min(WIDER * beam, self.n_buckets)
        parts = []
        for part in logs.split(self._rows(width)):
            order = top_buckets(part, width)  # once, as wide as most second looks need
            ranking = self._look(part, order, k, beam)
            for row in (~ranking.certified).nonzero()[:, 0].tolist():
                at = slice(row, row + 1)
                again = self._second_look(part[at], (order[0][at], order[1][at]), ranking.scores[row, -1], k, beam)
                ranking.items[row], ranking.scores[row] = again.items[0], again.scores[0]
            parts.append(ItemRanking(ranking.items, ranking.scores, torch.ones_like(ranking.certified)))
        return _joined(parts)

    def best(self, logs: Tensor, k: int, beam: int) -> ItemRanking:
        """The k best items, all scored where they are few, else by `exact`. `logs` (Q, m, NB)."""
        return self.exhaustive(logs, k) if self.scores_all else self.exact(logs, k, beam)

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
        return reduce(self._join, (logs[:, j].index_select(1, buckets) for j, buckets in enumerate(self.maps)))

    def _rows(self, beam: int) -> int:
        """The number of queries whose candidates fit into memory together."""
        return max(1, CELLS // (len(self.maps) * (self.n_buckets + beam * self.alpha)))

    def _look(self, logs: Tensor, order: Order, k: int, beam: int) -> ItemRanking:
        """The k best of the items in the `beam` best buckets of each map; `order` holds one bucket more of each, or
        all.

        `logs` (q, m, NB), both tensors of `order` (q, m, width).
        """
        beam = min(beam, self.n_buckets)
        places, scores = self._candidates(logs, order[0][..., :beam], order[1][..., :beam])
        # Items are read where they can be among the k best, ties at the edge included.
        if places.shape[1] > k:
            edge = scores.topk(k, dim=1).values[:, -1:]
            scores, chosen = scores.topk(int((scores >= edge).sum(1).max()), dim=1)
            places = places.gather(1, chosen)
        items, scores = _first(self._members.flatten()[places].long(), scores, k)
        if beam == self.n_buckets:
            return ItemRanking(items, scores, torch.ones(len(logs), dtype=torch.bool, device=logs.device))
        # (q,): what is outside is at most that
        bound = reduce(self._join, order[0][..., beam].unbind(1))
        return ItemRanking(items, scores, scores[:, -1] >= bound)

    def _candidates(self, logs: Tensor, values: Tensor, best: Tensor) -> tuple[Tensor, Tensor]:
        """Indexes of the items in the buckets `best`, and their scores, both (q, m beam alpha).

        `logs` (q, m, NB); `values` (q, m, beam) are those of `best` (q, m, beam). Indexes are into the flattened
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
            scores.append(reduce(self._join, parts).masked_fill(left_out, -torch.inf))
            places.append(here + j * self.n_buckets * self.alpha)
        return torch.cat(places, 1), torch.cat(scores, 1)

    def _second_look(self, logs: Tensor, order: Order, worst: Tensor, k: int, beam: int) -> ItemRanking:
        """The k best of one query's items, in the smallest beam outside of which none scores above `worst`.

        `logs` (1, m, NB), both tensors of `order` (1, m, width), `worst` of shape ().
        """
        while True:
            # (width,): of what is outside a beam of 0, 1, ...
            bounds = reduce(self._join, order[0][0].unbind())
            above, width = int((bounds > worst).sum()), len(bounds)
            if above < width or width == self.n_buckets:
                break
            order = top_buckets(logs, min(WIDER * width, self.n_buckets))
        wider = max(beam, above)
        if wider * self.alpha * len(self.maps) >= self.n_items:
            return self.exhaustive(logs, k)
        return self._look(logs, order, k, wider)


def _joined(parts: list[ItemRanking]) -> ItemRanking:
    """One ranking of the queries of all parts, in their order."""
    return ItemRanking(*(torch.cat([getattr(part, field.name) for part in parts]) for field in fields(ItemRanking)))


def top_buckets(logs: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k highest of logs of shape (..., NB), highest first, and their indexes, both (..., k).

    As `topk`, but faster where NB is large: they are in the k blocks with the highest maxima, or equals of them do.
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
