"""Deep hash embedding: hashes of a word as numbers, and layers that make its vector (Kang et al., KDD 2021).

k hashes h_i(w) in 0 ... m - 1 become u_i = 2 h_i / (m - 1) - 1, uniform in [-1, 1] (section 3.2), and an MLP with Mish
makes the vector: there is no table. It is the trade of dense arithmetic for memory, and no word is like another to it.

Differs from the paper: LayerNorm in place of BatchNorm, whose vectors depend on the batch; hashes are outputs of
SplitMix64, which need no state.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hashbench.common.splitmix import GAMMA, mix_signed, shifted, signed
from hashbench.models.embeddings.base import SPECIALS, CodeSpec, Embedding, EmbeddingSpec, FreeSize, ModelSpec
from hashbench.models.layers import draw_weights

HASHES, HASH_RANGE = 1_024, 1_000_000  # k and m of the paper


def hash_numbers(keys: Tensor, hashes: int, largest: int) -> Tensor:
    """Keys (n, 1) int64 -> h_i (n, k) int64 in 0 ... `largest` - 1: output i of SplitMix64 seeded with the key."""
    steps = [signed((i + 1) * GAMMA % 2**64) for i in range(hashes)]
    values = mix_signed(keys + torch.tensor(steps, device=keys.device))
    return (shifted(values, 1) % largest * 2 + (values & 1)) % largest


class DeepHash(Embedding):
    """Vectors of words by an MLP over k hashes as numbers, with `layers` hidden layers of `hidden` units."""

    def __init__(self, dim: int, hidden: int = 1_024, layers: int = 2, hashes: int = HASHES) -> None:
        super().__init__()
        self.hashes = hashes
        sizes = [hashes, *[hidden] * layers]
        self.hidden = nn.ModuleList(
            nn.Sequential(nn.Linear(before, after), nn.LayerNorm(after, elementwise_affine=False), nn.Mish())
            for before, after in zip(sizes[:-1], sizes[1:], strict=True)
        )
        self.last = nn.Linear(hidden, dim)
        self.specials = nn.Parameter(draw_weights(torch.empty(len(SPECIALS), dim)))  # (s, d)

    def embed_types(self, codes: Tensor) -> Tensor:
        """Keys (n, 1) -> vectors (n, d)."""
        numbers = hash_numbers(codes, self.hashes, HASH_RANGE)
        values = (2.0 * numbers / (HASH_RANGE - 1) - 1.0).to(self.last.weight.dtype)  # (n, k)
        for layer in self.hidden:
            values = layer(values)
        vectors: Tensor = self.last(values)
        return vectors

    def special_rows(self) -> Tensor:
        """Vectors of the special tokens (s, d), which have a separate table."""
        return self.specials

    def active_parameters(self, codes: Tensor) -> int:
        """Parameters of all layers, whatever the code (1, 1)."""
        return self.embedding_parameters() - self.specials.numel()


def _spec(name: str, summary: str, **embedding: int) -> ModelSpec:
    return ModelSpec(
        name=name,
        code=CodeSpec("word-keys"),
        embedding=EmbeddingSpec(DeepHash, embedding, small={"hidden": 8, "hashes": 16}),
        free_size=FreeSize("embedding", "hidden"),
        groups=("dhe",),
        summary=summary,
    )


MODELS = [
    _spec("dhe", "1,024 hashes of a word as numbers, two hidden layers of 1,024", hidden=1_024, layers=2),
    _spec("dhe-small", "128 hashes of a word as numbers, one hidden layer of 128", hidden=128, layers=1, hashes=128),
]
