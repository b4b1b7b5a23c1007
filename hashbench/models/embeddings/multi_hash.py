"""spaCy's MultiHashEmbed: four features of a word, each the sum of hashed rows, mixed by a maxout layer.

Miranda et al. 2022, "Multi hash embeddings in spaCy" (arXiv 2212.09255): z = LayerNorm(max_p(W_p [e_norm; e_prefix;
e_suffix; e_shape] + b_p)), e_f the sum of four rows. The mixing is a part of the embedding and runs once for a type.

Chosen here: BERT's encoder behind it, in place of spaCy's convolutions; special tokens have separate rows behind the
mixing; `mix: linear` has no pieces, since at large widths the maxout layer outgrows the tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

from hashbench.common.errors import InputError
from hashbench.models.coders.word_features import FEATURES, HASHES, table_rows
from hashbench.models.embeddings.base import SPECIALS, CodeSpec, EmbeddingSpec, FreeSize, ModelSpec, TextSpec
from hashbench.models.embeddings.rows import HashedRows, HashedTables

# All three are spaCy's: pieces of the maxout layer, tables that begin uniformly between -0.1 and 0.1, their width.
PIECES, START, WIDTH = 3, 0.1, 96


class MultiHash(HashedTables):
    """Vectors of words from a table for each feature of a word, and the layer that mixes their rows."""

    def __init__(
        self,
        dim: int,
        num_buckets: int = 5_000,
        features: Sequence[str] = FEATURES,
        hashes: int = HASHES,
        signs: int = 0,
        width: int = WIDTH,
        mix: Literal["maxout", "linear"] = "maxout",
    ) -> None:
        """`num_buckets`: rows of norm's table; `width`: of all tables."""
        if mix not in ("maxout", "linear"):
            raise InputError(f"embedding: mix {mix!r}; choose maxout or linear")
        super().__init__(dim, len(SPECIALS))
        self.hashes, self.pieces = hashes, PIECES if mix == "maxout" else 1
        self.features = nn.ModuleList(
            HashedRows(rows, width, signs=signs) for rows in table_rows(num_buckets, features)
        )
        self.mix = nn.Linear(len(features) * width, dim * self.pieces)
        self.norm = nn.LayerNorm(dim)
        for table in self._tables():
            nn.init.uniform_(table.weight, -START, START)
        for piece in self.mix.weight.view(self.pieces, dim, -1):
            nn.init.xavier_uniform_(piece)
        nn.init.zeros_(self.mix.bias)

    def tables(self, codes: Tensor) -> Iterable[tuple[HashedRows, Tensor]]:
        """The table of each feature, with its k columns of the codes (n, k)."""
        for i, table in enumerate(self._tables()):
            yield table, codes[:, i * self.hashes : (i + 1) * self.hashes]

    def _tables(self) -> Iterable[HashedRows]:
        return cast(Iterable[HashedRows], self.features)

    def embed_types(self, codes: Tensor) -> Tensor:
        """Codes (n, f k) -> vectors (n, d)."""
        side_by_side = torch.cat([table(part) for table, part in self.tables(codes)], dim=1)  # (n, f w)
        mixed = self.mix(side_by_side).unflatten(1, (self.pieces, -1))  # (n, p, d)
        vectors: Tensor = self.norm(mixed.amax(1))
        return vectors


def _spec(name: str, summary: str, **embedding: Any) -> ModelSpec:
    return ModelSpec(
        name=name,
        # Prefix, suffix and shape are taken from the word as it is written.
        text=TextSpec(args={"lowercase": False}),
        code=CodeSpec("word-features", {"num_buckets": 5_000}, small={"num_buckets": 20}),
        embedding=EmbeddingSpec(MultiHash, embedding, small={"width": 8}),
        free_size=FreeSize("code", "num_buckets", least=5),
        groups=("multi-hash",),
        summary=summary,
    )


MODELS = [
    _spec("multi-hash", "spaCy's four features of a word, four hashed rows each, mixed by maxout"),
    _spec("multi-hash-linear", "the same, mixed by one linear map of tables 32 wide", width=32, mix="linear"),
]
