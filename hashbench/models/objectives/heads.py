"""The heads that learn a task: of whole inputs (one class, several labels, a value), and of the tags of words.

Of whole inputs (HashFormers, released code): first token, dropout, Linear d to d, tanh, dropout, Linear to the outputs;
nothing is shared with pre-training. The token, or the maximum or mean over tokens or their mean by attention, whether
there is a dense layer, and the dropout before it (which the poolers of BERT and CANINE do not have), are the model's
choice.

Of tags: a linear map of the state at each word's first token (Devlin et al. 2019, section 5.3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import torch
from torch import Tensor, nn

from hashbench.common.errors import InputError
from hashbench.models.embeddings.base import Batch, HeadSpec
from hashbench.models.encoders.base import Encoder
from hashbench.models.layers import Dropout, at_least_float32, init_weights, shares_of_tokens
from hashbench.models.names import Pooling
from hashbench.models.objectives.base import States, TaskHead
from hashbench.models.text.tags import NO_WORD, TagScheme


class ClassificationHead(TaskHead):
    """Scores of a whole input; one output means regression."""

    name = "classification"
    reads_texts = True

    def __init__(
        self,
        dim: int,
        n_outputs: int,
        dropout: float = 0.1,
        pooling: Pooling = "first",
        *,
        dense: bool = True,
        dense_dropout: bool = True,
    ) -> None:
        super().__init__()
        self.pooling, self.dense_dropout = pooling, dense_dropout
        self.dropout = Dropout(dropout)
        self.attention = nn.Linear(dim, 1, bias=False) if pooling == "attention" else None
        self.dense = nn.Linear(dim, dim) if dense else None
        self.out = nn.Linear(dim, n_outputs)
        self.apply(init_weights)

    @classmethod
    def for_task(
        cls, spec: HeadSpec, encoder: Encoder, *, n_outputs: int, label_names: Sequence[str], n_texts: int = 1
    ) -> Self:
        """A fresh head as a model's spec has it, over the states of an encoder."""
        shape = (encoder.text_width(n_texts), n_outputs, encoder.config.dropout, spec.pooling)
        return cls(*shape, dense=spec.dense, dense_dropout=spec.dense_dropout)

    def outputs(self, model: States, batch: Batch) -> Tensor:
        """Logits or values (B, n_outputs) of a batch (B, L)."""
        outputs: Tensor = self(*model.for_head(batch, self.pooling))
        return outputs

    def batch_loss(self, model: States, batch: Batch) -> Tensor:
        """The loss, of shape (), of a batch (B, L) with labels (B,)."""
        assert batch.labels is not None  # the loader of a task always labels
        return self.loss(self.outputs(model, batch), batch.labels)

    def start_dense(self, weights: Mapping[str, Tensor]) -> None:
        """Starts the dense layer from published weights (d, d) and (d,), where there is one."""
        if self.dense is not None:
            self.dense.load_state_dict(weights)

    def forward(self, states: Tensor, mask: Tensor | None = None) -> Tensor:
        """States (B, L, d), mask (B, L) True on tokens or None without padding -> outputs (B, n_outputs)."""
        pooled = self.pool(states, mask)  # (B, d)
        if self.dense is not None:
            pooled = torch.tanh(self.dense(self.dropout(pooled) if self.dense_dropout else pooled))
        outputs: Tensor = self.out(self.dropout(pooled))
        return outputs

    def pool(self, states: Tensor, mask: Tensor | None = None) -> Tensor:
        """The vectors (B, d) of inputs with states (B, L, d), mask (B, L) True on tokens or None without padding."""
        return pool(states, mask, self.pooling, None if self.attention is None else self.attention(states))

    def loss(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy with labels (B,) int64, or mean squared error with targets (B,) where there is one output.

        `outputs` (B, n_outputs).
        """
        if self.out.out_features == 1:
            scores = at_least_float32(outputs[:, 0])
            return nn.functional.mse_loss(scores, labels.to(scores.dtype))
        return nn.functional.cross_entropy(at_least_float32(outputs), labels)


class LabelsHead(ClassificationHead):
    """Logits of the labels of a whole input, each by itself: a label is predicted where its logit is above 0."""

    name = "labels"

    def loss(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Binary cross-entropy, the mean over labels (B, C), 1 where an input has one; `outputs` (B, C)."""
        logits = at_least_float32(outputs)
        return nn.functional.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype))

    def n_labels(self, batch: Batch) -> int:
        """Every label of every input of a batch (B, L)."""
        assert batch.labels is not None
        return batch.labels.numel()


def classification_head(
    spec: HeadSpec, dim: int, n_outputs: int, dropout: float = 0.0, *, multi_label: bool = False
) -> ClassificationHead:
    """A fresh head as a model's spec has it, over states of width `dim`. `multi_label`: of several labels an input."""
    head = LabelsHead if multi_label else ClassificationHead
    return head(dim, n_outputs, dropout, spec.pooling, dense=spec.dense, dense_dropout=spec.dense_dropout)


