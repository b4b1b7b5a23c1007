"""How a paper counts the parameters of another family's model, and the frames that any model can be counted in."""

from __future__ import annotations

from torch import nn

from hashbench.embeddings.base import Counts, Frame, ModelSpec, Parts


def bare(parts: Parts) -> Counts:
    """Encoder and embedding, without pooler and head."""
    return _counts(parts, parts.encoder, parts.embedding)


def with_pooler(parts: Parts) -> Counts:
    """Encoder, embedding and the dense layer in front of the classifier, which BERT calls its pooler."""
    dense = [part for name, part in parts.head.named_children() if name == "dense"]
    return _counts(parts, parts.encoder, parts.embedding, *dense)


def _counts(parts: Parts, *modules: nn.Module) -> Counts:
    total = sum(parameter.numel() for module in modules for parameter in module.parameters())
    return Counts(total, parts.embedding.embedding_parameters())


# (paper, model) -> the frame of a paper that speaks of another paper's model.
OF_PAPERS = {
    ("proformer", "bert-base"): Frame("table of 30,522 pieces, twelve layers, pooler, no classifier", with_pooler),
}


def frame_of(spec: ModelSpec, paper: str) -> Frame | None:
    """The frame in which a paper counts a model; None: the model's own.

    >>> from hashbench.embeddings.registry import find_model
    >>> frame_of(find_model("bert-mlm"), "hashformers") is None
    True
    """
    key = (paper, spec.name)
    return OF_PAPERS[key] if key in OF_PAPERS else None
