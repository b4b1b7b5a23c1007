"""Parameter counts of a model in the frame of its paper, taken on the meta device, where weights cost nothing."""

from __future__ import annotations

import torch
from torch import nn

from hashbench.models.embeddings.base import Counts, Frame, ModelSpec, Parts, stored
from hashbench.models.embeddings.registry import build_embedding
from hashbench.models.encoders.registry import encoder_outline
from hashbench.models.objectives.classification import classification_head


def count(
    spec: ModelSpec,
    size: str = "base",
    *,
    n_classes: int | None = None,
    head: nn.Module | None = None,
    vocabulary_rows: int | None = None,
    count_generic_row: bool = True,
    deployed: bool = False,
    frame: Frame | None = None,
) -> Counts:
    """Counts in the frame of the model's paper; by default encoder, embedding and head, without those of pre-training.

    `n_classes` None takes the paper's, `head` is a trained one in place of a fresh one of so many classes,
    `vocabulary_rows` None the published vocabulary. `count_generic_row=False` leaves the ordinary-token row of
    HashFormers out of the embedding's count, as the equations of their appendix do; their table 2 has it. `deployed`
    counts what is in use after fine-tuning whatever the paper counts: encoder, embedding and head. `frame` is one of
    the spec's `other_frames`, or that of another paper.

    >>> from hashbench.models.embeddings.registry import find_model
    >>> count(find_model("hashformer-md-proj"))
    Counts(total=86146562, embedding=99072)
    """
    encoder = encoder_outline(spec.encoder.kind, size, **spec.encoder.args)
    with torch.device("meta"):
        embedding = build_embedding(spec, encoder.config.dim, vocabulary_rows=vocabulary_rows)
        outputs = spec.origin.classes if n_classes is None else n_classes
        fresh = classification_head(spec.head, encoder.config.dim, outputs)
    parts = Parts(spec, encoder, embedding, head := head or fresh)
    if frame is not None:
        return frame.counted(parts)
    if spec.origin.counted is not None and not deployed:
        return spec.origin.counted(parts)
    in_embedding = embedding.embedding_parameters()
    if not count_generic_row:
        in_embedding -= embedding.generic_row_parameters
    return Counts(sum(map(stored, (embedding, encoder, head))), in_embedding)


def with_pooler(parts: Parts) -> Counts:
    """Encoder, embedding and the dense layer in front of the classifier, which BERT calls its pooler."""
    dense = [part for name, part in parts.head.named_children() if name == "dense"]
    return Counts(sum(map(stored, (parts.encoder, parts.embedding, *dense))), parts.embedding.embedding_parameters())


# (paper, model) -> the frame of a paper that speaks of another paper's model.
OF_PAPERS = {
    ("proformer", "bert-base"): Frame("table of 30,522 pieces, twelve layers, pooler, no classifier", with_pooler),
}


def frame_of(spec: ModelSpec, paper: str) -> Frame | None:
    """The frame in which a paper counts a model; None: the model's own.

    >>> from hashbench.models.embeddings.registry import find_model
    >>> frame_of(find_model("bert-mlm"), "hashformers") is None
    True
    """
    return OF_PAPERS.get((paper, spec.name))
