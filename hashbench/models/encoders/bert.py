"""BERT's encoder (Devlin et al. 2019, section 3 and figure 2) with RoBERTa's positions (Liu et al. 2019), tiny to base.

x = LayerNorm(vector + position + segment). A layer is as in Vaswani et al. (2017, sections 3.1 to 3.3, eq. 1 and 2)
with exact GELU in place of ReLU: x = LayerNorm(x + attention(x)), then x = LayerNorm(x + W2 gelu(W1 x + b1) + b2).
RoBERTa's code counts positions from 2, BERT's from 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from hashbench.common.errors import InputError
from hashbench.models.embeddings.base import Published
from hashbench.models.encoders.base import Architecture, check_shape
from hashbench.models.encoders.transformer import SHAPES, TransformerConfig, TransformerEncoder


@dataclass(frozen=True)
class BertConfig(TransformerConfig):
    """The shape of the encoder. Defaults are RoBERTa's: 514 positions, the first two never used, one segment row."""

    layers: int
    heads: int
    dim: int
    feed_forward: int
    max_positions: int = 514
    type_rows: int = 1
    eps: float = 1e-5
    first_position: int = 2  # RoBERTa counts positions from its padding row + 1
    dropout: float = 0.1
    attention_dropout: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_shape(self, "max_positions", "type_rows", counts=("first_position",))
        if self.first_position >= self.max_positions:
            rows = f"first_position {self.first_position} leaves none of max_positions {self.max_positions}"
            raise InputError(f"encoder: {rows}; take a smaller one, or more positions")


CONFIG_NAMES = {  # of the configs of transformers -> of hashbench
    "hidden_size": "dim",
    "num_hidden_layers": "layers",
    "num_attention_heads": "heads",
    "intermediate_size": "feed_forward",
    "type_vocab_size": "type_rows",
    "layer_norm_eps": "eps",
}
LAYER_NAMES = {
    "attention_out": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "up": "intermediate.dense",
    "down": "output.dense",
    "norm": "output.LayerNorm",
}


class PublishedBert(TransformerEncoder):
    """Base of encoders with BERT's layers that may start from weights of `transformers`."""

    config: BertConfig
    config_names: ClassVar[Mapping[str, str]] = CONFIG_NAMES

    def dense_from_published(self, model: Published) -> dict[str, Tensor] | None:
        """The pooler, (d, d) and (d,), where a model has a trained one."""
        return {kind: model.tensor(f"pooler.dense.{kind}") for kind in ("weight", "bias")}

    def check_published(self, config: Mapping[str, Any], where: str) -> None:
        """Raises InputError where a published model has another shape or activation."""
        for key, own_name in self.config_names.items():
            wanted = getattr(self.config, own_name)
            if key in config and config[key] != wanted:
                raise InputError(
                    f"{where}: {key} is {config[key]}, but {own_name} of this encoder is {wanted}; "
                    "take the encoder size of the weights, or other weights"
                )
        if "hidden_act" in config and config["hidden_act"] != "gelu":
            raise InputError(f"{where}: hidden_act is {config['hidden_act']}, only gelu is known; take other weights")


class BertEncoder(PublishedBert):
    """BERT's encoder, from token vectors to token states."""

    config_names = {**CONFIG_NAMES, "max_position_embeddings": "max_positions"}

    def from_published(self, model: Published) -> dict[str, Tensor]:
        """The state of `transformers`' BertModel or RobertaModel."""
        self.check_published(model.config, model.where)
        state = {
            "positions.weight": model.tensor("embeddings.position_embeddings.weight"),
            "segments.weight": model.tensor("embeddings.token_type_embeddings.weight"),
            **renamed(model, "", "", {"norm": "embeddings.LayerNorm"}),
        }
        for number in range(self.config.layers):
            state |= published_layer(model, f"layers.{number}", f"encoder.layer.{number}")
        return state

    def dense_from_published(self, model: Published) -> dict[str, Tensor] | None:
        """BERT's pooler, which was trained on its second objective; None for RoBERTa, which has no such objective."""
        return super().dense_from_published(model) if model.config.get("model_type") == "bert" else None

    def check_published(self, config: Mapping[str, Any], where: str) -> None:
        """Raises InputError where a published model has another shape, family or kind of positions."""
        super().check_published(config, where)
        kind, place = config.get("model_type"), config.get("position_embedding_type", "absolute")
        if kind not in FIRST_POSITIONS or place != "absolute":
            shown = f"model_type is {kind}" if kind not in FIRST_POSITIONS else f"position_embedding_type is {place}"
            raise InputError(f"{where}: {shown}; take weights of BERT or RoBERTa with absolute positions")
        if self.config.first_position != FIRST_POSITIONS[kind]:
            raise InputError(
                f"{where}: {kind} counts positions from {FIRST_POSITIONS[kind]}, this encoder from "
                f"{self.config.first_position}; take a model of its kind (like: {LIKE[kind]})"
            )


FIRST_POSITIONS = {"bert": 0, "roberta": 2}  # by the model_type of a config
LIKE = {"bert": "bert-base-uncased", "roberta": "roberta-base"}


def published_layer(model: Published, own_prefix: str, prefix: str) -> dict[str, Tensor]:
    """The tensors of one BERT layer: query, key and value (d, d) become one map."""
    state = renamed(model, f"{own_prefix}.", f"{prefix}.", LAYER_NAMES)
    for kind in ("weight", "bias"):
        parts = [model.tensor(f"{prefix}.attention.self.{part}.{kind}") for part in ("query", "key", "value")]
        state[f"{own_prefix}.qkv.{kind}"] = torch.cat(parts)  # (3 d, d) or (3 d,)
    return state


def renamed(model: Published, own_prefix: str, prefix: str, names: Mapping[str, str]) -> dict[str, Tensor]:
    """Weights (n, d) and biases (n,) of modules under our names for them."""
    return {
        f"{own_prefix}{own}.{kind}": model.tensor(f"{prefix}{their}.{kind}")
        for own, their in names.items()
        for kind in ("weight", "bias")
    }


SIZES = {size: BertConfig(**shape) for size, shape in SHAPES.items()}
ARCHITECTURES = {"bert": Architecture(BertEncoder, SIZES)}
