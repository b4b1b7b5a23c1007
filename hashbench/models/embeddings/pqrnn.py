"""PRADO and pQRNN: ternary features of words, no table, and encoders of a few hundred kilobytes.

PRADO (Kaliamoorthi, Ravi and Kozareva, EMNLP 2019): n-grams weighed by attention; its two public configurations, of
GoEmotions (28 classes) and Civil Comments (7), have 111,316 and 108,565 parameters. pQRNN (Kaliamoorthi, Siddhant, Li
and Johnson 2021): a stack of bidirectional QRNNs and attention pooling; no configuration of it is public. `pqrnn` has
the sizes that its paper is cited with, `pqrnn-tiny` is near the tiny encoder's size.

Counting: batch normalisations that are left out here count as in the released code, two parameters a value that they
scale: the outputs, and pQRNN's one attention logit, which has a bias there too.

Differs from the released code: the dense layer is computed once for each distinct word, so it has no dropout of single
tokens but the encoder's; see encoders/prado.py and encoders/qrnn.py.

`TernaryDense` is their input (arXiv 2101.08890), and that of `ternary-dense` with the encoder of an experiment:

x = features -1, 0 and 1 of the word (coders/ternary_projection.py); e = ReLU(norm(W x + b)). There is no table: special
tokens are features of their names, <BOS> and <EOS> for the ends of a text, and padding is 0. Weights begin as Glorot's
uniform, biases at 0, as in the released code.

Differs from the released code: LayerNorm in place of a BatchNorm over tokens, since here a vector is made once for each
distinct type. Weights and activations are not quantised in training.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from hashbench.common.errors import InputError
from hashbench.models.coders.ternary_projection import BLOCK_BYTES, BLOCK_FEATURES, FEATURES, TernaryProjection
from hashbench.models.embeddings.base import (
    END,
    PAD,
    SPECIALS,
    START,
    CodeSpec,
    Counts,
    Embedding,
    EmbeddingSpec,
    EncoderSpec,
    Frame,
    FreeSize,
    HeadSpec,
    ModelSpec,
    OriginSpec,
    Parts,
    TextSpec,
    TrainingSpec,
    stored,
)
from hashbench.models.embeddings.proformer import SGNN_RECIPE, WORDS_ONLY
from hashbench.models.layers import init_weights

GOEMOTIONS, CIVIL_COMMENTS = 28, 7  # classes
# Words of a text in the public configurations. The rest of the recipe is chosen here; the public one has 100,000 steps.
RECIPE = {**SGNN_RECIPE, "max_length": 128}


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
    codes = torch.empty(len(SPECIALS), BLOCK_BYTES * -(-features // BLOCK_FEATURES), dtype=torch.uint8)
    if not codes.is_meta:
        names = {**dict(enumerate(SPECIALS)), START: BEGIN_NAME, END: END_NAME}
        codes.copy_(torch.from_numpy(TernaryProjection(**hashing).encode_few(list(names.values()))))
        codes[PAD] = 0
    return codes


def as_released(parts: Parts, classes: int | None = None) -> Counts:
    """Parameters of all parts with `classes` outputs (None: the head's), two more an output, three an attention logit.

    These are the batch normalisations of the released code, and the logit's bias.
    """
    out: Any = parts.head.get_submodule("out")
    outputs = classes or out.out_features
    total = sum(map(stored, (parts.embedding, parts.encoder, parts.head)))
    total += (outputs - out.out_features) * (out.in_features + 1) + 2 * outputs
    if parts.spec.head.pooling == "attention":
        total += 3
    return Counts(total, parts.embedding.embedding_parameters())


def _pqrnn(name: str, features: int, encoder: dict[str, Any], summary: str) -> ModelSpec:
    return ModelSpec(
        name=name,
        text=TextSpec("spaces", template=WORDS_ONLY),
        code=CodeSpec("ternary-projection", {"features": features}),
        embedding=EmbeddingSpec(TernaryDense),
        encoder=EncoderSpec("qrnn", {"dropout": 0.0, **encoder}, small={"layers": 1, "dim": 16, "state": 8}),
        head=HeadSpec("attention", dense=False),
        training=TrainingSpec(objective=None, finetune=RECIPE),
        origin=OriginSpec(
            frame="2-class model with the batch normalisations of the released code; sizes are not public",
            counted=as_released,
        ),
        free_size=FreeSize("code", "features"),
        groups=("pqrnns",),
        summary=summary,
    )


MODELS = [
    ModelSpec(
        name="prado",
        text=TextSpec("spaces", template=WORDS_ONLY),
        code=CodeSpec("ternary-projection", {"features": 512}),
        embedding=EmbeddingSpec(TernaryDense),
        encoder=EncoderSpec(
            "prado",
            {"dim": 128, "bigrams": 64, "trigrams": 64, "entry_dropout": 0.5},
            small={"dim": 16, "bigrams": 8, "trigrams": 8},
        ),
        head=HeadSpec("mean", dense=False),
        training=TrainingSpec(objective=None, finetune=RECIPE),
        origin=OriginSpec(
            frame="28-class model (GoEmotions) with the batch normalisation of the released code",
            counted=as_released,
            classes=GOEMOTIONS,
            other_frames=(
                Frame("7-class model (Civil Comments), as above", partial(as_released, classes=CIVIL_COMMENTS)),
            ),
        ),
        free_size=FreeSize("code", "features"),
        groups=("pqrnns",),
        summary="words as 512 ternary features, bigrams and trigrams weighed by attention; trained on the task alone",
    ),
    _pqrnn(
        "pqrnn",
        1_024,
        {"layers": 4, "dim": 256, "state": 128, "kernel": 2, "zoneout": 0.5},
        "words as 1,024 ternary features, four bidirectional QRNNs, attention pooling; sizes are not public",
    ),
    _pqrnn(
        "pqrnn-tiny",
        512,
        {"layers": 2, "dim": 128, "state": 64, "kernel": 3, "zoneout": 0.5},
        "words as 512 ternary features, two bidirectional QRNNs, attention pooling; trained on the task alone",
    ),
    ModelSpec(
        name="ternary-dense",
        code=CodeSpec("ternary-projection", {"features": FEATURES}, small={"features": 40}),
        embedding=EmbeddingSpec(TernaryDense),
        free_size=FreeSize("code", "features"),
        groups=("ternary",),
        summary="512 ternary features of a hash of the whole word, and one dense layer",
    ),
]
