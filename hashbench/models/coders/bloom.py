"""Bloom-filter digests of items (Superbloom, section 3.2): m maps, each a random permutation cut into buckets of alpha.

h_j(s) = floor(rank_j(s) / alpha), where rank_j is the place of item s in the j-th permutation, so that every bucket
holds exactly alpha items (the last one fewer where alpha does not divide N). Each map has its own range of tokens:
token j of item s is j NB + h_j(s), NB = ceil(N / alpha). The rows of the special items are behind all maps.

Coherent hashing (Superbloom, appendix C): a map whose buckets hold items that occur together.

Item vectors are chosen here, since the paper names no factorisation: positive pointwise mutual information of the links
of training pages, truncated SVD to 64 dimensions, unit norm. Buckets are filled as the paper says: in decreasing
frequency each item that has no place opens a bucket and takes its alpha - 1 nearest items without a place.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from hashbench.common.errors import InputError
from hashbench.common.splitmix import GAMMA, mix
from hashbench.models.coders.base import Coder, checked_switch
from hashbench.models.text.types import TokenizedTexts, TypeTable
from hashbench.models.text.unicode import split

if TYPE_CHECKING:
    from scipy import sparse


# [CLS], [MASK], [SEP], m tokens each; more are reserved, the first of them for [UNK].
SPECIAL_ITEMS = 3
# Rounds of `separate`; where two buckets must share an item, no number of rounds helps.
ROUNDS = 100


class Bloom(Coder):
    """The m tokens of an item (n, m) int64. Items, numbered by frequency, and their maps are the fitted state.

    Chosen here: an item outside the vocabulary takes in each map the bucket that its MD5 names.
    """

    name = "bloom"
    dtype = np.int64
    needs_fit = True

    def __init__(
        self,
        alpha: int = 1,
        maps: int = 2,
        seed: int = 0,
        coherent: int = 0,
        distinct_pairs: bool = False,
        special_items: int = SPECIAL_ITEMS,
    ) -> None:
        """`alpha`: items of a bucket; 1: none is shared. `distinct_pairs`: no two items share all their tokens.

        `coherent`: the last so many maps join items that occur together (appendix C), the others are random.
        `special_items`: how many have m rows each behind the maps. Raises InputError for values that make no
        maps.
        """
        at_least = {"alpha": (alpha, 1), "maps": (maps, 1), "seed": (seed, 0), "coherent": (coherent, 0)}
        at_least["special_items"] = (special_items, SPECIAL_ITEMS)
        for key, (value, least) in at_least.items():
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InputError(f"coder bloom: {key} {value!r}; give an integer of at least {least}")
        if coherent > maps:
            raise InputError(f"coder bloom: coherent {coherent} of {maps} maps; take at most {maps}")
        self.alpha, self.n_maps, self.seed, self.coherent = alpha, maps, seed, coherent
        self.distinct_pairs = checked_switch(self.name, "distinct_pairs", distinct_pairs)
        self.special_items = special_items
        self.width = maps
        self.maps = np.zeros((maps, 0), np.int32)  # (m, N): bucket of each item in each map
        self._blob, self._offsets = np.zeros(0, np.uint8), np.zeros(1, np.int64)
        self._places: dict[bytes, int] | None = None

    @property
    def n_items(self) -> int:
        """N, the number of items."""
        return self.maps.shape[1]

    @property
    def n_buckets(self) -> int:
        """NB, the number of buckets of a map."""
        return -(-self.n_items // self.alpha)

    @property
    def num_rows(self) -> int:
        """V: rows of the table, special items included."""
        return self.n_maps * (self.n_buckets + self.special_items)

    @property
    def violations(self) -> int:
        """Number of items that share their buckets in two successive coherent maps with an item of a lower id.

        The constraint between the maps left them no better place.
        """
        coherent = self.maps[self.n_maps - self.coherent :]
        return sum(int(twins(coherent[j : j + 2]).sum()) for j in range(self.coherent - 1))

    def fit(self, types: TypeTable) -> None:
        """Fits to items without links between them; raises InputError for coherent maps, which need links."""
        self.fit_links(types, None)

    def fit_links(self, items: TypeTable, links: TokenizedTexts | None) -> None:
        """Fits to the items in the order of their ids, and to the training pages as lists of item ids.

        Raises InputError where alpha is larger than the vocabulary.
        """
        n = len(items)
        self.check_size(n)
        self._blob, self._offsets, self._places = np.asarray(items.blob), np.asarray(items.offsets), None
        maps = [permutation_map(n, self.alpha, self.seed, j) for j in range(self.n_maps)]
        if self.coherent:
            if links is None:
                raise InputError("coder bloom: coherent maps are made from page links; give a page-link set")
            vectors, before = item_vectors(links, n), None
            for j in range(self.n_maps - self.coherent, self.n_maps):
                before = maps[j] = coherent_map(vectors, self.alpha, before)
        self.maps = np.stack(maps).astype(np.int32)  # (m, N)
        if self.distinct_pairs:
            separate(self.maps, self.seed)

    def check_size(self, n_items: int) -> None:
        """Raises InputError where there are fewer items than a bucket holds."""
        if self.alpha > n_items:
            raise InputError(
                f"coder bloom: alpha {self.alpha} is larger than the vocabulary of {n_items} items; take less"
            )

    def codes(self) -> np.ndarray:
        """Tokens of all items (N, m) int64."""
        return np.ascontiguousarray(self.maps.T.astype(np.int64) + self._starts())

    def token_counts(self, counts: np.ndarray) -> np.ndarray:
        """How often each row of the table occurs (V,), from how often each item does (N,); special rows never do."""
        return np.bincount(self.codes().ravel(), np.repeat(counts, self.n_maps), self.num_rows).astype(np.int64)

    def encode_utf8(self, blob: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Packed strings -> tokens (n, m) int64."""
        if not self.n_items:
            raise RuntimeError("coder bloom: not fitted; call fit, fit_links or restore first")
        strings = split(blob, offsets)
        places = [self.place(string) for string in strings]
        buckets = np.empty((len(strings), self.n_maps), np.int64)
        for i, (string, place) in enumerate(zip(strings, places, strict=True)):
            buckets[i] = self._of_stranger(string) if place is None else self.maps[:, place]
        return buckets + self._starts()

    def place(self, item: bytes) -> int | None:
        """The id of an item, None where it is not in the vocabulary."""
        if self._places is None:
            self._places = {string: i for i, string in enumerate(split(self._blob, self._offsets))}
        return self._places[item] if item in self._places else None

    def item(self, i: int) -> str:
        """The string of an item."""
        return self._blob[self._offsets[i] : self._offsets[i + 1]].tobytes().decode()

    def items(self) -> list[str]:
        """The strings of all items."""
        return [string.decode() for string in split(self._blob, self._offsets)]

    def recipe(self) -> dict[str, object]:
        """Name and arguments: the items and their maps are state."""
        return super().recipe() | {"maps": self.n_maps}

    def state(self) -> dict[str, np.ndarray]:
        """Items as packed strings, and their maps (m, N)."""
        return {"blob": self._blob, "offsets": self._offsets, "maps": self.maps} if self.n_items else {}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Restores items and maps from the arrays that `state` returned."""
        self._blob, self._offsets, self.maps = state["blob"], state["offsets"], state["maps"]
        self._places = None

    def _starts(self) -> np.ndarray:
        return np.arange(self.n_maps, dtype=np.int64) * self.n_buckets  # (m,): where each map's range begins

    def _of_stranger(self, item: bytes) -> np.ndarray:
        """The bucket in each map (m,) of an item outside the vocabulary."""
        digest = int.from_bytes(hashlib.md5(item, usedforsecurity=False).digest()[:8], "little")
        keys = np.array([(digest + (j + 1) * GAMMA) % 2**64 for j in range(self.n_maps)], np.uint64)
        return (mix(keys) % np.uint64(self.n_buckets)).astype(np.int64)


def permutation_map(n: int, alpha: int, seed: int, j: int) -> np.ndarray:
    """Bucket (n,) int64 of each item in map j: items are ordered by a 64-bit hash of (seed, j, item), ties by item.

    >>> permutation_map(10, 3, seed=0, j=0).tolist()
    [1, 2, 1, 2, 3, 0, 2, 0, 0, 1]
    """
    state = mix(np.array([(seed + (j + 1) * GAMMA) % 2**64], np.uint64))
    keys = mix(state + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(GAMMA))  # (n,)
    rank = np.empty(n, np.int64)
    rank[np.argsort(keys, kind="stable")] = np.arange(n)
    return rank // alpha


def collision_groups(maps: np.ndarray) -> np.ndarray:
    """A number (N,) int64 for each item, equal where two items share all their buckets. `maps` (m, N).

    >>> collision_groups(np.array([[0, 0, 1], [2, 2, 2]])).tolist()
    [0, 0, 1]
    """
    groups = np.zeros(maps.shape[1], np.int64)
    for buckets in maps:
        pairs = groups * (int(buckets.max(initial=0)) + 1) + buckets
        groups = np.unique(pairs, return_inverse=True)[1]
    return groups


def twins(maps: np.ndarray) -> np.ndarray:
    """True for each item (N,) that shares all buckets with an item of a lower id: it can never rank before that."""
    groups = collision_groups(maps)
    first = np.zeros(len(groups), bool)
    first[np.unique(groups, return_index=True)[1]] = True
    return ~first


def separate(maps: np.ndarray, seed: int) -> int:
    """Swaps buckets between items in the last of the maps (m, N), in place, until no two items share all buckets.

    The sizes of buckets stay. Returns how many items still share all after the last round: on a vocabulary hardly
    larger than alpha^2 some must.
    """
    n = maps.shape[1]
    for round_ in range(ROUNDS):
        offenders = np.flatnonzero(twins(maps))
        if not len(offenders):
            return 0
        keys = np.uint64(seed + 1) * np.uint64(GAMMA) + np.arange(len(offenders), dtype=np.uint64)
        partners = (mix(keys ^ mix(np.full(1, round_, np.uint64))) % np.uint64(n)).astype(np.int64)
        # One by one: a partner may come twice.
        for offender, other in zip(offenders, partners, strict=True):
            maps[-1, offender], maps[-1, other] = maps[-1, other], maps[-1, offender]
    return int(twins(maps).sum())


# Dimensions of the items' vectors. Chosen here, as the factorisation is.
DIMENSIONS = 64
# Seed of the vector that the iteration of the decomposition begins with.
START_SEED = 0


def co_occurrence(links: TokenizedTexts, n_items: int) -> sparse.csr_matrix:
    """The number of pages on which two items occur together (N, N), 0 on the diagonal."""
    from scipy import sparse

    ones = np.ones(len(links.ids), np.float64)
    pages = sparse.csr_matrix((ones, links.ids, links.offsets), shape=(len(links), n_items))  # (pages, N)
    together = (pages.T @ pages).tocsr()
    together.setdiag(0)
    together.eliminate_zeros()
    return together


def positive_information(together: sparse.csr_matrix) -> sparse.csr_matrix:
    """Positive pointwise mutual information of counts (N, N): max(0, log(n_ij n / (n_i n_j)))."""
    from scipy import sparse

    cells = together.tocoo()
    of_item = np.asarray(together.sum(axis=1)).ravel()  # (N,)
    values = np.log(cells.data * of_item.sum() / (of_item[cells.row] * of_item[cells.col]))
    kept = values > 0
    return sparse.csr_matrix((values[kept], (cells.row[kept], cells.col[kept])), shape=together.shape)


def item_vectors(links: TokenizedTexts, n_items: int, dim: int = DIMENSIONS) -> np.ndarray:
    """Unit vectors (N, dim) float32 of the items; zeros for one that never occurs beside another."""
    from scipy.sparse.linalg import svds

    information = positive_information(co_occurrence(links, n_items))
    # The iterative decomposition needs more items than dimensions.
    if n_items <= dim + 1:
        vectors_of_rows, values, _ = np.linalg.svd(information.toarray())
    else:
        start = np.random.RandomState(START_SEED).uniform(size=n_items)
        vectors_of_rows, values, _ = svds(information, k=dim, v0=start)
    vectors = vectors_of_rows[:, : len(values)] * np.sqrt(values)  # (N, dim)
    # Else the rounding of an item without neighbours would count.
    vectors[np.diff(information.indptr) == 0] = 0.0
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(norms > 0, norms, 1.0)).astype(np.float32)


def coherent_map(vectors: np.ndarray, alpha: int, before: np.ndarray | None = None) -> np.ndarray:
    """Bucket (N,) int64 of each item, near items together.

    `vectors` (N, dim) in decreasing frequency. `before` (N,): no two items of one bucket there may share one here;
    where no other item is left, the nearest one is taken all the same.
    """
    n = len(vectors)
    buckets, bucket = np.full(n, -1, np.int64), 0
    # Items that may still be without a place, and their vectors.
    rest, open_vectors = np.arange(n), vectors
    for opener in range(n):
        if buckets[opener] >= 0:
            continue
        buckets[opener] = bucket
        free = buckets[rest] < 0
        if free.sum() * 2 < len(rest):
            rest, open_vectors = rest[free], open_vectors[free]
            free = np.ones(len(rest), bool)
        nearness = np.where(free, open_vectors @ vectors[opener], -np.inf)
        buckets[_nearest(nearness, rest, alpha - 1, opener, before)] = bucket
        bucket += 1
    return buckets


def _nearest(nearness: np.ndarray, rest: np.ndarray, wanted: int, opener: int, before: np.ndarray | None) -> np.ndarray:
    """The `wanted` nearest items (k,) that the constraint admits, filled up with refused ones.

    `nearness` (r,) is of the items `rest` (r,); `before` (N,) as in `coherent_map`.
    """
    wanted = min(wanted, int(np.isfinite(nearness).sum()))
    if wanted == 0:
        return np.zeros(0, np.int64)
    if before is None:
        best = np.argpartition(-nearness, wanted - 1)[:wanted]
        return np.asarray(rest[best])
    taken = {int(before[opener])}
    chosen: list[int] = []
    refused: list[int] = []
    for place in np.argsort(-nearness, kind="stable"):
        if len(chosen) == wanted or nearness[place] == -np.inf:
            break
        item = int(rest[place])
        if int(before[item]) in taken:
            refused.append(item)
        else:
            taken.add(int(before[item]))
            chosen.append(item)
    return np.array([*chosen, *refused[: wanted - len(chosen)]], np.int64)
