"""The spread of word vectors at the start, beside the position vectors' spread, and models that begin with another one.

Spread: the standard deviation of the vectors of WORDS frequent English words around their mean, over all coordinates,
sqrt(mean_wi (e_wi - mean_w e_wi)^2). What all words share, such as a bias, is no part of it. Each word is one text
with the model's special tokens. Of a word of several tokens the vectors of these tokens count, each with an equal
part of the word's weight, since an encoder reads tokens. Dropout is off.

A model may begin with a spread that an experiment sets (`initial_spread`), by one rule for all. Scaled are the weights
that word vectors are proportional to, which is found by doubling them: of the tensors that each double all vectors the
one with the smallest values, so that Adam's steps, as large for every weight, move vectors as far as before; where
there is none, the tensors that do it together, as the tables of a sum (of factors of a product again the smallest).
Where vectors do not follow the weights, as correlations, a fixed factor is put on them (`Model.scales`). Adam's steps
then move vectors by that factor less or more, and so do steps of layers before scaled ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from hashbench.common.errors import InputError
from hashbench.data.sources.batching import Collator, encode_rows
from hashbench.models.coders.base import Coder
from hashbench.models.embeddings.base import SPECIALS, Batch, Embedding, Template
from hashbench.models.encoders.base import Encoder
from hashbench.models.layers import INIT_STD
from hashbench.models.text.types import DictInterner
from hashbench.running.training.model import Model

WORDS = 1_000
MAX_TOKENS = 64  # of a word: no word of the list has as many
WITHOUT_POSITIONS = INIT_STD  # in place of the position vectors' spread, where no position vectors are learned


@cache
def frequent_words() -> tuple[str, ...]:
    """The WORDS words whose vectors are measured, from frequent to rare.

    They are the most frequent runs of the letters a to z in 4,589 articles of the 2007 Wikipedia Selection for Schools,
    16,593 articles of English Wikipedia of 2013 and 44 books of Project Gutenberg, 24 million words in lower case; of
    single letters only a and i.
    """
    return tuple(files(__package__).joinpath("frequent_words.txt").read_text("ascii").split())


def batch_of_words(
    tokenize: Callable[[str], list[str]], coder: Coder, template: Template, words: Sequence[str] | None = None
) -> Batch:
    """A batch (B, L) whose rows are the words, each as one text; None: `frequent_words`."""
    texts = list(frequent_words() if words is None else words)
    interner = DictInterner(tokenize)  # needs no compiled code
    as_ids = interner.add(texts)
    types, remap = interner.finish()
    rows, every = encode_rows([as_ids.remapped(remap)], template, MAX_TOKENS), np.arange(len(texts))
    collate = Collator(coder.encode_types(types), template)
    return collate(rows.padded(every, collate.pad, multiple=template.pad_multiple), row_ids=every)


def batch_of_codes(codes: np.ndarray) -> Batch:
    """A batch (n, 1) of items with codes (n, c), each alone in its row: the words of a model that reads items."""
    positions = len(SPECIALS) + torch.arange(len(codes))[:, None]
    return Batch(torch.from_numpy(codes), positions, torch.ones_like(positions, dtype=torch.bool), padded=False)


@torch.no_grad()
def word_vectors(part: Embedding | Model, batch: Batch) -> tuple[Tensor, Tensor]:
    """The vectors (n, d) of the tokens of words, and their weights (n,), which sum to 1.

    Vectors of an embedding, or the vectors that the encoder of a model gets.
    """
    embedding, vectors_of = (part, part) if isinstance(part, Embedding) else (part.embedding, part.vectors)
    training = embedding.training
    embedding.eval()
    vectors = vectors_of(batch)  # (B, L m, d)
    embedding.train(training)
    places = embedding.vectors_mask(batch.mask & (batch.positions >= len(SPECIALS)))  # (B, L m)
    weights = places / places.sum(1, keepdim=True).clamp(min=1)
    return vectors[places], weights[places] / places.any(1).sum()


def around_mean(vectors: Tensor, weights: Tensor) -> Tensor:
    """Vectors (n, d) minus their mean with weights (n,), in float64."""
    wide = vectors.double()
    return wide - weights.double() @ wide


def spread_of(vectors: Tensor, weights: Tensor) -> float:
    """The spread of vectors (n, d) with weights (n,) that sum to 1.

    >>> round(spread_of(torch.tensor([[1.0, 5.0], [3.0, 5.0]]), torch.tensor([0.5, 0.5])) ** 2, 6)
    0.5
    """
    squares = around_mean(vectors, weights).square().mean(1)  # (n,)
    return float((weights.double() @ squares).sqrt())


def word_spread(part: Embedding | Model, batch: Batch) -> float:
    """The spread of the vectors of the words of a batch (B, L), of an embedding or of a model."""
    return spread_of(*word_vectors(part, batch))


def position_spread(*parts: Embedding | Encoder) -> float | None:
    """The spread of the position vectors that one of the parts of a model learns; None where there are none."""
    for part in parts:
        vectors = part.position_vectors()
        if vectors is not None:
            return spread_of(vectors.detach(), vectors.new_full((len(vectors),), 1 / len(vectors)))
    return None


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
    """The spread that word vectors are to have: a number, or the spread of a model's position vectors."""
    if wanted != MATCHED:
        return float(wanted)
    return position_spread(model.embedding, model.encoder) or WITHOUT_POSITIONS


@torch.no_grad()
def proportional_weights(embedding: Embedding, words: Batch) -> list[nn.Parameter]:
    """The parameters to which the vectors of words (B, L), around their mean, are proportional; empty: there are none.

    By the rule of this file: one tensor, or several that are proportional together, one for each product.
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
