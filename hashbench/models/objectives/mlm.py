"""Masked language modelling (Devlin et al. 2019): corruption of type ids, and a vocabulary head that costs little.

15 % of the ordinary tokens are predicted; of these 80 % become <mask>, 10 % a random type, 10 % stay.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from hashbench.common.errors import InputError
from hashbench.common.splitmix import integers, uniforms
from hashbench.models.embeddings.base import MASK_ID, NO_LABEL, Batch, Embedding
from hashbench.models.layers import at_least_float32, draw_weights, init_weights, rounded_up
from hashbench.models.objectives.base import Head, Objective, Probed, States, mean_cross_entropy
from hashbench.models.objectives.linear_loss import linear_cross_entropy

# BERT's (Devlin et al. 2019, section 3.1).
PREDICT_PROB, MASK_SHARE, RANDOM_SHARE = 0.15, 0.8, 0.1
CHOICE, RANDOM_TYPE = 1, 2  # streams of random numbers


def corrupt(
    ids: NDArray[np.int32],
    row_ids: NDArray[np.int64],
    *,
    seed: int,
    epoch: int,
    n_types: int,
    predict_prob: float = PREDICT_PROB,
    mask_share: float = MASK_SHARE,
    random_share: float = RANDOM_SHARE,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Type ids (B, L) of rows (B,) -> (corrupted ids, labels), both (B, L) int32.

    A label is the true type id, or -100 where nothing is predicted. Negative ids are special tokens and stay.
    The result of a row depends on (seed, epoch, row id) alone.
    """
    # One number makes both choices: predicted? and how?
    draw = uniforms(seed, epoch, row_ids, ids.shape[1], CHOICE)
    predicted = (draw < predict_prob) & (ids >= 0)
    masked = predicted & (draw < predict_prob * mask_share)
    replaced = predicted & ~masked & (draw < predict_prob * (mask_share + random_share))
    random_types = integers(seed, epoch, row_ids, ids.shape[1], RANDOM_TYPE, below=n_types)
    corrupted = np.where(masked, np.int32(MASK_ID), np.where(replaced, random_types, ids))
    return corrupted, np.where(predicted, ids, np.int32(NO_LABEL))


def probe(ids: NDArray[np.int32], words: NDArray[np.int32]) -> Probed:
    """A row for each ordinary token of texts (B, L), in which it is masked and labelled.

    The sum of its log-probabilities is a text's pseudo-log-likelihood (Salazar et al. 2020, eq. 2). Later pieces of the
    same word (`words` (B, L), its number in the text) are masked too, lest long words look likely (Kauf and Ivanova
    2023, PLL-word-l2r).
    """
    texts, columns = np.nonzero(ids >= 0)  # (n,)
    of_text = words[texts]  # (n, L)
    same_word = of_text == np.take_along_axis(of_text, columns[:, None], axis=1)
    masked = same_word & (np.arange(ids.shape[1]) >= columns[:, None])
    labels = np.full(masked.shape, NO_LABEL, np.int32)
    labels[np.arange(len(texts)), columns] = ids[texts, columns]
    return Probed(texts, np.where(masked, np.int32(MASK_ID), ids[texts]), labels)


