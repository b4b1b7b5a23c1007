"""MultiHashFormer: a word is K rows, which a gate mixes (Xue, Yamaguchi and Aletras 2026, arXiv 2606.28057).

e_k = E[k B + id_k], a_k = w2 . SiLU(W1 e_k + b1) + b2, g = softmax over k of a, x = Wo (sum_k g_k e_k) + bo.

A score a_k is a property of its row, and Wo is linear: in an exported graph both are made once for each row of the
table, so that a word costs K rows, K exponentials and K d additions.

Differs from the paper: an encoder over words in place of a decoder over a vocabulary; special tokens have separate
learned rows; Wo starts as the identity, since in BERT's sum with position vectors the words of the paper's start, nine
times smaller than these, would be drowned; `init: paper` restores it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import torch
from torch import Tensor, nn

from hashbench.common.errors import InputError
from hashbench.models.embeddings.base import SPECIALS, CodeSpec, EmbeddingSpec, FreeSize, ModelSpec, TrainingSpec
from hashbench.models.embeddings.rows import HashedRows, HashedTables
from hashbench.models.layers import init_weights

SCORER_WIDTH = 64  # of the gate's hidden layer, as released


class MultiHashFormer(HashedTables):
    """Vectors of words as a mixture of K rows, one of each of K tables of B rows, behind a linear map."""

    def __init__(
        self,
        dim: int,
        num_buckets: int = 16_384,
        hashes: int = 4,
        gate: bool = True,
        projection: bool = True,
        init: Literal["suite", "paper"] = "suite",
    ) -> None:
        """`num_buckets`: B; `hashes`: K; `gate`, `projection`: false for the plain sum of rows, without Wo."""
        if init not in ("suite", "paper"):
            raise InputError(f"embedding: init {init!r}; choose suite or paper")
        super().__init__(dim, len(SPECIALS))
        self.num_buckets, self.hashes = num_buckets, hashes
        self.table = HashedRows(hashes * num_buckets, dim)
        self.scorer = (
            nn.Sequential(nn.Linear(dim, SCORER_WIDTH), nn.SiLU(), nn.Linear(SCORER_WIDTH, 1)) if gate else None
        )
        self.projection = nn.Linear(dim, dim) if projection else None
        self.apply(init_weights)
        if self.projection is not None and init == "suite" and not self.projection.weight.is_meta:
            nn.init.eye_(self.projection.weight)

    def rows(self, codes: Tensor) -> Tensor:
        """Ids (n, K) of K tables -> rows (n, K) of the one table that holds them end to end."""
        return codes.long() + self.num_buckets * torch.arange(self.hashes, device=codes.device)

    def tables(self, codes: Tensor) -> Iterable[tuple[HashedRows, Tensor]]:
        """The one table, with the rows (n, K) that the codes (n, K) choose."""
        yield self.table, self.rows(codes)

    def embed_types(self, codes: Tensor) -> Tensor:
        """Codes (n, K) -> vectors (n, d)."""
        rows = self.rows(codes)
        if torch.compiler.is_exporting():
            return self._from_folded(rows)
        vectors = self.table.look_up(rows)  # (n, K, d)
        mixed = vectors.sum(1) if self.scorer is None else _mixed(vectors, self.scorer(vectors)[..., 0])
        return mixed if self.projection is None else self.projection(mixed)

    def _from_folded(self, rows: Tensor) -> Tensor:
        """Rows (n, K) -> vectors (n, d), by the table behind the projection and the scores of its rows."""
        table: Tensor = self.table.weight  # (K B, d)
        bias: Tensor | float = 0.0
        if self.projection is not None:
            table, bias = table @ self.projection.weight.T, self.projection.bias
        vectors = nn.functional.embedding(rows, table)  # (n, K, d)
        if self.scorer is None:
            return vectors.sum(1) + bias
        scores = nn.functional.embedding(rows, self.scorer(self.table.weight))[..., 0]  # (n, K)
        return _mixed(vectors, scores) + bias

    def multiply_adds(self) -> int:
        """None: behind the table of an exported graph there is no product of matrices."""
        return 0

    def signature_rows(self) -> Tensor:
        """The rows (K, B, d) that a head of signatures scores against."""
        return self.table.weight.view(self.hashes, self.num_buckets, -1)


def _mixed(vectors: Tensor, scores: Tensor) -> Tensor:
    """Rows (n, K, d) and their scores (n, K) -> the mean of the rows, weighted by softmax, (n, d)."""
    return torch.einsum("nkd,nk->nd", vectors, scores.softmax(-1))


MODELS = [
    ModelSpec(
        name="multihashformer",
        code=CodeSpec("signature", {"num_buckets": 16_384, "hashes": 4}, small={"num_buckets": 11}),
        embedding=EmbeddingSpec(MultiHashFormer),
        training=TrainingSpec(objective="mlm_signatures"),
        free_size=FreeSize("code", "num_buckets", least=2),
        groups=("multihashformers",),
        summary="four hashed rows of a word, mixed by a gate; predicts words by their four hashes",
    )
]
