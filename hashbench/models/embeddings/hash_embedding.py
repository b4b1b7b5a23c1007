"""Hash embeddings with importance weights (Svenstrup, Hansen and Winther 2017, section 3), and the same without them.

e(w) = sum_i P[D1(w), i] E[D2_i(w)], a pool E (B, d) that k hashes choose rows of, and factors P (K, k). Without factors
it is the Bloom embedding of Serrà and Karatzoglou (2017); with k = 1 the hashing trick (Weinberger et al. 2009).

Differs from the paper: P starts near 1 and E as the suite's tables do, because the paper's start (E of 0.1, P of
0.0005) is drowned by BERT's position vectors; `init: paper` restores it. P is not decayed, which would pull factors
to 0. D2 hashes the type in place of D1(w); `coder: {nested: true}` restores the paper's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import torch
from torch import Tensor, nn

from hashbench.common.errors import InputError
from hashbench.models.embeddings.base import SPECIALS, CodeSpec, EmbeddingSpec, FreeSize, ModelSpec
from hashbench.models.embeddings.rows import HashedRows, HashedTables
from hashbench.models.layers import INIT_STD

PAPER_POOL_STD, PAPER_FACTOR_STD = 0.1, 0.0005  # of a reproduction's code; the paper's own was not found
FACTOR_ROWS = 50_000  # K: about as many as there are rows in a BPE table


class HashEmbedding(HashedTables):
    """Vectors of types as the sum of k rows of a pool, each times a learned factor."""

    def __init__(
        self,
        dim: int,
        num_buckets: int = 1_000,
        hashes: int = 2,
        factor_rows: int = FACTOR_ROWS,
        factors: bool = True,
        signs: int = 0,
        init: Literal["suite", "paper"] = "suite",
    ) -> None:
        """`num_buckets`: B; `hashes`: k; `factor_rows`: K; `factors`: false for P = 1, which has no parameters."""
        if init not in ("suite", "paper"):
            raise InputError(f"embedding: init {init!r}; choose suite or paper")
        super().__init__(dim, len(SPECIALS))
        self.pool = HashedRows(num_buckets, dim, signs=signs)
        self.factors = HashedRows(factor_rows, hashes) if factors else None  # (K, k)
        with torch.no_grad():
            if init == "paper":
                self.pool.weight.normal_(std=PAPER_POOL_STD)
            if self.factors is not None:
                paper = init == "paper"
                self.factors.weight.normal_(mean=0.0 if paper else 1.0, std=PAPER_FACTOR_STD if paper else INIT_STD)

    def tables(self, codes: Tensor) -> Iterable[tuple[HashedRows, Tensor]]:
        """Each table with its columns of the codes: the pool with D2 (n, k), the factors with D1 (n, 1)."""
        yield self.pool, codes[:, 1:]
        if self.factors is not None:
            yield self.factors, codes[:, :1]

    def undecayed(self) -> Iterable[nn.Parameter]:
        """The table of factors, which weight decay leaves alone."""
        return [] if self.factors is None else [self.factors.weight]

    def embed_types(self, codes: Tensor) -> Tensor:
        """Codes (n, 1 + k) -> vectors (n, d)."""
        if self.factors is None:
            return self.pool(codes[:, 1:])
        return self.pool(codes[:, 1:], self.factors.look_up(codes[:, 0]))


def _spec(hashes: int, factors: bool) -> ModelSpec:
    what = "importance weights" if factors else "their plain sum" if hashes > 1 else "the hashing trick"
    arguments: dict[str, Any] = {"num_buckets": 1_000, "hashes": hashes, "factor_rows": FACTOR_ROWS}
    return ModelSpec(
        name=f"hash-emb-k{hashes}" if factors else f"hash-emb-k{hashes}-sum",
        code=CodeSpec("hash-rows", arguments, small={"num_buckets": 11, "factor_rows": 13}),
        embedding=EmbeddingSpec(HashEmbedding, {"factors": factors}),
        free_size=FreeSize("code", "num_buckets"),
        groups=("hash-embeddings",),
        summary=f"{hashes} row{'s' * (hashes > 1)} of a pool of 1,000 by hashes of the word, {what}",
    )


MODELS = [_spec(hashes, factors) for hashes in (1, 2, 3) for factors in (True, False)]
