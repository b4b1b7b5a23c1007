"""CharacterBERT's convolutions over the bytes of a word (El Boukkouri et al., COLING 2020; the layers are ELMo's).

The learned reference without collisions: 16 numbers a byte, convolutions of widths 1 to 7 with their maximum over the
word, ReLU, two highway layers y = g x + (1 - g) relu(A x), g = sigmoid(B x), and a linear map to the encoder's width.

Chosen here: the table of bytes is drawn from U(-1, 1), biases of convolutions are zero, and the last map is drawn from
N(0, 9/m) for m filters with rows that sum to zero, else words begin and move as nearly one vector (the released code
loads weights); special tokens have own rows; `character-cnn-small` has a free number of filters over widths 1 to 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn

from hashbench.common.errors import InputError
from hashbench.models.coders.rows import LENGTH, ROWS
from hashbench.models.embeddings.base import SPECIALS, CodeSpec, Embedding, EmbeddingSpec, FreeSize, ModelSpec
from hashbench.models.layers import draw_weights

WIDTH = 16  # of the table of bytes
FULL = (32, 32, 64, 128, 256, 512, 1_024)  # filters of widths 1 to 7
SHARES = (1, 1, 2, 4, 8)  # sixteenths of the small form's filters, by width


def shared_out(filters: int) -> list[int]:
    """A number of filters divided among the widths 1 to 5 of the small form.

    >>> shared_out(128), shared_out(100)
    ([8, 8, 16, 32, 64], [6, 6, 12, 25, 51])
    """
    counts = [filters * share // sum(SHARES) for share in SHARES]
    return [*counts[:-1], filters - sum(counts[:-1])]


class CharacterCnn(Embedding):
    """Vectors of distinct words by convolutions over their bytes, highway layers and a linear map."""

    def __init__(self, dim: int, filters: int | Sequence[int] = FULL, highways: int = 2) -> None:
        """`filters`: of each width from 1 on, or their number in the small form. Raises InputError for too few."""
        super().__init__()
        sizes = shared_out(filters) if isinstance(filters, int) else list(filters)
        if not sizes or min(sizes) < 1:
            raise InputError(f"embedding: filters {filters!r}; give at least {sum(SHARES)}, or one a width")
        self.table = nn.Parameter(nn.init.uniform_(torch.empty(ROWS, WIDTH), -1.0, 1.0))  # (263, 16)
        self.convolutions = nn.ModuleList(nn.Conv1d(WIDTH, n, width) for width, n in enumerate(sizes, start=1))
        self.highways = nn.ModuleList(nn.Linear(sum(sizes), 2 * sum(sizes)) for _ in range(highways))
        self.last = nn.Linear(sum(sizes), dim)
        self.specials = nn.Parameter(draw_weights(torch.empty(len(SPECIALS), dim)))  # (s, d)
        with (
            torch.no_grad()
        ):  # positive features, and steps that move all words together: apart, and large beside a step
            self.last.weight.normal_(std=3 / sum(sizes) ** 0.5)
            self.last.weight -= self.last.weight.mean(dim=1, keepdim=True)
        for part in (*self.convolutions, self.last):
            nn.init.zeros_(cast(Tensor, part.bias))
        for layer in self.highways:  # they begin by carrying their input on
            nn.init.ones_(cast(Tensor, layer.bias).detach().view(2, -1)[1])

    def embed_types(self, codes: Tensor) -> Tensor:
        """Ids of the bytes (n, 50) -> vectors (n, d)."""
        # Padding is a zero vector, as in the released code, and the maximum runs over it too.
        vectors = nn.functional.embedding(codes.long(), self.table, padding_idx=0)  # (n, 50, 16)
        there = (codes != 0)[..., None]
        letters = (vectors * there).transpose(1, 2)  # (n, 16, 50)
        features = [torch.relu(convolution(letters).amax(2)) for convolution in self.convolutions]
        vectors = torch.cat(features, dim=1)
        for layer in self.highways:
            plain, gate = layer(vectors).chunk(2, dim=1)
            gate = torch.sigmoid(gate)
            vectors = gate * vectors + (1 - gate) * torch.relu(plain)
        return cast(Tensor, self.last(vectors))

    def special_rows(self) -> Tensor:
        """Vectors of the special tokens (s, d), which have a separate table."""
        return self.specials

    def multiply_adds(self) -> int:
        """Multiply-adds of the convolutions over a word of 50 ids, and of the layers behind them."""
        places = sum((LENGTH - part.kernel_size[0] + 1) * part.weight.numel() for part in self._convolutions())
        return places + super().multiply_adds()

    def active_parameters(self, codes: Tensor) -> int:
        """Parameters of the layers, and of the rows of the bytes of one word (1, 50)."""
        rows = len(codes[codes != 0].unique())
        return self.embedding_parameters() - self.specials.numel() - (ROWS - rows) * WIDTH

    def _convolutions(self) -> list[nn.Conv1d]:
        return [part for part in self.convolutions if isinstance(part, nn.Conv1d)]


MODELS = [
    ModelSpec(
        name="character-cnn",
        code=CodeSpec("word-bytes"),
        embedding=EmbeddingSpec(CharacterCnn, small={"filters": 16}),
        groups=("character-cnn",),
        version=3,  # 1 and 2 began with all words near one vector
        summary="CharacterBERT's convolutions over the bytes of a word, 2,048 filters",
    ),
    ModelSpec(
        name="character-cnn-small",
        code=CodeSpec("word-bytes"),
        embedding=EmbeddingSpec(CharacterCnn, {"filters": 128}, small={"filters": 16}),
        free_size=FreeSize("embedding", "filters", least=16),
        groups=("character-cnn",),
        version=3,  # as above
        summary="the same with 128 filters",
    ),
]
