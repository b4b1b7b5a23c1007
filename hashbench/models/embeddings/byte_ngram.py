"""BLT's byte vectors with hashed n-grams, pooled over a word (Pagnoni et al., ACL 2025, arXiv 2412.09871).

e_i = E[b_i] + sum_n E_n[row_n(i)] for each byte, section 3.2.1; e(w) = max_i e_i, the pooling of section 4.8. BLT's
patches, its local encoder and its decoder are left out: a word is the patch, so that a type has one vector.

Differs from the paper: sums are not divided by the number of sizes + 1, as in the released code; `normalise` restores
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, cast

import torch
from torch import Tensor, nn

from hashbench.common.errors import InputError
from hashbench.models.coders.byte_ngrams import ROWS, SIZES
from hashbench.models.embeddings.base import SPECIALS, CodeSpec, EmbeddingSpec, FreeSize, ModelSpec
from hashbench.models.embeddings.rows import NO_ROW, HashedRows, HashedTables


class ByteNgramPool(HashedTables):
    """Vectors of words: maximum or mean over their bytes of rows from a table of bytes and one for each n-gram size."""

    def __init__(
        self,
        dim: int,
        num_buckets: int = 5_003,
        sizes: Sequence[int] = SIZES,
        signs: int = 0,
        pooling: Literal["max", "mean"] = "max",
        normalise: bool = False,
    ) -> None:
        if pooling not in ("max", "mean"):
            raise InputError(f"embedding: pooling {pooling!r}; choose max or mean")
        super().__init__(dim, len(SPECIALS))
        self.pooling, self.scale = pooling, 1 / (len(sizes) + 1) if normalise else 1.0
        self.bytes = HashedRows(ROWS, dim)
        self.ngrams = nn.ModuleList(HashedRows(num_buckets, dim, signs=signs) for _ in sizes)

    def tables(self, codes: Tensor) -> Iterable[tuple[HashedRows, Tensor]]:
        """Each table with its columns of the codes: ids of the bytes (n, T), and the rows of each size (n, T)."""
        columns = 1 + len(self.ngrams)
        for i, table in enumerate([self.bytes, *self.ngrams]):
            yield cast(HashedRows, table), codes[:, i::columns]

    def embed_types(self, codes: Tensor) -> Tensor:
        """Codes (n, T (1 + s)) -> vectors (n, d)."""
        parts = list(self.tables(codes))
        n, length = parts[0][1].shape
        vectors = sum(table(part.reshape(-1, 1)) for table, part in parts).unflatten(0, (n, length)) * self.scale
        there = (parts[0][1] != NO_ROW)[..., None]  # (n, T, 1)
        if self.pooling == "mean":
            return (vectors * there).sum(1) / there.sum(1)
        return vectors.masked_fill(~there, -torch.inf).amax(1)


def _spec(name: str, sizes: Sequence[int], summary: str) -> ModelSpec:
    return ModelSpec(
        name=name,
        code=CodeSpec("byte-ngrams", {"num_buckets": 5_003, "sizes": list(sizes)}, small={"num_buckets": 23}),
        embedding=EmbeddingSpec(ByteNgramPool),
        free_size=FreeSize("code", "num_buckets"),
        groups=("byte-ngrams",),
        summary=summary,
    )


MODELS = [
    _spec("byte-ngrams", SIZES, "hashed byte n-grams of 3 to 5 at each byte of a word, the maximum over bytes"),
    _spec("byte-ngrams-3-8", range(3, 9), "the same with the paper's sizes, 3 to 8"),
]
