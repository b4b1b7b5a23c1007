"""A table of vectors, one row a vocabulary entry or hash bucket: BERT's embedding (Devlin et al. 2019).

Makes `bert-mlm` and `bert-sr`, the baselines of HashFormers (Xue and Aletras 2022, tables 1 to 3), over a byte-level
BPE vocabulary of RoBERTa's size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from hashbench.embeddings.base import (
    PAD,
    SPECIALS,
    Batch,
    Embedding,
    EmbeddingSpec,
    ModelSpec,
    OriginSpec,
    Published,
    TextSpec,
    TrainingSpec,
)
from hashbench.errors import InputError
from hashbench.layers import draw_weights

# RoBERTa's vocabulary, five special tokens included: 38.6 M parameters at d = 768.
VOCABULARY_ROWS = 50_265


class RowTable(Embedding):
    """Rows of a learned matrix, which a training may narrow to those that its types reach."""

    def __init__(self, num_rows: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(draw_weights(torch.empty(num_rows, width)))  # (R, w)
        self.whole: Tensor | None = None  # (R, w) while the table is narrowed
        self.places: Tensor | None
        self.register_buffer("places", None, persistent=False)  # (R,) a row's place in the narrowed table

    def reached(self, codes: Tensor) -> Tensor:
        """The rows that special tokens and the types with these codes (n, c) look up, sorted (r,)."""
        raise NotImplementedError

    def narrow(self, codes: Tensor) -> None:
        """Keeps as parameters the rows that special tokens and `codes` (n, c) reach alone, until `widen`.

        Optimizer, clipping and the clearing of gradients pass over a table's every row at each step, and a task has a
        fraction of them. Any other row would get no gradient, and without weight decay stay what it is.
        """
        self.widen()
        rows = self.reached(codes.cpu().long())
        self.whole = self.weight.detach()
        self.places = torch.full((len(self.whole),), -1, device=self.whole.device)
        self.places[rows] = torch.arange(len(rows), device=self.whole.device)
        self.weight = nn.Parameter(self.whole[rows])  # (r, w)

    def widen(self) -> None:
        """Puts the rows of a narrowed table back among the others; nothing where it is whole."""
        if self.whole is None or self.places is None:
            return
        whole, rows = self.whole.to(self.weight.device), (self.places >= 0).nonzero()[:, 0]
        whole[rows] = self.weight.detach()
        self.weight, self.whole, self.places = nn.Parameter(whole), None, None

    def look_up(self, rows: Tensor) -> Tensor:
        """Row numbers of the whole table (n, ...) -> rows (n, ..., w)."""
        return nn.functional.embedding(rows if self.places is None else self.places[rows], self.weight)


class LookupTable(RowTable):
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
        """Remembers the strings of the rows, by which published rows are found."""
        self.strings = vocabulary

    def check_published(self, config: Mapping[str, Any], where: str) -> None:
        """Any: the strings of its rows tell whether they are those of a model's vocabulary."""

    def from_published(self, model: Published) -> dict[str, Tensor]:
        """The rows (R, d) of the token table of BERT or RoBERTa in the order of ours: specials first, then pieces."""
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
        """Table, as this class was called when the first runs were stored."""
        return "Table" if cls is LookupTable else super().stored_name()

    def reached(self, codes: Tensor) -> Tensor:
        """The five special rows, and the codes (n, c) themselves: (r,)."""
        # sorted: specials first.
        return torch.cat([torch.arange(len(SPECIALS)), codes[:, 0]]).unique()

    def embed_types(self, codes: Tensor) -> Tensor:
        """Row numbers (n, 1) -> vectors (n, d)."""
        return self.look_up(codes[:, 0])

    def special_rows(self) -> Tensor:
        """The first rows (s, d), s = 5."""
        return self.weight[: len(SPECIALS)]

    def forward(self, batch: Batch) -> Tensor:
        """A batch -> token vectors (B, L, d): special rows and types in one look-up.

        Each look-up into the table costs a backward pass over all of its rows, so that two would cost twice.
        """
        special = torch.arange(len(SPECIALS), device=batch.codes.device)
        rows = self.look_up(torch.cat([special, batch.codes[:, 0]]))  # (s + n, d)
        return nn.functional.embedding(batch.positions, rows)  # (B, L, d)

    def embedding_parameters(self) -> int:
        """The whole table, special rows included, as table 2 counts it."""
        return self.weight.numel()

    def output_matrix(self) -> Tensor:
        """The table itself: input and output are tied. (V, d)."""
        return self.weight


def _baseline(name: str, objective: Literal["mlm", "shuffle_random"], summary: str) -> ModelSpec:
    return ModelSpec(
        name=name,
        text=TextSpec("bpe"),
        embedding=EmbeddingSpec(LookupTable, {"num_rows": VOCABULARY_ROWS}, small={"num_rows": 64}),
        training=TrainingSpec(objective),
        origin=OriginSpec("hashformers", "2-class fine-tuning model without pre-training heads"),
        groups=("baselines",),
        summary=summary,
    )


MODELS = [
    _baseline("bert-mlm", "mlm", "BERT with a table over a BPE vocabulary, masked language modelling"),
    _baseline("bert-sr", "shuffle_random", "BERT with a table over a BPE vocabulary, shuffle + random"),
]
