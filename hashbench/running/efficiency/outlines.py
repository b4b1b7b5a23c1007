"""The shape of a model as its trainings need it, counted once a model: a plan asks for every one of its runs."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from hashbench.models.embeddings.base import ModelSpec
from hashbench.models.embeddings.registry import build_embedding
from hashbench.models.encoders.registry import encoder_outline
from hashbench.models.text.tokenizers import make_tokenizer
from hashbench.running.efficiency.parameters import count
from hashbench.running.experiment.models import ResolvedModel


@dataclass(frozen=True)
class Outline:
    """What decides the memory and the time of a model's training, whatever its recipe."""

    # That a token passes; a part of one where neighbours are joined.
    layers: float
    dim: int
    feed_forward: int
    weights: int  # in use after fine-tuning, head included
    output_rows: int  # that a scored token is multiplied with; 0: none


# By the identity of the spec, whose mappings have no hash; it is kept beside, so that no other gets its id.
_known: dict[tuple[int, str, int, int | None], tuple[ModelSpec, Outline]] = {}


def outline_of(model: ResolvedModel, size: str, n_classes: int | None = None) -> Outline:
    """The outline of a model under an encoder's size; `n_classes` of its head, None: the paper's.

    A vocabulary that is learned has all rows it may have.
    """
    key = (id(model.spec), size, model.pretrain.vocabulary_size, n_classes)
    if key not in _known:
        _known[key] = (model.spec, _counted(model, size, n_classes))
    return _known[key][1]


def _counted(model: ResolvedModel, size: str, n_classes: int | None) -> Outline:
    spec = model.spec
    tokenizer = make_tokenizer(spec.text.tokenizer, **spec.text.args)
    rows = model.pretrain.vocabulary_size if tokenizer.needs_training else None
    encoder = encoder_outline(spec.encoder.kind, size, **spec.encoder.args)
    with torch.device("meta"):
        embedding = build_embedding(spec, encoder.config.dim, vocabulary_rows=rows)
    matrix = embedding.output_matrix()
    return Outline(
        layers=encoder.layer_passes,
        dim=encoder.config.dim,
        feed_forward=encoder.config.feed_forward,
        weights=count(spec, size, n_classes=n_classes, vocabulary_rows=rows, deployed=True).total,
        output_rows=embedding.untied_rows or (0 if matrix is None else len(matrix)),
    )
