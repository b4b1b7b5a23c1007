"""Random encoders of `transformers` with tokenizers of their own, saved as published ones are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from tests.published_bert import SMALL, SPREAD, drawn, saved_bert, saved_roberta

DISTILBERT = {"n_layers": 2, "n_heads": 4, "dim": 32, "hidden_dim": 64}
# By model_type; the table of ELECTRA and ALBERT is narrower than their layers.
KINDS: dict[str, dict[str, Any]] = {
    "bert": SMALL,
    "distilbert": DISTILBERT,
    "electra": {**SMALL, "embedding_size": 16},
    "albert": {**SMALL, "embedding_size": 16, "hidden_dropout_prob": 0.1},
    "deberta-v2": {**SMALL, "type_vocab_size": 0, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
    "modernbert": {**SMALL, "cls_token_id": 3, "sep_token_id": 4, "pad_token_id": 0},
}


def saved_encoder(kind: str, folder: Path, *, head: bool = True, **changes: Any) -> Path:
    """A folder with a model for sequence classification, or without a head, and its tokenizer."""
    import transformers

    if kind == "roberta":
        return saved_roberta(folder, **changes)
    saved_bert(folder)  # its vocabulary
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    torch.manual_seed(0)
    values = {"vocab_size": len(tokenizer), "initializer_range": SPREAD, "num_labels": 2, **KINDS[kind], **changes}
    config = transformers.AutoConfig.for_model(kind, **values)
    classes = transformers.AutoModelForSequenceClassification if head else transformers.AutoModel
    drawn(classes.from_config(config)).save_pretrained(folder)  # type: ignore[operator]
    tokenizer.save_pretrained(folder)
    return folder
