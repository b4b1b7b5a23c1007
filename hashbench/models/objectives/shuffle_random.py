"""Shuffle + Random (Yamaguchi et al. 2021; used by HashFormers): which tokens were shuffled, which are random?

Labels: 0 intact, 1 shuffled, 2 random. The objective corrupts type ids and knows no embedding, so every model of a
tokenizer sees the same corruption.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from hashbench.common.splitmix import integers, random_bits, uniforms
from hashbench.models.embeddings.base import NO_LABEL, Batch, Embedding
from hashbench.models.layers import Dropout, at_least_float32, init_weights
from hashbench.models.objectives.base import Head, Objective, Probed, States, mean_cross_entropy

INTACT, SHUFFLED, RANDOM = range(3)
# The released code of Yamaguchi et al.; not printed in the paper.
SHUFFLE_PROB = RANDOM_PROB = 0.10
CHOICE, RANDOM_TYPE, ORDER = 11, 12, 13  # streams of random numbers


def corrupt(
    ids: NDArray[np.int32],
    row_ids: NDArray[np.int64],
    *,
    seed: int,
    epoch: int,
    n_types: int,
    shuffle_prob: float = SHUFFLE_PROB,
    random_prob: float = RANDOM_PROB,
    released: bool = False,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Type ids (B, L) of rows (B,) -> (corrupted ids, labels 0, 1, 2 or -100), both (B, L) int32.

    An ordinary token is shuffled with `shuffle_prob`, one that is not is random with `random_prob`. Negative ids are
    special tokens: they stay and have no label. The result of a row depends on (seed, epoch, row id) alone.
    Differs from the released code: a permutation for each row over its ordinary tokens, and a token that did not
    change keeps label 0. `released` takes the code's way: one permutation for the batch over the whole padded length,
    a token whose source is special keeps its value, and every chosen token has the label of its choice.
    """
    length = ids.shape[1]
    ordinary = ids >= 0
    draw = uniforms(seed, epoch, row_ids, length, CHOICE)
    shuffled = ordinary & (draw < shuffle_prob)
    is_random = ordinary & ~shuffled & (draw < shuffle_prob + (1.0 - shuffle_prob) * random_prob)
    keys = random_bits(seed, epoch, row_ids[:1] if released else row_ids, length, ORDER)
    sources = batch_permutation(keys, ids) if released else row_permutations(keys, ordinary)
    moved = np.take_along_axis(ids, sources, axis=1)
    if released:
        moved = np.where(moved < 0, ids, moved)
    random_types = integers(seed, epoch, row_ids, length, RANDOM_TYPE, below=n_types)
    corrupted = np.where(shuffled, moved, np.where(is_random, random_types, ids))
    labels = np.where(ordinary, shuffled * SHUFFLED + is_random * RANDOM, NO_LABEL).astype(np.int32)
    if not released:
        labels[ordinary & (corrupted == ids)] = INTACT
    return corrupted, labels


def probe(ids: NDArray[np.int32], words: NDArray[np.int32]) -> Probed:
    """The texts (B, L) themselves, with the label intact at every ordinary token.

    The sum of its log-probabilities is a score of acceptability, and no likelihood of the text.
    """
    return Probed(np.arange(len(ids)), ids, np.where(ids >= 0, INTACT, NO_LABEL).astype(np.int32))


def row_permutations(keys: NDArray[np.uint64], ordinary: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each row a permutation of its ordinary columns; the other columns point to themselves.

    keys (B, L), ordinary (B, L) -> (B, L).
    """
    columns = np.broadcast_to(np.arange(keys.shape[1]), keys.shape)
    by_key = np.argsort(np.where(ordinary, keys, np.uint64(2**64 - 1)), axis=1, kind="stable")
    # Ordinary columns first, from left to right.
    by_place = np.argsort(~ordinary, axis=1, kind="stable")
    sources = np.empty(keys.shape, dtype=np.int64)
    # The k-th ordinary column takes the one with the k-th key.
    np.put_along_axis(sources, by_place, by_key, axis=1)
    return np.where(ordinary, sources, columns)


def batch_permutation(keys: NDArray[np.uint64], ids: NDArray[np.int32]) -> NDArray[np.int64]:
    """One permutation of all columns for every row, as the released code draws it.

    keys (1, L), ids (B, L) -> (B, L).
    """
    return np.broadcast_to(np.argsort(keys, axis=1, kind="stable"), ids.shape)


class TokenHead(Head):
    """Dropout and a Linear to the three labels of each token."""

    def __init__(self, dim: int, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.out = nn.Linear(dim, 3)
        self.apply(init_weights)

    def batch_loss(self, model: States, batch: Batch, logits: Literal["labels", "all"]) -> Tensor:
        """Loss of all ordinary tokens of a batch under its labels (B, L).

        Every position has a label, so `logits` changes nothing.
        """
        assert batch.labels is not None  # the loader of a pre-training always labels
        return self.loss(model(batch), batch.labels)

    def separation(self, model: States, batch: Batch) -> tuple[Tensor, Tensor]:
        """By how much shuffled is likelier than intact (n,), and where it is true (n,), of tokens that are either.

        Random tokens are found by how rare they are; shuffled ones by the order of words alone, which is learned late.
        """
        assert batch.labels is not None
        either = (batch.labels == INTACT) | (batch.labels == SHUFFLED)  # (B, L)
        logits = self(model(batch))[either]  # (n, 3)
        return logits[:, SHUFFLED] - logits[:, INTACT], batch.labels[either] == SHUFFLED

    def log_probabilities(self, model: States, batch: Batch) -> Tensor:
        """Log-probabilities (n,) of the labels (B, L) of a batch that are not -100, row by row."""
        assert batch.labels is not None
        labelled = batch.labels != NO_LABEL
        scores = at_least_float32(self(model(batch))[labelled]).log_softmax(-1)  # (n, 3)
        return scores.gather(1, batch.labels[labelled][:, None])[:, 0]

    def forward(self, states: Tensor) -> Tensor:
        """States (B, L, d) -> logits (B, L, 3)."""
        logits: Tensor = self.out(self.dropout(states))
        return logits

    def loss(self, states: Tensor, labels: Tensor) -> Tensor:
        """Mean cross-entropy without class weights over labels (B, L) that are not -100; 0 where there is none."""
        return mean_cross_entropy(self(states).flatten(0, 1), labels.flatten())


def make_head(embedding: Embedding, config: Any) -> TokenHead:
    """A head for an encoder of this config, whatever the embedding."""
    return TokenHead(config.dim, config.dropout)


OBJECTIVE = Objective(
    "shuffle_random",
    corrupt,
    "corpus (shuffle + random)",
    make_head,
    probe=probe,
    # At base the paper's value (HashFormers, table 4). With it smaller sizes learn nothing, so they have larger ones.
    learning_rates={"tiny": 1e-3, "mini": 5e-4, "small": 2e-4, "medium": 1e-4, "base": 5e-5},
)