def pool(states: Tensor, mask: Tensor | None, pooling: Pooling, logits: Tensor | None = None) -> Tensor:
    """One vector an input: the first token's, or over its tokens the maximum, the mean, or sum_t softmax_t(w h_t) h_t.

    States (B, L, d), mask (B, L) True on tokens or None without padding -> (B, d). `logits` (B, L, 1) are w h_t, as a
    head has learned w. Raises InputError where attention has none.

    Differs from pQRNN's public code: a ReLU and a batch normalisation of the logits are left out, and their bias,
    which no softmax shows.
    """
    if pooling == "first":
        return states[:, 0]
    if pooling == "attention":
        if logits is None:
            raise InputError(
                "pooling attention is learned with a task, and this model has no head; export a fine-tuning"
            )
        return (shares_of_tokens(logits, mask).to(states.dtype) * states).sum(1)
    if pooling == "max":
        hidden = states if mask is None else states.masked_fill(~mask[..., None], -torch.inf)
        return hidden.amax(1)
    if mask is None:
        return states.mean(1)
    weights = mask[..., None].to(states.dtype)  # (B, L, 1)
    return (states * weights).sum(1) / weights.sum(1)


class TaggingHead(TaskHead):
    """Scores of the tags of each word. A word that was cut off has no score and counts as outside of any span."""

    name = "tagging"

    def __init__(self, dim: int, tags: Sequence[str], dropout: float = 0.1, token_layers: nn.Module | None = None):
        """`token_layers`: what an encoder that joins neighbours needs to have a state for each token again."""
        super().__init__()
        self.scheme = TagScheme(tags)
        self.dropout = Dropout(dropout)
        self.out = nn.Linear(dim, len(tags))
        self.out.apply(init_weights)
        self.token_layers = token_layers

    @classmethod
    def for_task(
        cls, spec: HeadSpec, encoder: Encoder, *, n_outputs: int, label_names: Sequence[str], n_texts: int = 1
    ) -> Self:
        """A fresh head over the states of an encoder."""
        return cls(encoder.config.dim, label_names, encoder.config.dropout, encoder.token_layers())

    def forward(self, states: Tensor, mask: Tensor | None, places: Tensor) -> Tensor:
        """States (B, L, w), mask (B, L) or None, first token of each word (B, W) or -1 -> scores (B, W, tags)."""
        if self.token_layers is not None:
            states = self.token_layers(states, mask)  # (B, L, d)
        columns = places.clamp_min(0)[..., None].expand(-1, -1, states.shape[-1])  # (B, W, d)
        scores: Tensor = self.out(self.dropout(states.gather(1, columns)))
        return scores

    def loss(self, scores: Tensor, labels: Tensor, places: Tensor) -> Tensor:
        """Mean cross-entropy over the words with at least one token: (B, W, tags), (B, W), (B, W) -> ()."""
        wanted = labels.masked_fill(places < 0, NO_WORD).flatten()  # (B W,)
        summed = nn.functional.cross_entropy(
            at_least_float32(scores.flatten(0, 1)), wanted, ignore_index=NO_WORD, reduction="sum"
        )
        return summed / (wanted != NO_WORD).sum().clamp_min(1)

    def counts(self, scores: Tensor, labels: Tensor, places: Tensor) -> Tensor:
        """Counts (B, 4) that metrics of spans read, from scores (B, W, tags), labels (B, W) and first tokens (B, W)."""
        predicted = scores.argmax(-1).masked_fill(places < 0, self.scheme.outside).cpu().numpy()  # (B, W)
        return torch.from_numpy(self.scheme.counts(labels.cpu().numpy(), predicted)[:, 1:])

    def outputs(self, model: States, batch: Batch) -> Tensor:
        """Counts of spans of each row of a batch (B, L): (B, 4)."""
        assert batch.labels is not None and batch.places is not None
        return self.counts(self.word_scores(model, batch), batch.labels, batch.places)

    def batch_loss(self, model: States, batch: Batch) -> Tensor:
        """The loss, of shape (), of a batch (B, L) with labels and first tokens of words (B, W)."""
        assert batch.labels is not None and batch.places is not None
        return self.loss(self.word_scores(model, batch), batch.labels, batch.places)

    def word_scores(self, model: States, batch: Batch) -> Tensor:
        """Scores (B, W, tags) of the words of a batch (B, L)."""
        scores: Tensor = self(model.token_states(batch), batch.mask if batch.padded else None, batch.places)
        return scores

    def n_labels(self, batch: Batch) -> int:
        """The words of a batch (B, L) with at least one token: the loss is the mean over them."""
        assert batch.places is not None
        return int((batch.places >= 0).sum())
