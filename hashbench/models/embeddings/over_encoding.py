"""Hashed n-grams of tokens over another embedding: LongCat's form, over-encoding, and BigramHash.

With x_t the stable number of the token at t, V numbers in all, x = 0 before the start, and p_q = V^q:
LongCat (Liu et al. 2026, arXiv 2601.21204; as in mlx-lm): k tables for each order n = 2 ... N,
id(t) = (x_t + sum_q x_(t-q) (p_q mod M_i)) mod M_i, M_i = m + 2 i + 1, width d // (k (N - 1)), a map W_i to d.
Over-encoding (Huang et al., ICML 2025, arXiv 2501.16975): the same with M_i = m + 2 i and width d // (k N).
BigramHash (modded-nanogpt, 2026): row ((36313 x_t) xor (27191 x_(t-1))) mod (B - 1), the last row at the start.

Differs from the sources: sums are not divided by their number, since BERT's position vectors are added behind
(`average: true` restores it); a factor of BigramHash begins at 1 in place of 0.05; numbers are 64 bits wide. Over
hashed words there is no vocabulary: V = 2^31, and x is a number made of the code, which nobody has published.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

from hashbench.common.errors import InputError
from hashbench.models.embeddings.base import (
    Batch,
    CodeSpec,
    Embedding,
    EmbeddingSpec,
    FreeSize,
    ModelSpec,
    TextSpec,
    TrainingSpec,
)
from hashbench.models.embeddings.hash_embedding import HashEmbedding
from hashbench.models.embeddings.hashformer import Projection
from hashbench.models.embeddings.lookup import SMALLEST_VOCABULARY, VOCABULARY_ROWS, LookupTable
from hashbench.models.embeddings.neighbours import (
    OverNeighbours,
    Window,
    checked_sizes,
    neighbour,
    sides,
    signed_codes,
    table_rows,
)
from hashbench.models.embeddings.rows import HashedRows
from hashbench.models.layers import init_weights

BIGRAM_FACTORS = (36_313, 27_191, 18_731)  # of a token, the one before it, and the one before that
ORDERS = 3  # N


class ContextNgrams(OverNeighbours):
    """Base of embeddings with tables of n-grams of tokens: each has an order and a side, and gives a token one row."""

    def __init__(
        self, base: Embedding, sizes: Sequence[int], width: int, places: Sequence[tuple[int, int]], signs: int
    ) -> None:
        """`sizes`: rows of each table; `places`: its side, 1 for the left, and its order."""
        super().__init__(base)
        self.places = list(places)
        self.ngrams = nn.ModuleList(HashedRows(size, width, signs=signs) for size in sizes)

    def reads(self) -> Iterable[tuple[HashedRows, int]]:
        """Each table; a token reads one row of each."""
        return ((cast(HashedRows, table), 1) for table in self.ngrams)

    def hashed(self, parts: Sequence[Tensor], num_rows: int) -> Tensor:
        """Numbers of the tokens of n-grams, n times (B, L), the last token first -> rows of a table (B, L)."""
        raise NotImplementedError

    def looked_up(self, batch: Batch) -> Iterator[Tensor]:
        """The rows (B, L, w) that each table has for the tokens of a batch."""
        numbers = self.numbers(batch)
        for (side, order), (table, _) in zip(self.places, self.reads(), strict=True):
            parts = [neighbour(numbers, side * q, self.missing) for q in range(order)]
            rows = self.hashed(parts, table.num_rows)
            yield table.signed_rows(signed_codes(rows, parts, table))


class NgramTables(ContextNgrams):
    """LongCat's form and over-encoding: k tables for each order, each mapped to the width."""

    def __init__(
        self,
        dim: int,
        base: Embedding,
        num_buckets: int | None = None,
        orders: int = ORDERS,
        splits: int = 2,
        form: Literal["longcat", "over-encoding"] = "longcat",
        width: int | None = None,
        average: bool = False,
        ratio: float = 1.0,
        signs: int = 0,
        window: Window = "left",
    ) -> None:
        """`num_buckets`: m, else the vocabulary's rows, both times `ratio`; `orders`: N; `splits`: k; `width`: of a
        row, else the form's."""
        checked_sizes(orders=orders, splits=splits)
        if form not in ("longcat", "over-encoding") or orders < 2:
            choices = "choose longcat or over-encoding, and 2 or more"
            raise InputError(f"embedding: form {form!r}, orders {orders}; {choices}")
        places = [(side, n) for side in sides(window) for n in range(2, orders + 1) for _ in range(splits)]
        shares, odd = (orders - 1, 1) if form == "longcat" else (orders, 0)
        width = width or max(1, dim // (shares * splits))
        rows = table_rows(base, num_buckets, ratio)
        super().__init__(base, [rows + 2 * i + odd for i in range(len(places))], width, places, signs)
        self.average = average
        self.maps = nn.ModuleList(nn.Linear(width, dim, bias=False) for _ in places)

    def hashed(self, parts: Sequence[Tensor], num_rows: int) -> Tensor:
        """Numbers of the tokens of n-grams, (B, L) each -> rows of a table (B, L), by a polynomial in V."""
        terms = [part * pow(self.id_range, q, num_rows) for q, part in enumerate(parts)]
        return torch.stack(terms).sum(0).remainder(num_rows)

    def forward(self, batch: Batch) -> Tensor:
        """A batch -> token vectors (B, L, d)."""
        vectors = self.base(batch)
        for rows, mapped in zip(self.looked_up(batch), self.maps, strict=True):
            vectors = vectors + mapped(rows)
        return vectors / (1 + len(self.maps)) if self.average else vectors


class BigramHash(ContextNgrams):
    """e = E[x_t] + c P[row]: a table for each order, whose rows begin at 0, and a learned factor."""

    missing = -1

    def __init__(
        self,
        dim: int,
        base: Embedding,
        num_buckets: int | None = None,
        orders: int = 2,
        width: int = 128,
        factor: float = 1.0,
        ratio: float = 1.0,
        signs: int = 0,
        window: Window = "left",
    ) -> None:
        """`num_buckets`: B, else the vocabulary's rows, both times `ratio`; `width`: of a row, mapped where it is not
        `dim`; `factor`: c at the start."""
        checked_sizes(orders=orders, width=width)
        if not 2 <= orders <= len(BIGRAM_FACTORS):
            raise InputError(f"embedding: orders {orders}; choose 2 or {len(BIGRAM_FACTORS)}")
        places = [(side, n) for side in sides(window) for n in range(2, orders + 1)]
        rows = max(2, table_rows(base, num_buckets, ratio))  # the last for n-grams that the start cuts
        super().__init__(base, [rows] * len(places), width, places, signs)
        self.map = nn.Identity() if width == dim else nn.Linear(width, dim, bias=False)
        self.factor = nn.Parameter(torch.tensor(float(factor)))
        for table, _ in self.reads():
            nn.init.zeros_(table.weight)
        init_weights(self.map)

    def hashed(self, parts: Sequence[Tensor], num_rows: int) -> Tensor:
        """Numbers of n-grams' tokens, (B, L) each -> rows (B, L), by xor of products; the last row at a text's edge."""
        mixed = parts[0] * BIGRAM_FACTORS[0]
        for part, factor in zip(parts[1:], BIGRAM_FACTORS[1:], strict=False):
            mixed = mixed ^ (part * factor)
        return mixed.remainder(num_rows - 1).masked_fill(parts[-1] == self.missing, num_rows - 1)

    def forward(self, batch: Batch) -> Tensor:
        """A batch -> token vectors (B, L, d)."""
        vectors = self.base(batch)
        for rows in self.looked_up(batch):
            vectors = vectors + self.factor * self.map(rows)
        return vectors


def over_bpe(
    name: str, family: type[OverNeighbours], objective: str, summary: str, group: str, **arguments: Any
) -> ModelSpec:
    """A model that adds n-grams to a table of BPE pieces; the rows of all tables follow the size of the vocabulary."""
    table = EmbeddingSpec(LookupTable, {"num_rows": VOCABULARY_ROWS}, small={"num_rows": 64})
    return ModelSpec(
        name=name,
        text=TextSpec("bpe"),
        embedding=EmbeddingSpec(family, arguments, base=table),
        training=TrainingSpec(objective),
        free_size=FreeSize("embedding", "num_rows", least=SMALLEST_VOCABULARY, learned=True),
        groups=(group,),
        summary=summary,
    )


def over_words(name: str, family: type[OverNeighbours], summary: str, group: str, **arguments: Any) -> ModelSpec:
    """A model that adds n-grams to HashFormers' projection of the MD5 of words; it has no vocabulary."""
    return ModelSpec(
        name=name,
        code=CodeSpec("md5-bits"),
        embedding=EmbeddingSpec(family, arguments, small={"num_buckets": 20}, base=EmbeddingSpec(Projection)),
        free_size=FreeSize("embedding", "num_buckets"),
        groups=(group,),
        summary=summary,
    )


GROUP = "context-ngrams"
MODELS = [
    over_bpe("bigram-bpe", BigramHash, "mlm", "a table of BPE pieces and one of hashed pairs of them", GROUP),
    over_words(
        "bigram-md-proj", BigramHash, "projected MD5 bits of words and a table of hashed pairs of words: no vocabulary",
        GROUP, num_buckets=10_000,
    ),
    ModelSpec(
        name="bigram-hash-emb",
        code=CodeSpec("hash-rows", {"num_buckets": 1_000, "hashes": 2}, small={"num_buckets": 11}),
        # The coder's num_buckets are those of both tables.
        embedding=EmbeddingSpec(BigramHash, base=EmbeddingSpec(HashEmbedding, {"factors": False})),
        free_size=FreeSize("code", "num_buckets"),
        groups=(GROUP,),
        summary="the sum of 2 hashed rows of a word and a row of its pair with the word before, half each",
    ),
    over_bpe("longcat-bpe", NgramTables, "mlm", "BPE pieces, and two tables each for pairs and triples of them", GROUP),
    over_words(
        "longcat-md-proj", NgramTables, "projected MD5 bits of words, two tables each for pairs and triples of words",
        GROUP, num_buckets=10_000,
    ),
    over_bpe(
        "over-encoding-bpe", NgramTables, "mlm", "BPE pieces, and a table each for pairs and triples of them", GROUP,
        form="over-encoding", splits=1,
    ),
]  # fmt: skip