class MaskedLanguageHead(Head):
    """Linear, GELU, LayerNorm, then scores against an output matrix plus a bias for each row.

    The matrix is the embedding's, given with each call, or with `untied` one of the head's own.
    """

    def __init__(self, dim: int, n_rows: int, eps: float = 1e-5, *, untied: bool = False) -> None:
        super().__init__()
        self.dense = nn.Linear(dim, dim)
        self.norm = nn.LayerNorm(dim, eps)
        self.bias = nn.Parameter(torch.zeros(n_rows))
        # (n_rows, d)
        self.matrix = nn.Parameter(draw_weights(torch.empty(n_rows, dim))) if untied else None
        self.apply(init_weights)

    def prepared(self, batch: Batch, *, fixed_shapes: bool = False) -> Batch:
        """The batch (B, L) with the columns of its labels."""
        return with_columns(batch, fixed_shapes=fixed_shapes)

    def batch_loss(self, model: States, batch: Batch, logits: Literal["labels", "all"]) -> Tensor:
        """Loss at the labelled positions (B, L) of a batch, from their states alone unless `logits` is "all"."""
        matrix = self._matrix_of(model)
        if logits == "all":
            assert batch.labels is not None  # the loader labels
            return self.loss_everywhere(model(batch), batch.labels, matrix)
        return self.loss(*labelled_states(model, batch), matrix)

    def log_probabilities(self, model: States, batch: Batch) -> Tensor:
        """Log-probabilities (n,) of the labels (B, L) of a batch that are not -100, row by row."""
        states, labels = labelled_states(model, batch)  # (n, d), (n,)
        scores = at_least_float32(self(states, self._matrix_of(model))).log_softmax(-1)  # (n, n_rows)
        return scores.gather(1, labels[:, None])[:, 0]

    def _matrix_of(self, model: States) -> Tensor:
        """The matrix (n_rows, d) that states are scored against."""
        matrix = self.matrix if self.matrix is not None else model.embedding.output_matrix()
        assert matrix is not None  # the head was made for one
        return matrix

    def transform(self, states: Tensor) -> Tensor:
        """States of shape (..., d) -> the vectors that are multiplied with the output matrix, of the same shape."""
        return self.norm(nn.functional.gelu(self.dense(states)))

    def forward(self, states: Tensor, matrix: Tensor) -> Tensor:
        """Logits (..., n_rows) of states (..., d) against the output matrix (n_rows, d)."""
        return nn.functional.linear(self.transform(states), matrix, self.bias)

    def loss(self, states: Tensor, labels: Tensor, matrix: Tensor) -> Tensor:
        """Mean cross-entropy at labelled positions, 0 where there is none.

        states (n, d), labels (n,) rows of `matrix` (n_rows, d); scores exist for a chunk of labels at a time.
        """
        return linear_cross_entropy(self.transform(states), matrix, self.bias, labels)

    def loss_everywhere(self, states: Tensor, labels: Tensor, matrix: Tensor) -> Tensor:
        """The loss with scores at every position, labelled or not, as the timing of the papers had them.

        states (B, L, d), labels (B, L) rows of `matrix` (n_rows, d) or -100.
        """
        return mean_cross_entropy(self(states, matrix).flatten(0, 1), labels.flatten())


def labelled_states(model: States, batch: Batch) -> tuple[Tensor, Tensor]:
    """States (n, d) at the labels of a batch (B, L), row by row, and these labels (n,)."""
    if batch.columns is None:
        batch = with_columns(batch)
    assert batch.labels is not None and batch.columns is not None and batch.kept is not None
    states = model.at(batch, batch.columns, batch.kept)[: batch.n_kept]  # (n, d), without filler
    return states, batch.labels.gather(1, batch.columns).flatten().index_select(0, batch.kept[: batch.n_kept])


def with_columns(batch: Batch, *, fixed_shapes: bool = False) -> Batch:
    """The batch (B, L) with the columns of its labels, first to last (B, M), and which of the B M count, (N,).

    M is the largest number of labels in a row, at least 1, and N the number of all labels; `fixed_shapes` rounds both
    up. Rows with fewer labels are filled up with columns that do not count, and N with the first of all columns.
    """
    assert batch.labels is not None  # the loader labels
    labelled = batch.labels != NO_LABEL
    rows, columns = labelled.nonzero(as_tuple=True)  # (n,)
    counts = labelled.sum(1)  # (B,)
    number = (
        torch.arange(len(rows), device=rows.device) - (counts.cumsum(0) - counts)[rows]
    )  # (n,) of a label in its row
    most, n = max(1, int(counts.max())), len(rows)
    width = min(rounded_up(most), labelled.shape[1]) if fixed_shapes else most
    filled = torch.zeros(len(labelled), width, dtype=torch.int64, device=rows.device)  # (B, M)
    filled[rows, number] = columns
    kept = rows * width + number  # (n,)
    if fixed_shapes:
        kept = nn.functional.pad(kept, (0, rounded_up(n) - n))  # (N,)
    return replace(batch, columns=filled, kept=kept, n_kept=n)


def make_head(embedding: Embedding, config: Any) -> MaskedLanguageHead:
    """A head over an embedding's output matrix, or over a separate matrix where the embedding is untied.

    Raises InputError where the embedding has no matrix to score against.
    """
    if embedding.untied_rows is not None:
        return MaskedLanguageHead(config.dim, embedding.untied_rows, config.eps, untied=True)
    matrix = embedding.output_matrix()
    if matrix is None:
        name = type(embedding).__name__
        raise InputError(f"objective mlm: {name} has no output matrix to score against; use objective mlm_signatures")
    return MaskedLanguageHead(config.dim, matrix.shape[0], config.eps)


OBJECTIVE = Objective(
    "mlm",
    corrupt,
    "corpus (MLM)",
    make_head,
    targets="rows",
    probe=probe,
    # At base the paper's value (HashFormers, table 4). With it smaller sizes learn nothing, so they have larger ones.
    learning_rates={"tiny": 1e-3, "mini": 5e-4, "small": 3e-4, "medium": 2e-4, "base": 1e-4},
)
