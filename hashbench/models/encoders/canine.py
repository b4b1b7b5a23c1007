"""CANINE's encoder for classification (Clark et al. 2022; `CanineModel` of transformers, exact GELU).

x = dropout(LayerNorm(character + segment + position))       characters
x = one BERT layer whose attention stays in blocks of 128    characters
m = LayerNorm([x_0; gelu(W [x_4j .. x_4j+3] + b)])           molecules: CLS, then one for four characters, less the last
m = `layers` BERT layers                                     molecules

The head of a whole text takes molecule 0. What the published model has behind this (a way back to characters) does not
reach it and is left out: the outputs are the same. A head of words has it for its own (`Upsampling`), freshly drawn.
The last molecule of a full row gives way to the one of CLS, so that the mask of molecule j is the mask of
characters 4j .. 4j+3, although it is made of the four before them (released code).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from hashbench.common.errors import InputError
from hashbench.models.embeddings.base import Published
from hashbench.models.encoders.base import Architecture, check_shape, take
from hashbench.models.encoders.bert import CONFIG_NAMES, BertConfig, PublishedBert, published_layer, renamed
from hashbench.models.encoders.transformer import SHAPES, TransformerLayer, without_padding
from hashbench.models.layers import Dropout, init_weights


@dataclass(frozen=True)
class CanineConfig(BertConfig):
    """The shape of CANINE's encoder. Defaults: the published model's, but for its 16,384 positions."""

    max_positions: int = 2048  # longer inputs were never trained
    type_rows: int = 16
    eps: float = 1e-12
    first_position: int = 0
    downsampling: int = 4  # characters a molecule
    block: int = 128  # characters that attend to one another in the first layer

    def __post_init__(self) -> None:
        super().__post_init__()
        check_shape(self, "downsampling", "block")
        if self.max_positions < self.downsampling:
            fewer = f"max_positions {self.max_positions} are fewer than downsampling {self.downsampling}"
            raise InputError(f"encoder: {fewer}, the characters of one state; raise them")


# Base is the published one; the others have the shapes of BERT's.
SIZES = {size: CanineConfig(**shape) for size, shape in SHAPES.items()}
SIZES["base"] = replace(SIZES["base"], max_positions=16_384)


class LocalLayer(TransformerLayer):
    """A BERT layer whose tokens attend only within their block; the last block may be shorter."""

    def __init__(self, config: CanineConfig) -> None:
        super().__init__(config)
        self.block = config.block

    def mix(self, qkv: Tensor, mask: Tensor | None) -> Tensor:
        """Queries, keys, values (B, L, 3 d), mask (B, L) or None -> attended values (B, L, d), block by block."""
        length = qkv.shape[1]
        whole = length - length % self.block
        parts = []
        for start, stop, size in ((0, whole, self.block), (whole, length, length - whole)):
            if start < stop:
                # By way of (B part, 3 d): from (B, part, 3 d) at once, a graph would ask for more than one block.
                blocks = qkv[:, start:stop].flatten(0, 1).unflatten(0, (-1, size))  # (B blocks, size, 3 d)
                allowed = None if mask is None else mask[:, start:stop].flatten().view(-1, size)  # (B blocks, size)
                # A block of padding attends to itself, lest there be nothing to average.
                if allowed is not None:
                    allowed = allowed | ~allowed.any(1, keepdim=True)
                mixed = super().mix(blocks, allowed).flatten(0, 1)
                parts.append(mixed.unflatten(0, (qkv.shape[0], stop - start)))  # (B, part, d)
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)


class CanineEncoder(PublishedBert):
    """Character vectors to molecule states, fewer by `downsampling`.

    A length that is no multiple of four is filled up, so that results never depend on the padding: only molecules of
    four real characters are seen by any other. Templates with `pad_multiple` 4 leave nothing to fill.
    """

    config: CanineConfig
    local: LocalLayer
    downsample: nn.Linear
    molecule_norm: nn.LayerNorm
    keeps_length = False
    unit = "characters"
    config_names = {**CONFIG_NAMES, "downsampling_rate": "downsampling", "local_transformer_stride": "block"}

    def parts_before_layers(self) -> dict[str, nn.Module | None]:
        """The layer whose attention stays in blocks, and the way from characters to molecules."""
        dim, eps = self.config.dim, self.config.eps
        return {
            "local": LocalLayer(self.config),
            # a convolution of kernel and stride `downsampling` is a linear map of as many states side by side
            "downsample": nn.Linear(self.config.downsampling * dim, dim),
            "molecule_norm": nn.LayerNorm(dim, eps),
        }

    @property
    def max_length(self) -> int:
        """The longest sequence that has positions and fills its molecules."""
        positions = self.config.max_positions - self.config.first_position
        return positions - positions % self.config.downsampling

    @property
    def graph_multiple(self) -> int:
        """The number that every length in an exported graph is a multiple of: whole blocks and whole molecules."""
        return math.lcm(self.config.block, self.config.downsampling)

    def states_mask(self, mask: Tensor) -> Tensor:
        """Mask of characters (B, L) -> mask of molecules (B, ceil(L / 4)), True where one of the four characters is."""
        mask = nn.functional.pad(mask, (0, -mask.shape[1] % self.config.downsampling))
        return mask.unflatten(1, (-1, self.config.downsampling)).any(2)

    def before_layers(
        self, vectors: Tensor, mask: Tensor | None, segments: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """The molecules that enter the first deep layer (B, ceil(L / 4), d), and their mask (B, ceil(L / 4)).

        From vectors (B, L, d), mask and segments (B, L) or None. The mask is None where no molecule is padded."""
        characters, mask = self._characters(vectors, mask, segments)
        return self._molecules(characters), None if mask is None else self.states_mask(mask)

    def _characters(
        self, vectors: Tensor, mask: Tensor | None, segments: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """Vectors (B, L, d), mask and segments (B, L) or None -> the characters behind the attention of neighbours,
        filled up (B, 4 ceil(L / 4), d), and their mask (B, 4 ceil(L / 4)) or None."""
        batch, length = vectors.shape[:2]
        if fill := -length % self.config.downsampling:
            mask = torch.ones(batch, length, dtype=torch.bool, device=vectors.device) if mask is None else mask
            mask, vectors = nn.functional.pad(mask, (0, fill)), nn.functional.pad(vectors, (0, 0, 0, fill))
            segments = None if segments is None else nn.functional.pad(segments, (0, fill))
        mask = without_padding(mask)
        return self.local(self.enter(vectors, segments), mask), mask

    def token_states(self, vectors: Tensor, mask: Tensor | None, segments: Tensor | None = None) -> Tensor:
        """Each character's own state beside the state of its molecule: (B, L, 2 d)."""
        length, rate = vectors.shape[1], self.config.downsampling
        characters, filled = self._characters(vectors, mask, segments)  # (B, 4 n, d)
        molecules, seen = self._molecules(characters), None if filled is None else self.states_mask(filled)
        for layer in self.layers:
            molecules = layer(molecules, seen)  # (B, n, d)
        # Molecule j + 1 is of characters 4 j to 4 j + 3; the last of a row, whose own is not seen, share the one before
        batch, n = molecules.shape[:2]
        last = molecules.new_full((batch, 1), n - 1).long() if seen is None else seen.sum(1, keepdim=True) - 1
        own = torch.minimum(torch.arange(1, n + 1, device=last.device)[None], last.clamp_min(0))  # (B, n)
        spread = take(molecules, own).repeat_interleave(rate, dim=1)  # (B, 4 n, d)
        return torch.cat([characters, spread], dim=-1)[:, :length]

    def token_layers(self) -> Upsampling:
        """Fresh layers that make a state for each character again."""
        return Upsampling(self.config)

    def _molecules(self, states: Tensor) -> Tensor:
        """Characters (B, L, d) -> molecules (B, L / 4, d): CLS, then one for each four characters but the last four."""
        fours = states.unflatten(1, (-1, self.config.downsampling)).flatten(2)  # (B, L / 4, 4 d)
        downsampled = nn.functional.gelu(self.downsample(fours[:, :-1]))  # (B, L / 4 - 1, d)
        molecules: Tensor = self.molecule_norm(torch.cat([states[:, :1], downsampled], dim=1))
        return molecules

    def from_published(self, model: Published) -> dict[str, Tensor]:
        """The state of `transformers`' CanineModel as far as classification uses it."""
        self.check_published(model.config, model.where)
        convolution = model.tensor("chars_to_molecules.conv.weight")  # (d, d, 4): out, in, character
        state = {
            # as many as there are here: the published model has more than it trained
            "positions.weight": model.tensor("char_embeddings.char_position_embeddings.weight")[
                : self.config.max_positions
            ],
            "segments.weight": model.tensor("char_embeddings.token_type_embeddings.weight"),
            "downsample.weight": convolution.permute(0, 2, 1).flatten(1),  # (d, 4 d)
            "downsample.bias": model.tensor("chars_to_molecules.conv.bias"),
        }
        norms = {"norm": "char_embeddings.LayerNorm", "molecule_norm": "chars_to_molecules.LayerNorm"}
        state |= renamed(model, "", "", norms)
        state |= published_layer(model, "local", "initial_char_encoder.layer.0")
        for number in range(self.config.layers):
            state |= published_layer(model, f"layers.{number}", f"encoder.layer.{number}")
        return state


