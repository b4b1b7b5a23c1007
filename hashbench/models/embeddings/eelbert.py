"""EELBERT: a hash of the characters in place of the token table (Cohn et al. 2023; tables 1 to 5), and BERT beside it.

Tables 1, 2: eelbert-*, uno-eelbert   e = the n-gram pooling hash of the type (section 3.2): nothing is trained
Tables 1, 2: bert-*                   e = T[row], a trained table, tied to the output
Table 3:     bert-*-random-hash       e = R[row], R drawn from N(0, 0.02) and frozen
Table 4:     bert-*-hash-init         e = T[row], T trained and tied, begins as the n-gram pooling hash of its pieces

All are BERTs over uncased word pieces, pre-trained by masked language modelling. Where there is no table to tie it to,
the output matrix (V, d) is trained with the head and dropped with it: neither counted, nor stored, nor exported.
Models of sizes that the paper has no such row of (tiny in tables 3 and 4) are chosen here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from hashbench.models.coders.ngram_pooling import SEED, NgramPooling
from hashbench.models.embeddings.base import (
    PAD,
    CodeSpec,
    Counts,
    Embedding,
    EmbeddingSpec,
    EncoderSpec,
    ModelSpec,
    OriginSpec,
    Parts,
    Template,
    TextSpec,
    TrainingSpec,
    stored,
)
from hashbench.models.embeddings.lookup import LookupTable
from hashbench.models.layers import INIT_STD

VOCABULARY_ROWS = 30_522  # bert-base-uncased, special tokens included (section 4.1)
BERT = Template(  # specials in the order of the suite's rows
    specials=("[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"),
    single=("[CLS]", "A", "[SEP]"),
    pair=("[CLS]", "A", "[SEP]", "B", "[SEP]"),
    segments=True,
    truncation="longest_first",
)


class NgramHash(Embedding):
    """The code of a type is its vector: no parameters, since the seed makes all again, and no row for an unknown type.

    [CLS], [SEP], [MASK] and [UNK] are hashed as these strings; [PAD] is the zero vector (both chosen here).
    """

    def __init__(self, dim: int, num_rows: int = VOCABULARY_ROWS, hashing: Mapping[str, Any] | None = None) -> None:
        """`num_rows`: of the output matrix of a pre-training. `hashing`: arguments of the coder."""
        super().__init__()
        self.untied_rows = num_rows
        rows = torch.empty(len(BERT.specials), dim)
        if not rows.is_meta:
            rows.copy_(torch.from_numpy(NgramPooling(**{**(hashing or {}), "dim": dim}).encode_few(BERT.specials)))
            rows[PAD] = 0.0
        self.specials: Tensor
        self.register_buffer("specials", rows, persistent=False)  # (5, d)

    def embed_types(self, codes: Tensor) -> Tensor:
        """Vectors (n, d) -> the same vectors. Raises ValueError for codes that are no such vectors."""
        if not codes.is_floating_point() or codes.shape[1] != self.specials.shape[1]:
            raise ValueError(f"a code must be a vector of {self.specials.shape[1]} floats")
        return codes.to(self.specials.dtype)

    def special_rows(self) -> Tensor:
        """Frozen vectors of the special tokens (s, d), s = 5."""
        return self.specials


class RandomHash(Embedding):
    """Table 3: a table drawn once from BERT's default initialisation and frozen; its seed makes it again.

    Chosen here: the output is untied and trained as EELBERT's, since a tied one would be frozen too.
    """

    def __init__(self, dim: int, num_rows: int = VOCABULARY_ROWS, seed: int = SEED) -> None:
        super().__init__()
        self.untied_rows = num_rows
        table = torch.empty(num_rows, dim)
        if not table.is_meta:
            # A stream that stays what it is.
            drawn = np.random.RandomState(seed).standard_normal((num_rows, dim))
            table.copy_(torch.from_numpy(INIT_STD * drawn))
            table[PAD] = 0.0
        self.table: Tensor
        self.register_buffer("table", table, persistent=False)  # (V, d)

    def embed_types(self, codes: Tensor) -> Tensor:
        """Row numbers (n, 1) -> vectors (n, d)."""
        return nn.functional.embedding(codes[:, 0], self.table)

    def special_rows(self) -> Tensor:
        """Vectors of the special tokens, the first rows of the table (s, d), s = 5."""
        return self.table[: len(BERT.specials)]


class HashInitTable(LookupTable):
    """Table 4: a trained table, tied to the output, that begins as the n-gram pooling hash of its vocabulary.

    The paper says nothing of scale, and a hash is 10 to 25 times as large as what BERT begins with: None leaves it as
    it is, a number rescales the whole matrix to that standard deviation (chosen here).
    """

    def __init__(
        self, dim: int, num_rows: int = VOCABULARY_ROWS, std: float | None = None, seed: int = SEED, strip: bool = False
    ) -> None:
        super().__init__(dim, num_rows)
        self.std, self.seed, self.strip = std, seed, strip

    def initialise(self, vocabulary: Sequence[str]) -> None:
        """Fills the table from the strings of its rows. Raises ValueError where their numbers differ."""
        super().initialise(vocabulary)
        rows, dim = self.weight.shape
        if len(vocabulary) != rows:
            raise ValueError(f"a vocabulary of {len(vocabulary)} for a table of {rows} rows")
        vectors = torch.from_numpy(NgramPooling(dim, seed=self.seed, strip=self.strip).encode(vocabulary))  # (V, d)
        vectors[PAD] = 0.0  # a vocabulary begins with BERT's special tokens
        if self.std is not None:
            others = torch.arange(rows) != PAD
            vectors *= self.std / vectors[others].std(correction=0)
        with torch.no_grad():
            self.weight.copy_(vectors)


def in_mlm_frame(parts: Parts) -> Counts:
    """Counts of encoder, token table and MLM head; the head's matrix is the table, or it is dropped and not counted.

    Of a head for V rows that is dense d -> d, LayerNorm and a bias of V: 312,506 in all for uno-eelbert (section 5.2).
    """
    embedding, dim = parts.embedding, parts.encoder.config.dim
    matrix = embedding.output_matrix()
    table = 0 if matrix is None else matrix.numel()
    rows = embedding.untied_rows if matrix is None else len(matrix)
    assert isinstance(dim, int) and rows is not None  # every model of this file has an output
    head = dim * dim + dim + 2 * dim + rows
    return Counts(stored(parts.encoder) + table + head, table)


BertSize = Literal["base", "mini", "tiny"]
# Layers and d: section 3.1; heads and the intermediate size: BERT's.
SIZES: dict[BertSize, dict[str, int]] = {
    "base": {"layers": 12, "heads": 12, "dim": 768, "feed_forward": 3072},
    "mini": {"layers": 4, "heads": 4, "dim": 256, "feed_forward": 1024},
    "tiny": {"layers": 2, "heads": 2, "dim": 128, "feed_forward": 512},
}
# As BERT; the printed 312,506 parameters have 512 positions and two segments.
BERT_POSITIONS: dict[str, Any] = {"max_positions": 512, "type_rows": 2, "eps": 1e-12, "first_position": 0}
# The paper names no rates. Chosen here: the suite's rates for these sizes, so that a model of a fixed size keeps its
# own under an experiment of another size.
PRETRAIN_RATES: dict[BertSize, float] = {"base": 1e-4, "mini": 5e-4, "tiny": 1e-3}
FINETUNE_RATES: dict[BertSize, float] = {"base": 3e-5, "mini": 3e-4, "tiny": 5e-4}
UNO_FEED_FORWARD = 128  # section 5.2


MLM_FRAME = "masked language model; its output matrix is the token table, or is dropped and not counted"


def _spec(name: str, size: BertSize, embedding: type[Embedding], group: str, summary: str) -> ModelSpec:
    """A named model, of a size and a class of embedding."""
    hashed = embedding is NgramHash
    return ModelSpec(
        name=name,
        text=TextSpec("wordpieces", template=BERT),
        code=CodeSpec("ngram-pooling", small={"dim": 16}) if hashed else CodeSpec("vocabulary"),
        embedding=EmbeddingSpec(embedding, {"num_rows": VOCABULARY_ROWS}, small={"num_rows": 64}),
        encoder=EncoderSpec(args={**SIZES[size], **BERT_POSITIONS}),
        training=TrainingSpec(
            "mlm",
            pretrain={"learning_rate": PRETRAIN_RATES[size], "vocabulary_size": VOCABULARY_ROWS},
            finetune={"learning_rate": FINETUNE_RATES[size]},
        ),
        origin=OriginSpec("eelbert", MLM_FRAME, counted=in_mlm_frame),
        groups=(group,),
        summary=summary,
    )


def _named() -> list[ModelSpec]:
    """All models of this file: of tables 1 and 2, of table 3 and of table 4."""
    tables_1_2, table_3, table_4 = [], [], []
    for size in SIZES:
        bert = f"bert-{size}"
        tables_1_2 += [
            _spec(bert, size, LookupTable, "eelbert", f"BERT-{size} over word pieces, MLM"),
            _spec(f"eel{bert}", size, NgramHash, "eelbert", f"BERT-{size} without a table: n-gram hash, MLM"),
        ]
        table_3.append(_spec(f"{bert}-random-hash", size, RandomHash, "eelbert-table-3", f"{bert}, table frozen"))
        begun = _spec(f"{bert}-hash-init", size, HashInitTable, "eelbert-table-4", f"{bert}, begun as n-gram hash")
        rescaled = replace(
            begun.with_args(embedding={"std": INIT_STD}),
            name=f"{begun.name}-rescaled",
            summary=f"{begun.summary}, rescaled to std {INIT_STD}",
        )
        table_4 += [begun, rescaled]
    uno = _spec("uno-eelbert", "tiny", NgramHash, "eelbert", "eelbert-tiny with intermediate size 128")
    return [*tables_1_2, uno.with_args(encoder={"feed_forward": UNO_FEED_FORWARD}), *table_3, *table_4]


MODELS = _named()
