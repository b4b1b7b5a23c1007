"""T-FREE: a word is the sum of the rows of its byte trigrams (Deiseroth et al., EMNLP 2024, arXiv 2406.19223).

Each of the n trigrams of " word " has m rows of a table of v, and e(w) is the sum of all n m. Rows begin as N(0, 2 / (5
d)). Case is kept, and each digit and punctuation mark is a separate word, as in the released code.

Chosen here: an encoder that reads texts has no use for the tokens of unexpected white space. The multi-label
output over v is left out; models are pre-trained as HashFormers are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from torch import Tensor, nn

from hashbench.models.embeddings.base import SPECIALS, CodeSpec, EmbeddingSpec, FreeSize, ModelSpec, TextSpec
from hashbench.models.embeddings.rows import HashedRows, HashedTables

# Runs of letters; every digit, underscore and punctuation mark by itself.
WORDS: dict[str, Any] = {"pattern": r"[^\W\d_]+|\d|_|[^\w\s]", "lowercase": False}


class TrigramSum(HashedTables):
    """Vectors of words as the sum of the rows of all their byte trigrams."""

    def __init__(self, dim: int, num_buckets: int = 8_000, signs: int = 0) -> None:
        super().__init__(dim, len(SPECIALS))
        self.table = HashedRows(num_buckets, dim, signs=signs)
        nn.init.normal_(self.table.weight, std=math.sqrt(2 / (5 * dim)))

    def tables(self, codes: Tensor) -> Iterable[tuple[HashedRows, Tensor]]:
        """The one table, with all columns of the codes (n, c)."""
        yield self.table, codes

    def embed_types(self, codes: Tensor) -> Tensor:
        """Table rows of the trigrams (n, c) -> vectors (n, d)."""
        vectors: Tensor = self.table(codes)
        return vectors


def _spec(name: str, summary: str, **code: int) -> ModelSpec:
    return ModelSpec(
        name=name,
        text=TextSpec(args=WORDS),
        code=CodeSpec("trigrams", code, small={"num_buckets": 23, "hashes": 2, "lowercase_rows": 1}),
        embedding=EmbeddingSpec(TrigramSum),
        free_size=FreeSize("code", "num_buckets", least=16),
        groups=("tfree",),
        summary=summary,
    )


MODELS = [
    _spec("tfree-8k", "the sum of 10 rows of each byte trigram, 2 shared with its lower case", num_buckets=8_000,
          hashes=10, lowercase_rows=2),
    _spec("tfree-1k", "the sum of 4 rows of each byte trigram of a small table", num_buckets=1_000, hashes=4),
]  # fmt: skip
