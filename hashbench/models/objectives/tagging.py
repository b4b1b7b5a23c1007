"""Tags of words: a linear map of the state at each word's first token (Devlin et al. 2019, section 5.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor, nn

from hashbench.models.embeddings.base import Batch, HeadSpec
from hashbench.models.encoders.base import Encoder
from hashbench.models.layers import Dropout, at_least_float32, init_weights
from hashbench.models.objectives.base import States, TaskHead
from hashbench.models.text.tags import NO_WORD, TagScheme


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
