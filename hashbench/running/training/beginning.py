"""Models whose word vectors begin with a spread that an experiment sets (`initial_spread`): one rule for all.

Scaled are the weights that word vectors are proportional to, which is found by doubling them: of the tensors that each
double all vectors the one with the smallest values, so that Adam's steps, as large for every weight, move vectors as
far as before; where there is none, the tensors that do it together, as the tables of a sum (of factors of a product
again the smallest). Where vectors do not follow the weights, as correlations, a fixed factor is put on them
(`Model.scales`). Adam's steps then move vectors by that factor less or more, as do those of layers before scaled ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import torch
from torch import Tensor, nn

from hashbench.common.errors import InputError
from hashbench.models.embeddings.base import Batch, Embedding
from hashbench.running.training.model import Model
from hashbench.running.training.spread import WITHOUT_POSITIONS, around_mean, position_spread, word_spread, word_vectors

MATCHED = "matched"  # begin as far apart as the position vectors do
TOLERANCE = 1e-3  # of vectors that should be proportional to weights, relative to their size


def begin(model: Model, words: Batch, wanted: float | Literal["matched"]) -> None:
    """Makes the vectors of words (B, L) of a model with fresh weights begin with a spread.

    Raises InputError where all words begin with one vector, or word vectors are the same for all words.
    """
    embedding = model.embedding
    before, target = word_spread(embedding, words), target_of(model, wanted)
    if not before > 0:
        raise InputError("initial_spread: its word vectors begin all equal, which no factor changes; leave it out")
    factor = float(f"{target / before:.4g}")  # few digits, lest it depend on the number of threads
    tensors = proportional_weights(embedding, words)
    if tensors:
        _multiply(tensors, factor)
        return
    assert model.scales is not None  # a model that is built with `initial_spread` has them
    model.scales.fill_(factor)
    if _follows_weights(embedding):
        model.scales[0] = 1.0


def target_of(model: Model, wanted: float | Literal["matched"]) -> float:
    """The spread that word vectors are to have: a number, or that of the position vectors of a model."""
    if wanted != MATCHED:
        return float(wanted)
    return position_spread(model.embedding, model.encoder) or WITHOUT_POSITIONS


@torch.no_grad()
def proportional_weights(embedding: Embedding, words: Batch) -> list[nn.Parameter]:
    """The parameters to which the vectors of words (B, L), around their mean, are proportional; empty: there are none.

    By the rule of this file: one tensor, or those that are proportional together, one for each product.
    """

    def vectors() -> Tensor:
        return around_mean(*word_vectors(embedding, words))

    start = vectors()

    def are_close(some: Tensor, others: Tensor) -> bool:
        return float((some - others).norm()) <= TOLERANCE * float(start.norm())

    parts: list[tuple[nn.Parameter, Tensor]] = []
    sizes = {parameter: float(parameter.square().mean()) for parameter in embedding.parameters()}
    for parameter in sorted((part for part, size in sizes.items() if size > 0), key=sizes.__getitem__):
        added = doubled([parameter], vectors) - start
        if are_close(added, start):
            return [parameter]
        if not are_close(added, torch.zeros_like(start)) and not any(are_close(added, other) for _, other in parts):
            parts.append((parameter, added))
    together = [parameter for parameter, _ in parts]
    return together if together and are_close(doubled(together, vectors) - start, start) else []


@torch.no_grad()
def doubled(parameters: Iterable[nn.Parameter], vectors: Callable[[], Tensor]) -> Tensor:
    """The tensor that `vectors` returns, of any shape (n, ...), while the parameters are twice as large."""
    parameters = list(parameters)
    _multiply(parameters, 2.0)  # powers of two are exact, so that the weights come back to the bit
    result = vectors()
    _multiply(parameters, 0.5)
    return result


@torch.no_grad()
def _multiply(parameters: Iterable[nn.Parameter], factor: float) -> None:
    for parameter in parameters:
        parameter.mul_(factor)


def _follows_weights(embedding: Embedding) -> bool:
    """True where the vectors of special tokens grow with the weights, as separate trained rows do."""
    rows = embedding.special_rows().detach().clone()
    more = doubled(embedding.parameters(), lambda: embedding.special_rows().detach().clone())
    return float((more - rows).norm()) > TOLERANCE * float(rows.norm())
