"""Tags of words: a linear map of the state at each word's first token (Devlin et al. 2019, section 5.3)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from hashbench.models.layers import Dropout, at_least_float32, init_weights
from hashbench.models.text.tags import NO_WORD, TagScheme


class TaggingHead(nn.Module):
    """Scores of the tags of each word. A word that was cut off has no score and counts as outside of any span."""

    dense = None  # no layer of it starts from published weights

    def __init__(self, dim: int, tags: Sequence[str], dropout: float = 0.1, token_layers: nn.Module | None = None):
        """`token_layers`: what an encoder that joins neighbours needs to have a state for each token again."""
        super().__init__()
        self.scheme = TagScheme(tags)
        self.dropout = Dropout(dropout)
        self.out = nn.Linear(dim, len(tags))
        self.out.apply(init_weights)
        self.token_layers = token_layers

    def forward(self, states: Tensor, mask: Tensor | None, places: Tensor) -> Tensor:
        """States (B, L, w), mask (B, L) or None, places (B, W) of words, -1 for none -> scores (B, W, tags)."""
        if self.token_layers is not None:
            states = self.token_layers(states, mask)  # (B, L, d)
        columns = places.clamp_min(0)[..., None].expand(-1, -1, states.shape[-1])  # (B, W, d)
        scores: Tensor = self.out(self.dropout(states.gather(1, columns)))
        return scores

    def loss(self, scores: Tensor, labels: Tensor, places: Tensor) -> Tensor:
        """Mean cross-entropy over the words that have a place: (B, W, tags), (B, W), (B, W) -> ()."""
        wanted = labels.masked_fill(places < 0, NO_WORD).flatten()  # (B W,)
        summed = nn.functional.cross_entropy(
            at_least_float32(scores.flatten(0, 1)), wanted, ignore_index=NO_WORD, reduction="sum"
        )
        return summed / (wanted != NO_WORD).sum().clamp_min(1)

    def counts(self, scores: Tensor, labels: Tensor, places: Tensor) -> Tensor:
        """What metrics of spans read: (B, W, tags), (B, W), (B, W) -> (B, 4)."""
        predicted = scores.argmax(-1).masked_fill(places < 0, self.scheme.outside).cpu().numpy()  # (B, W)
        return torch.from_numpy(self.scheme.counts(labels.cpu().numpy(), predicted)[:, 1:])
