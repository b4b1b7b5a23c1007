"""Masked item prediction (Superbloom, sections 2.3, 3.1 and 4): which items of a page or a text are hidden here?

15 % of the items of a segment are predicted, at least one; of these 80 % become [MASK], 10 % a random item, 10 % stay,
an item's m tokens together. The output at token j of an item predicts the item's token j, against the whole table or
against the range of map j alone.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from hashbench.common.errors import InputError, near_match
from hashbench.common.splitmix import drawn_share, integers, uniforms
from hashbench.models.coders.bloom import SPECIAL_ITEMS, Bloom
from hashbench.models.embeddings.base import MASK_ID, NO_LABEL
from hashbench.models.layers import ACTIVATIONS, at_least_float32, init_weights
from hashbench.models.objectives.base import Objective
from hashbench.models.objectives.linear_loss import linear_cross_entropy

CHOICE, KIND, RANDOM_ITEM = 21, 22, 23  # streams of random numbers
# Predictions whose sampled logits exist at a time: 256 MB beside 128K negatives.
ROWS_AT_ONCE = 512


@dataclass(frozen=True)
class EntityObjective:
    """Arguments of masked item prediction."""

    # Scores over all rows of the table, or over the range of the token's map.
    softmax: Literal["all", "own"] = "all"
    negatives: int = 0  # rows drawn for sampled softmax; 0: full softmax
    # Subtract the log of a row's expected count from its sampled logit.
    correction: bool = True
    # Dense layer, activation and LayerNorm before the output, as BERT has them.
    transform: bool = True
    activation: Literal["relu", "gelu"] = "relu"  # of the transform
    predict_share: float = 0.15
    mask_share: float = 0.8
    random_share: float = 0.1

    def __post_init__(self) -> None:
        if self.softmax not in ("all", "own") or self.activation not in ACTIVATIONS:
            values = f"softmax {self.softmax!r}, activation {self.activation!r}"
            raise InputError(f"objective entities: {values}; softmax is all or own, activation relu or gelu")
        if not isinstance(self.negatives, int) or isinstance(self.negatives, bool) or self.negatives < 0:
            raise InputError(f"objective entities: negatives {self.negatives!r}; give a whole number, 0 for none")
        if self.negatives and self.softmax == "own":
            raise InputError("objective entities: negatives are drawn from the whole table; write softmax: all")
        for name in ("correction", "transform"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"objective entities: {name} must be true or false, not {getattr(self, name)!r}")
        for name in ("predict_share", "mask_share", "random_share"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise InputError(f"objective entities: {name} must be a number from 0 to 1, not {value!r}")
        if self.mask_share + self.random_share > 1:
            raise InputError("objective entities: mask_share and random_share are more than 1 together; lower one")


def entity_objective(arguments: Mapping[str, object]) -> EntityObjective:
    """The objective of these arguments. Raises InputError for an unknown name or an impossible value."""
    arguments_known = list(inspect.signature(EntityObjective).parameters)
    for name in arguments:
        if name not in arguments_known:
            hint = f"{near_match(name, arguments_known)}; arguments: {', '.join(arguments_known)}"
            raise InputError(f"objective entities: unknown argument {name!r}{hint}")
    # Values are checked by the constructor.
    return EntityObjective(**arguments)  # type: ignore[arg-type]


def corrupt(
    ids: NDArray[np.int32],
    row_ids: NDArray[np.int64],
    *,
    seed: int,
    epoch: int,
    n_items: int,
    objective: EntityObjective,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Item ids (B, L) of rows (B,) -> (corrupted ids, labels), both (B, L) int32.

    max(1, round(0.15 n)) of a row's n items are predicted, drawn without replacement. A label is the true item, -100
    where nothing is predicted. Negative ids are special and stay. A row's result depends on (seed, epoch, row) alone.
    """
    length = ids.shape[1]
    share = objective.predict_share
    predicted = drawn_share(ids >= 0, share, seed=seed, epoch=epoch, row_ids=row_ids, stream=CHOICE)
    kind = uniforms(seed, epoch, row_ids, length, KIND)
    masked = predicted & (kind < objective.mask_share)
    replaced = predicted & ~masked & (kind < objective.mask_share + objective.random_share)
    random_items = integers(seed, epoch, row_ids, length, RANDOM_ITEM, below=n_items)
    corrupted = np.where(masked, np.int32(MASK_ID), np.where(replaced, random_items, ids))
    return corrupted, np.where(predicted, ids, np.int32(NO_LABEL))


