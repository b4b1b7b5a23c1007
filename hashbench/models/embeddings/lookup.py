"""A table of vectors, one row a vocabulary entry or hash bucket: BERT's embedding (Devlin et al. 2019).

Makes `bert-mlm` and `bert-sr`, the baselines of HashFormers (Xue and Aletras 2022, tables 1 to 3), over a byte-level
BPE vocabulary of RoBERTa's size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from hashbench.common.errors import InputError
from hashbench.models.embeddings.base import (
    PAD,
    SPECIALS,
    Batch,
    EmbeddingSpec,
    FreeSize,
    ModelSpec,
    OriginSpec,
    Published,
    TextSpec,
    TrainingSpec,
)
from hashbench.models.embeddings.rows import VocabularyTable

# RoBERTa's vocabulary, five special tokens included: 38.6 M parameters at d = 768.
VOCABULARY_ROWS = 50_265
SMALLEST_VOCABULARY = 300  # of a trained one: bytes, specials, and some merges


class LookupTable(VocabularyTable):
    """e = T[row]: the first five rows are the special tokens, the code of a type is its row.

    Differs from the released code: the padding row starts at zero instead of random; `zero_pad_rows=False` restores it.
    Neither has an influence, since no token attends to padding.
    """

    def __init__(self, dim: int, num_rows: int = VOCABULARY_ROWS, zero_pad_rows: bool = True) -> None:
        super().__init__(num_rows, dim)
        self.strings: Sequence[str] = ()  # of the rows, specials first, where a vocabulary is known
        if zero_pad_rows:
            with torch.no_grad():
                self.weight[PAD].zero_()

    def initialise(self, vocabulary: Sequence[str]) -> None:
        """Keeps the strings of the rows, by which published rows are found."""
        self.strings = vocabulary

    def check_published(self, config: Mapping[str, Any], where: str) -> None:
        """Accepts any config, since the strings of the rows show whether they are the model's vocabulary."""

    def from_published(self, model: Published) -> dict[str, Tensor]:
        """Rows (R, d) of the token table of BERT or RoBERTa in hashbench's order: specials first, then pieces."""
        table = model.tensor("embeddings.word_embeddings.weight")  # (V, d)
        places = {string: row for row, string in enumerate(model.spellings[: len(table)])}
        missing = [string for string in self.strings if string not in places]
        if missing or not self.strings:
            shown = ", ".join(map(repr, missing[:3])) or "all"
            raise InputError(
                f"{model.where}: its table of {len(table)} rows has none for {shown}; give the vocabulary of these "
                "weights as the tokenizer's (vocab.txt of BERT, tokenizer.json of RoBERTa)"
            )
        return {"weight": table[[places[string] for string in self.strings]]}

    @classmethod
    def stored_name(cls) -> str:
        """The string Table, which was the name of this class when the first runs were stored."""
        return "Table" if cls is LookupTable else super().stored_name()

    def embed_types(self, codes: Tensor) -> Tensor:
        """Row numbers (n, 1) -> vectors (n, d)."""
        return self.look_up(codes[:, 0])

    def special_rows(self) -> Tensor:
        """Vectors of the special tokens, the first rows of the table (s, d), s = 5."""
        return self.weight[: len(SPECIALS)]

    def forward(self, batch: Batch) -> Tensor:
        """A batch -> token vectors (B, L, d): special rows and types in one look-up.

        Each look-up into the table costs a backward pass over all of its rows, so that two would cost twice.
        """
        special = torch.arange(len(SPECIALS), device=batch.codes.device)
        rows = self.look_up(torch.cat([special, batch.codes[:, 0]]))  # (s + n, d)
        return nn.functional.embedding(batch.positions, rows)  # (B, L, d)

    def output_matrix(self) -> Tensor:
        """The table itself: input and output are tied. (V, d)."""
        return self.weight


def _baseline(name: str, objective: Literal["mlm", "shuffle_random"], summary: str) -> ModelSpec:
    return ModelSpec(
        name=name,
        text=TextSpec("bpe"),
        embedding=EmbeddingSpec(LookupTable, {"num_rows": VOCABULARY_ROWS}, small={"num_rows": 64}),
        training=TrainingSpec(objective),
        free_size=FreeSize("embedding", "num_rows", least=SMALLEST_VOCABULARY, learned=True),
        origin=OriginSpec("hashformers", "2-class fine-tuning model without pre-training heads"),
        groups=("baselines",),
        summary=summary,
    )


MODELS = [
    _baseline("bert-mlm", "mlm", "BERT with a table over a BPE vocabulary, masked language modelling"),
    _baseline("bert-sr", "shuffle_random", "BERT with a table over a BPE vocabulary, shuffle + random"),
]
