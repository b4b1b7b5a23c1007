"""BERT and RoBERTa as they were published: their weights, their vocabularies.

BERT: Devlin et al. (2019, section 3), RoBERTa: Liu et al. (2019, section 4.4: byte-level BPE). e = T[row],
before position and segment are added (figure 2 of Devlin et al.).

A model of other weights is a variation: `like: bert-base-uncased` or `like: roberta-base` with `weights: FOLDER`.
"""

from __future__ import annotations

from typing import Any

from hashbench.models.embeddings.base import (
    CodeSpec,
    EmbeddingSpec,
    EncoderSpec,
    HeadSpec,
    ModelSpec,
    Template,
    TextSpec,
    TrainingSpec,
)
from hashbench.models.embeddings.eelbert import BERT, BERT_POSITIONS, FINETUNE_RATES, SIZES, VOCABULARY_ROWS
from hashbench.models.embeddings.lookup import VOCABULARY_ROWS as ROBERTA_ROWS
from hashbench.models.embeddings.lookup import LookupTable


def _spec(
    name: str, weights: str, tokenizer: str, *, template: Template, rows: int, head: HeadSpec, encoder: dict[str, Any]
) -> ModelSpec:
    return ModelSpec(
        name=name,
        text=TextSpec(tokenizer, template=template),
        code=CodeSpec("vocabulary"),
        embedding=EmbeddingSpec(LookupTable, {"num_rows": rows}, small={"num_rows": 64}),
        encoder=EncoderSpec(args={**SIZES["base"], **encoder}),
        head=head,
        training=TrainingSpec(None, weights=weights, finetune={"learning_rate": FINETUNE_RATES["base"]}),
        groups=("published",),
        summary=f"{weights}: published weights and vocabulary, from hub or folder",
    )


MODELS = [
    _spec(
        "bert-base-uncased", "google-bert/bert-base-uncased", "wordpieces", template=BERT, rows=VOCABULARY_ROWS,
        head=HeadSpec(dense_dropout=False),  # its pooler has none before it
        encoder=BERT_POSITIONS,
    ),
    _spec(
        "roberta-base", "FacebookAI/roberta-base", "bpe", template=Template(truncation="longest_first"),
        rows=ROBERTA_ROWS, head=HeadSpec(), encoder={},
    ),
]  # fmt: skip