class EntityHead(nn.Module):
    """A head that scores states against the embedding's table: transform, product, a bias for each row."""

    def __init__(
        self,
        dim: int,
        n_rows: int,
        maps: int,
        objective: EntityObjective,
        *,
        eps: float = 1e-12,
        special_items: int = SPECIAL_ITEMS,
        next_sentence: bool = False,
        row_counts: NDArray[np.int64] | None = None,
    ) -> None:
        """`row_counts` (V,): how often each row occurs in training; negatives are drawn by the rank of this count.

        `next_sentence`: with a pooler and a head that tell whether a second segment followed the first.
        """
        super().__init__()
        self.objective, self.maps = objective, maps
        self.n_buckets = n_rows // maps - special_items
        self.activation = ACTIVATIONS[objective.activation]
        self.dense = nn.Linear(dim, dim) if objective.transform else None
        self.norm = nn.LayerNorm(dim, eps) if objective.transform else None
        self.bias = nn.Parameter(torch.zeros(n_rows))  # (V,)
        self.next_sentence = NextSentence(dim) if next_sentence else None
        counts = np.zeros(n_rows, np.int64) if row_counts is None else row_counts
        by_rank = np.argsort(-counts, kind="stable")  # (V,)
        self.by_rank: Tensor
        self.rank_of: Tensor
        self.register_buffer("by_rank", torch.from_numpy(by_rank), persistent=False)
        self.register_buffer("rank_of", torch.from_numpy(np.argsort(by_rank)), persistent=False)
        self.apply(init_weights)

    def transform(self, states: Tensor) -> Tensor:
        """States of shape (..., d) -> the vectors that are multiplied with the table, of the same shape."""
        if self.dense is None or self.norm is None:
            return states
        transformed: Tensor = self.norm(self.activation(self.dense(states)))
        return transformed

    def log_probabilities(self, states: Tensor, matrix: Tensor) -> Tensor:
        """Log-probabilities of each map's buckets: states of items (Q, m, d), table (V, d) -> (Q, m, NB) float32."""
        hidden = self.transform(states)  # (Q, m, d)
        scores = [
            nn.functional.linear(hidden[:, j], matrix[self._range(j)], self.bias[self._range(j)])
            for j in range(self.maps)
        ]
        return torch.stack(scores, 1).float().log_softmax(-1)  # (Q, m, NB)

    def loss(self, states: Tensor, labels: Tensor, matrix: Tensor) -> Tensor:
        """Mean cross-entropy over all tokens of the predicted items, 0 where there is none.

        states (K, m, d) and rows of the table (K, m) of the predicted items, table (V, d).
        """
        hidden = self.transform(states)  # (K, m, d)
        if self.objective.softmax == "own":
            parts = [
                linear_cross_entropy(hidden[:, j], matrix[span], self.bias[span], labels[:, j] - span.start)
                for j, span in enumerate(map(self._range, range(self.maps)))
            ]
            return torch.stack(parts).mean()
        hidden, labels = hidden.flatten(0, 1), labels.flatten()  # (K m, d), (K m,)
        if 0 < self.objective.negatives < len(matrix):
            return self._sampled(hidden, labels, matrix)
        return linear_cross_entropy(hidden, matrix, self.bias, labels)

    def _range(self, j: int) -> slice:
        """The slice of the table's rows that belong to map j."""
        return slice(j * self.n_buckets, (j + 1) * self.n_buckets)

    def _sampled(self, hidden: Tensor, labels: Tensor, matrix: Tensor) -> Tensor:
        """Mean cross-entropy among the true row and drawn ones: hidden (K, d), labels (K,), table (V, d) -> scalar."""
        n_rows = len(matrix)
        ranks, tries = draw_log_uniform(n_rows, self.objective.negatives, device=matrix.device)
        drawn = self.by_rank[ranks]  # (n,)
        rows, bias = matrix[drawn], self.bias[drawn]
        true_bias = self.bias[labels]
        if self.objective.correction:
            bias = bias - expected_count(ranks, n_rows, tries).log()
            true_bias = true_bias - expected_count(self.rank_of[labels], n_rows, tries).log()
        total = hidden.new_zeros((), dtype=torch.float32)
        for start in range(0, len(labels), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            scored = (hidden[part] * matrix[labels[part]]).sum(-1) + true_bias[part]
            accidental = labels[part, None] == drawn
            total = total + checkpoint(_sampled_sum, hidden[part], rows, bias, scored, accidental, use_reentrant=False)
        return total / max(len(labels), 1)


def _sampled_sum(hidden: Tensor, rows: Tensor, bias: Tensor, scored: Tensor, accidental: Tensor) -> Tensor:
    """Sum of the losses of `hidden` (k, d) against drawn rows (n, d) with their bias (n,).

    `scored` (k,) are the logits of the true rows; `accidental` (k, n): the true row was drawn.
    """
    # (k, n)
    others = nn.functional.linear(hidden, rows, bias).float().masked_fill(accidental, -torch.inf)
    together = torch.cat([scored.float()[:, None], others], 1).logsumexp(1)
    return (together - scored.float()).sum()


class NextSentence(nn.Module):
    """Head for whether segment 1 followed segment 0: BERT's pooler on the first token, then two scores."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.pooler = nn.Linear(dim, dim)
        self.scores = nn.Linear(dim, 2)

    def loss(self, first: Tensor, follows: Tensor) -> Tensor:
        """Mean cross-entropy: states (B, d) of the first token of [CLS], true answers (B,) -> scalar."""
        scores = self.scores(torch.tanh(self.pooler(first)))  # (B, 2)
        return nn.functional.cross_entropy(at_least_float32(scores), follows)


def draw_log_uniform(n_rows: int, wanted: int, *, device: torch.device | str = "cpu") -> tuple[Tensor, int]:
    """`wanted` different random ranks (n,) below `n_rows`, and the number of draws with replacement that it took.

    P(rank) = log((rank + 2) / (rank + 1)) / log(n_rows + 1). Numbers come from torch's generator.
    """
    draws = torch.empty(0, dtype=torch.long, device=device)
    while True:
        u = torch.rand(2 * wanted, device=device, dtype=torch.float64)
        more = torch.exp(u * math.log(n_rows + 1)).long() - 1
        draws = torch.cat([draws, more.clamp(0, n_rows - 1)])
        distinct, which = draws.unique(return_inverse=True)
        if len(distinct) < wanted:
            continue
        order = torch.arange(len(draws), device=device)
        # Where each came first.
        first = torch.full_like(distinct, len(draws)).scatter_reduce(0, which, order, "amin")
        chosen = first.argsort()[:wanted]
        return distinct[chosen], int(first[chosen[-1]]) + 1


def expected_count(ranks: Tensor, n_rows: int, tries: int) -> Tensor:
    """Probability that a rank is among those drawn in so many tries, 1 - (1 - P)^tries: (n,) -> (n,) float32."""
    probability = torch.log1p(1.0 / (ranks.double() + 1)) / math.log(n_rows + 1)
    return -torch.expm1(tries * torch.log1p(-probability)).float()


OBJECTIVE = Objective("entities", corrupt, "page links", reads_items=True, coder=Bloom.name, check=entity_objective)
