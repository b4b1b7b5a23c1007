"""Kronecker embeddings: a row for each byte at each position, and no hash (Shravan 2026, arXiv 2605.29459).

The code of a word of L bytes is the Kronecker product of bytes and positions over sqrt(L), D = 256 P numbers; a linear
map makes its vector, which is the sum of L rows: x = (1 / sqrt(L)) sum_p W[:, b_p P + p].

Differs from the paper: special tokens have separate learned rows. Its code is brought to mean 0 and standard deviation
1 over the D numbers, which makes Adam's steps some 85 times as large at P = 7 and drowns BERT's position vectors: rows
begin as the suite's tables do; `published: true` restores it.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from hashbench.models.embeddings.base import SPECIALS, CodeSpec, EmbeddingSpec, FreeSize, ModelSpec
from hashbench.models.embeddings.rows import NO_ROW, HashedRows, HashedTables

BYTES = 256
EPSILON = 1e-6  # added to the standard deviation, as released


class Kronecker(HashedTables):
    """Vectors of words as sums of a row for each byte at its position."""

    def __init__(self, dim: int, positions: int = 16, published: bool = False) -> None:
        """`positions`: P; `published`: codes of mean 0 and standard deviation 1, and a start of N(0, 1 / D)."""
        super().__init__(dim, len(SPECIALS))
        self.published = published
        self.table = HashedRows(BYTES * positions, dim)  # (D, d)
        if published:
            nn.init.normal_(self.table.weight, std=(BYTES * positions) ** -0.5)

    def tables(self, codes: Tensor) -> Iterable[tuple[HashedRows, Tensor]]:
        """The one table, with its rows (n, P); all rows enter each word of the published form."""
        every = torch.arange(self.table.num_rows, device=codes.device)[None]
        yield self.table, every if self.published else codes

    def embed_types(self, codes: Tensor) -> Tensor:
        """Codes (n, P) -> vectors (n, d)."""
        lengths = (codes != NO_ROW).sum(1, keepdim=True).to(self.table.weight.dtype)  # L (n, 1)
        vectors = self.table(codes) / lengths.clamp(min=1).sqrt()
        if not self.published:
            return vectors
        size = self.table.num_rows  # D
        spread = ((1 - lengths / size) / (size - 1)).sqrt() + EPSILON
        common = self.table.weight.sum(0)  # (d,)
        centred: Tensor = (vectors - lengths.sqrt() / size * common) / spread
        return torch.where(lengths > 0, centred, torch.zeros_like(centred))


MODELS = [
    ModelSpec(
        name="kronecker",
        code=CodeSpec("byte-positions", {"positions": 16}, small={"positions": 3}),
        embedding=EmbeddingSpec(Kronecker),
        free_size=FreeSize("code", "positions"),
        groups=("controls",),
        summary="the sum of a row for each of the first 16 bytes of a word and its position; no hash",
    )
]
