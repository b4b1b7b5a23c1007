"""Ternary features of a word and one dense layer, the input of PRADO and pQRNN (EMNLP 2019; arXiv 2101.08890).

x = features -1, 0 and 1 of the word (coders/ternary_projection.py); e = ReLU(norm(W x + b)). There is no table: special
tokens are features of their names, <BOS> and <EOS> for the ends of a text, and padding is 0. Weights begin as Glorot's
uniform, biases at 0, as in the released code.

Differs from the released code: LayerNorm in place of a BatchNorm over tokens, since here a vector is made once for each
distinct type. Weights and activations are not quantised in training.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from hashbench.common.errors import InputError
from hashbench.models.coders.ternary_projection import BLOCK, BLOCK_BYTES, FEATURES, TernaryProjection
from hashbench.models.embeddings.base import (
    END,
    PAD,
    SPECIALS,
    START,
    CodeSpec,
    Embedding,
    EmbeddingSpec,
    FreeSize,
    ModelSpec,
)
from hashbench.models.layers import init_weights

BEGIN_NAME, END_NAME = "<BOS>", "<EOS>"  # of the released code


class TernaryDense(Embedding):
    """Vectors of words by a dense layer over ternary features, of the encoder's width or of `bottleneck` units."""

    def __init__(self, dim: int, bottleneck: int | None = None, hashing: Mapping[str, Any] | None = None) -> None:
        """`bottleneck`: units of the dense layer, which a linear layer maps to d; None: d, and no second layer.

        `hashing`: the coder's arguments.
        """
        super().__init__()
        if bottleneck is not None and (
            isinstance(bottleneck, bool) or not isinstance(bottleneck, int) or bottleneck < 1
        ):
            raise InputError(f"embedding: bottleneck {bottleneck!r} is no whole number from 1 on; correct it")
        width = bottleneck or dim
        # Without the coder, which a folder for other libraries has not: there its codes are among the weights.
        self.features: int = hashing["features"] if hashing and "features" in hashing else FEATURES
        self.dense, self.norm = nn.Linear(self.features, width), nn.LayerNorm(width)
        nn.init.xavier_uniform_(self.dense.weight)
        nn.init.zeros_(self.dense.bias)
        self.last = nn.Identity() if bottleneck is None else nn.Linear(bottleneck, dim)
        init_weights(self.last)
        self.table: Tensor
        self.register_buffer("table", four_features(), persistent=False)  # (256, 4)
        self.special_codes: Tensor
        self.register_buffer(
            "special_codes", special_codes(self.features, hashing or {}), persistent=False
        )  # (5, c) uint8

    def embed_types(self, codes: Tensor) -> Tensor:
        """Codes (n, c) -> vectors (n, d)."""
        features = nn.functional.embedding(codes.int(), self.table).flatten(1)[:, : self.features]  # (n, F)
        vectors: Tensor = self.last(torch.relu(self.norm(self.dense(features.to(self.dense.weight.dtype)))))
        return vectors

    def special_rows(self) -> Tensor:
        """Vectors of the special tokens (s, d), s = 5, hashed as types are."""
        return self.embed_types(self.special_codes)


def four_features() -> Tensor:
    """The four features of each byte of a code (256, 4); a look-up, which every exported graph has."""
    table = torch.empty(256, 4)
    if not table.is_meta:
        table.copy_(torch.arange(256)[:, None] >> torch.arange(0, 8, 2) & 1)
        table -= torch.arange(256)[:, None] >> torch.arange(1, 8, 2) & 1
    return table


def special_codes(features: int, hashing: Mapping[str, Any]) -> Tensor:
    """Codes of the special tokens (5, c) uint8 by a coder with these arguments."""
    codes = torch.empty(len(SPECIALS), BLOCK_BYTES * -(-features // BLOCK), dtype=torch.uint8)
    if not codes.is_meta:
        names = {**dict(enumerate(SPECIALS)), START: BEGIN_NAME, END: END_NAME}
        codes.copy_(torch.from_numpy(TernaryProjection(**hashing).encode_few(list(names.values()))))
        codes[PAD] = 0
    return codes


MODELS = [
    ModelSpec(
        name="ternary-dense",
        code=CodeSpec("ternary-projection", {"features": FEATURES}, small={"features": 40}),
        embedding=EmbeddingSpec(TernaryDense),
        free_size=FreeSize("code", "features"),
        groups=("ternary",),
        summary="512 ternary features of a hash of the whole word, and one dense layer",
    )
]
