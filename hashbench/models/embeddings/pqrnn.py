"""PRADO and pQRNN: ternary features of words, no table, and encoders of a few hundred kilobytes.

PRADO (Kaliamoorthi, Ravi and Kozareva, EMNLP 2019): n-grams weighed by attention; its two public configurations, of
GoEmotions (28 classes) and Civil Comments (7), have 111,316 and 108,565 parameters. pQRNN (Kaliamoorthi, Siddhant, Li
and Johnson 2021): a stack of bidirectional QRNNs and attention pooling; no configuration of it is public. `pqrnn` has
the sizes that its paper is cited with, `pqrnn-tiny` is near the tiny encoder's size.

Counting: batch normalisations that are left out here count as in the released code, two parameters a value that they
scale: the outputs, and pQRNN's one attention logit, which has a bias there too.

Differs from the released code: the dense layer is computed once for each distinct word, so it has no dropout of single
tokens but that of the encoder; see encoders/prado.py and encoders/qrnn.py.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from hashbench.models.embeddings.base import (
    CodeSpec,
    Counts,
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
from hashbench.models.embeddings.ternary import TernaryDense

GOEMOTIONS, CIVIL_COMMENTS = 28, 7  # classes
# Words of a text in the public configurations. The rest of the recipe is chosen here; the public one has 100,000 steps.
RECIPE = {**SGNN_RECIPE, "max_length": 128}


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
]