class Upsampling(nn.Module):
    """A state for each character again (section 3.2): a convolution over four neighbours, and one BERT layer.

    Its input is each character's own state beside its molecule's state. Padding reaches a character by the convolution
    in the released code; here it is cleared before.
    """

    def __init__(self, config: CanineConfig) -> None:
        super().__init__()
        self.width = config.downsampling
        self.up = nn.Linear(2 * self.width * config.dim, config.dim)  # a convolution, as `downsample` is
        self.norm = nn.LayerNorm(config.dim, config.eps)
        self.dropout = Dropout(config.dropout)
        self.layer = TransformerLayer(config)
        self.apply(init_weights)

    def forward(self, states: Tensor, mask: Tensor | None) -> Tensor:
        """States (B, L, 2 d), mask (B, L) or None -> (B, L, d)."""
        if mask is not None:
            states = states * mask[..., None]
        before = (self.width - 1) // 2
        padded = nn.functional.pad(states, (0, 0, before, self.width - 1 - before))  # (B, L + 3, 2 d)
        neighbours = padded.unfold(1, self.width, 1).transpose(2, 3).flatten(2)  # (B, L, 4 2 d)
        joined = self.dropout(self.norm(nn.functional.gelu(self.up(neighbours))))
        attended: Tensor = self.layer(joined, without_padding(mask))
        return attended


ARCHITECTURES = {"canine": Architecture(CanineEncoder, SIZES)}
