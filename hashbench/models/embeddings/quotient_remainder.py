"""Compositional tables: a row of a small table for the quotient and one for the remainder (Shi et al., KDD 2020).

Of a number r of a type, q = r // c and s = r mod c: e = Q[q] * R[s], or their sum, or both side by side. Every number
has a separate pair, with ceil(V / c) + c rows in place of V. Numbers are rows of a vocabulary, or, without one, the
type's MD5 modulo V (chosen here).

Differs from the released code: it draws both tables from U(sqrt(1 / V), 1), a slip; here both are drawn around zero,
such that a sum begins as other sums of rows do and a product with the scale of one row.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import torch
from torch import Tensor

from hashbench.common.errors import InputError
from hashbench.models.embeddings.base import SPECIALS, CodeSpec, EmbeddingSpec, FreeSize, ModelSpec, TextSpec
from hashbench.models.embeddings.lookup import VOCABULARY_ROWS
from hashbench.models.embeddings.rows import HashedRows, HashedTables
from hashbench.models.layers import INIT_STD

HASHED_NUMBERS = 2**18  # V without a vocabulary; chosen here
Combine = Literal["mult", "add", "concat"]


class QuotientRemainder(HashedTables):
    """Vectors of V numbers from two small tables, one for the quotient and one for the remainder."""

    def __init__(
        self, dim: int, num_rows: int = VOCABULARY_ROWS, collisions: int = 225, combine: Combine = "mult"
    ) -> None:
        """`num_rows`: V; `collisions`: c. Raises InputError for an odd `dim` that two tables are to share."""
        if combine not in ("mult", "add", "concat") or combine == "concat" and dim % 2:
            raise InputError(f"embedding: combine {combine!r}, width {dim}; choose mult, add, or concat at an even one")
        super().__init__(dim, len(SPECIALS))
        self.collisions, self.combine = collisions, combine
        width = dim // 2 if combine == "concat" else dim
        self.quotients = HashedRows(-(-num_rows // collisions), width)
        self.remainders = HashedRows(collisions, width)
        if combine == "mult":
            with torch.no_grad():  # so that their product has the scale of one row, and each of them its full part
                self.quotients.weight.mul_(INIT_STD**-0.5)
                self.remainders.weight.mul_(INIT_STD**-0.5)

    def tables(self, codes: Tensor) -> Iterable[tuple[HashedRows, Tensor]]:
        """Both tables, with the quotients and the remainders of numbers (n, 1)."""
        yield self.quotients, codes // self.collisions
        yield self.remainders, codes % self.collisions

    def embed_types(self, codes: Tensor) -> Tensor:
        """Numbers (n, 1) -> vectors (n, d)."""
        first, second = (table(part) for table, part in self.tables(codes))
        if self.combine == "concat":
            return torch.cat([first, second], dim=1)
        vectors: Tensor = first * second if self.combine == "mult" else first + second
        return vectors


def _hashed(combine: Combine, summary: str) -> ModelSpec:
    return ModelSpec(
        name=f"qr-hash-{combine}",
        code=CodeSpec("md5-rows", {"num_buckets": HASHED_NUMBERS, "first_row": 0}, small={"num_buckets": 100}),
        embedding=EmbeddingSpec(
            QuotientRemainder, {"num_rows": HASHED_NUMBERS, "collisions": 512, "combine": combine},
            small={"num_rows": 100, "collisions": 10},
        ),
        # If two values of c give one number of rows, the larger counts; below it rows grow again.
        free_size=FreeSize("embedding", "collisions", least=512),
        groups=("quotient-remainder",),
        summary=summary,
        version=2 if combine == "mult" else 1,  # version 1 of products began with remainders at 1
    )  # fmt: skip


MODELS = [
    ModelSpec(
        name="qr-bpe",
        text=TextSpec("bpe"),
        code=CodeSpec("vocabulary"),
        embedding=EmbeddingSpec(QuotientRemainder, small={"num_rows": 64, "collisions": 8}),
        free_size=FreeSize("embedding", "collisions", least=225),
        groups=("quotient-remainder",),
        version=2,  # as above
        summary="the product of a row for quotient and remainder of a BPE piece's number",
    ),
    _hashed("mult", "the product of a row for quotient and remainder of a word's hash"),
    _hashed("add", "the sum of a row for quotient and remainder of a word's hash"),
]
