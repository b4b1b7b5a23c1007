"""A factorised table: V rows of width r, and a linear map to the encoder's width (Lan et al., ALBERT, ICLR 2020).

The control that a smaller table must beat: e = T[row] W, section 3.1. Output and input are tied as in ALBERT: masked
language modelling scores against T W. Chosen here: W is drawn wider, as position vectors are added behind it, not
before.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hashbench.models.embeddings.base import PAD, SPECIALS, EmbeddingSpec, FreeSize, ModelSpec, TextSpec, TrainingSpec
from hashbench.models.embeddings.lookup import VOCABULARY_ROWS
from hashbench.models.embeddings.rows import VocabularyTable


class LowRankTable(VocabularyTable):
    """A table of narrow rows, special tokens first, and the linear map from rows to vectors."""

    def __init__(self, dim: int, num_rows: int = VOCABULARY_ROWS, rank: int = 16) -> None:
        super().__init__(num_rows, rank)
        with torch.no_grad():
            self.weight[PAD].zero_()
        self.map = nn.Linear(rank, dim, bias=False)
        nn.init.normal_(self.map.weight, std=max(rank, 1) ** -0.5)  # vectors begin at the scale of a plain table's rows

    def embed_types(self, codes: Tensor) -> Tensor:
        """Row numbers (n, 1) -> vectors (n, d)."""
        vectors: Tensor = self.map(self.look_up(codes[:, 0]))
        return vectors

    def special_rows(self) -> Tensor:
        """Vectors of the special tokens, made of the first rows of the table (s, d), s = 5."""
        vectors: Tensor = self.map(self.weight[: len(SPECIALS)])
        return vectors

    def active_parameters(self, codes: Tensor) -> int:
        """Parameters of one row and of the map, for one code (1, 1)."""
        return self.weight.shape[1] + self.map.weight.numel()

    def output_matrix(self) -> Tensor:
        """T W (V, d): input and output are tied."""
        matrix: Tensor = self.map(self.weight)
        return matrix


MODELS = [
    ModelSpec(
        name="low-rank-bpe",
        text=TextSpec("bpe"),
        embedding=EmbeddingSpec(LowRankTable, {"num_rows": VOCABULARY_ROWS}, small={"num_rows": 64, "rank": 4}),
        training=TrainingSpec("shuffle_random"),
        free_size=FreeSize("embedding", "rank"),
        groups=("low-rank",),
        version=2,  # version 1 began so small that position vectors hid what differs
        summary="a table of 16 numbers a BPE piece and a map to the encoder's width, as ALBERT's",
    )
]
