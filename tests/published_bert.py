"""Random BERT and RoBERTa models of `transformers` with vocabularies of their own, saved as published weights are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from torch import nn

from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.catalogue import find_task, load_task

SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
SMALL_HERE = "{layers: 2, heads: 4, dim: 32, feed_forward: 64}"  # the same in an experiment file
SPREAD = 0.55 / 32**0.5  # 0.02 at 768, as published; the same effect at this width
# in the order of the published vocabularies, where unused rows stand among the special tokens
BERT_SPECIALS = ("[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
ROBERTA_SPECIALS = ("<s>", "<pad>", "</s>", "<unk>")  # <mask> is the last


def texts() -> list[str]:
    """Texts of the built-in tasks."""
    data = load_task(find_task("mrpc"), open_sources("builtin"))
    return [text for column in data.splits["train"].texts for text in column]


def drawn(model: nn.Module) -> nn.Module:
    """With biases and LayerNorms far from what they start with, so that errors show."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias") or "LayerNorm" in name:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    return model.eval()


def saved_bert(folder: Path, **changes: Any) -> Path:
    """A folder with BertForSequenceClassification and its vocab.txt."""
    from transformers import BertConfig, BertForSequenceClassification

    words = sorted({word for text in texts() for word in text.lower().split() if word.isalpha()})[:150]
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    pieces = [*BERT_SPECIALS, *",.'", *letters, *(f"##{letter}" for letter in letters)]
    vocabulary = [*pieces, *(word for word in words if word not in pieces)]
    torch.manual_seed(0)
    config = BertConfig(
        **{**SMALL, "vocab_size": len(vocabulary), "initializer_range": SPREAD, "num_labels": 2, **changes}
    )
    drawn(BertForSequenceClassification(config)).save_pretrained(folder)  # type: ignore[operator]
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    return folder


def saved_roberta(folder: Path, **changes: Any) -> Path:
    """A folder with RobertaForSequenceClassification and its tokenizer.json."""
    from transformers import RobertaConfig, RobertaForSequenceClassification

    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    trained.train_from_iterator(texts(), trainer)
    content = json.loads(trained.to_str())
    pieces = sorted(content["model"]["vocab"], key=content["model"]["vocab"].__getitem__)
    strings = [*ROBERTA_SPECIALS, *pieces, "<mask>"]
    content["model"]["vocab"] = {string: row for row, string in enumerate(strings)}
    torch.manual_seed(0)
    config = RobertaConfig(
        **{
            **SMALL, "vocab_size": len(strings), "initializer_range": SPREAD, "num_labels": 2, "type_vocab_size": 1,
            "max_position_embeddings": 514, "layer_norm_eps": 1e-5, **changes,
        }
    )  # fmt: skip
    drawn(RobertaForSequenceClassification(config)).save_pretrained(folder)  # type: ignore[operator]
    (folder / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    return folder
