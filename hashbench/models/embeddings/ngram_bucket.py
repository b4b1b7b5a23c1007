"""Trained rows of a word's character n-grams: fastText's subword buckets (Bojanowski et al. 2017) and floret's.

e(w) = the mean of the rows of all entries of <w>, see `coders.ngram_buckets`. With `width` the table is narrower than
the encoder and a linear map without bias leads to it, which buys more buckets for one number of parameters (chosen
here).

Both are static vectors where they come from; here they are trained with the encoder, as every other embedding. Words of
a vocabulary have no separate row, as in floret.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import Tensor, nn

from hashbench.models.embeddings.base import SPECIALS, CodeSpec, EmbeddingSpec, FreeSize, ModelSpec
from hashbench.models.embeddings.rows import HashedRows, HashedTables


class BucketMean(HashedTables):
    """Vectors of words as the mean of the rows of all their character n-grams."""

    def __init__(self, dim: int, num_buckets: int = 50_000, signs: int = 0, width: int | None = None) -> None:
        """`width`: of the rows; None: `dim`, without a map."""
        super().__init__(dim, len(SPECIALS))
        self.table = HashedRows(num_buckets, width or dim, signs=signs, combine="mean")
        self.map = None if width is None else nn.Linear(width, dim, bias=False)
        if self.map is not None:
            nn.init.normal_(self.map.weight, std=max(self.table.width, 1) ** -0.5)  # vectors as large as means of rows

    def tables(self, codes: Tensor) -> Iterable[tuple[HashedRows, Tensor]]:
        """The one table, with all columns of the codes (n, c)."""
        yield self.table, codes

    def embed_types(self, codes: Tensor) -> Tensor:
        """Table rows of the n-grams (n, c) -> vectors (n, d)."""
        vectors: Tensor = self.table(codes)
        return vectors if self.map is None else self.map(vectors)


def _spec(name: str, summary: str, embedding: dict[str, Any] | None = None, **code: Any) -> ModelSpec:
    return ModelSpec(
        name=name,
        code=CodeSpec("ngram-buckets", {"num_buckets": 50_000, **code}, small={"num_buckets": 23}),
        embedding=EmbeddingSpec(BucketMean, embedding or {}, small={"width": 8} if embedding else {}),
        free_size=FreeSize("code", "num_buckets"),
        groups=("ngram-buckets",),
        version=2 if embedding else 1,  # version 1 of a map began far smaller
        summary=summary,
    )


MODELS = [
    _spec("fasttext-buckets", "trained n-grams of 3 to 6 characters, one row each by fastText's hash", hash="fnv",
          word=False),
    _spec("floret-buckets", "trained n-grams of 3 to 6 characters and the word, one row each"),
    _spec("floret-buckets-2", "the same with two rows each", hashes=2),
    _spec("floret-narrow", "the same with one row each, 32 wide, and a linear map", embedding={"width": 32}),
]  # fmt: skip
