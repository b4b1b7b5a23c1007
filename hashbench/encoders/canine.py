"""CANINE's encoder for classification (Clark et al. 2022; `CanineModel` of transformers, exact GELU).

x = dropout(LayerNorm(character + segment + position))       characters
x = one BERT layer whose attention stays in blocks of 128    characters
m = LayerNorm([x_0; gelu(W [x_4j .. x_4j+3] + b)])           molecules: CLS, then one for four characters, less the last
m = `layers` BERT layers                                     molecules

The head takes molecule 0. What the published model has behind this (a way back to characters) does not reach it and is
left out: the outputs are the same. The last molecule of a full row gives way to the one of CLS, so that the mask of
molecule j is that of characters 4j .. 4j+3, although it stands for the four before them (released code).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from hashbench.embeddings.base import Published
from hashbench.encoders.base import Architecture, Encoder
from hashbench.encoders.bert import EncoderConfig, Layer
from hashbench.errors import InputError
from hashbench.layers import Dropout, init_weights


@dataclass(frozen=True)
class CanineConfig(EncoderConfig):
    """The shape of CANINE's encoder. Defaults: the published model's, but for positions, of which it has 16,384."""

    max_positions: int = 2048  # longer inputs were never trained
    type_rows: int = 16
    eps: float = 1e-12
    first_position: int = 0
    downsampling: int = 4  # characters a molecule
    block: int = 128  # characters that attend to one another in the first layer

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.downsampling, self.block) < 1 or self.max_positions < self.downsampling:
            raise InputError("encoder: downsampling and block must be at least 1; correct the encoder's values")


SIZES: dict[str, CanineConfig] = {  # base is the published one; the others are ours, with the shapes of BERT's
    "tiny": CanineConfig(layers=2, heads=2, dim=128, feed_forward=512),
    "mini": CanineConfig(layers=4, heads=4, dim=256, feed_forward=1024),
    "small": CanineConfig(layers=4, heads=8, dim=512, feed_forward=2048),
    "medium": CanineConfig(layers=8, heads=8, dim=512, feed_forward=2048),
    "base": CanineConfig(layers=12, heads=12, dim=768, feed_forward=3072, max_positions=16_384),
}


class LocalLayer(Layer):
    """A BERT layer whose tokens attend to those of their block alone; the last block may be shorter."""

    def __init__(self, config: CanineConfig) -> None:
        super().__init__(config)
        self.block = config.block

    def mix(self, qkv: Tensor, mask: Tensor | None) -> Tensor:
        """(B, L, 3 d) -> (B, L, d): whole blocks as rows of one batch, then what is left."""
        length = qkv.shape[1]
        whole = length - length % self.block
        parts = []
        for start, stop, size in ((0, whole, self.block), (whole, length, length - whole)):
            if start < stop:
                blocks = qkv[:, start:stop].reshape(-1, size, qkv.shape[2])  # (B blocks, size, 3 d)
                allowed = None if mask is None else mask[:, start:stop].reshape(-1, size)  # (B blocks, size)
                if allowed is not None:  # a block of padding attends to itself, lest there be nothing to average
                    allowed = allowed | ~allowed.any(1, keepdim=True)
                parts.append(super().mix(blocks, allowed).reshape(len(qkv), stop - start, -1))  # (B, part, d)
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)


class CanineEncoder(Encoder):
    """Character vectors to molecule states, fewer by `downsampling`."""

    keeps_length = False

    def __init__(self, config: CanineConfig) -> None:
        super().__init__()
        self.config = config
        self.positions = nn.Embedding(config.max_positions, config.dim)
        self.segments = nn.Embedding(config.type_rows, config.dim)
        self.norm = nn.LayerNorm(config.dim, config.eps)
        self.dropout = Dropout(config.dropout)
        self.local = LocalLayer(config)
        # a convolution of kernel and stride `downsampling` is a linear map of as many states side by side
        self.downsample = nn.Linear(config.downsampling * config.dim, config.dim)
        self.molecule_norm = nn.LayerNorm(config.dim, config.eps)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.apply(init_weights)

    @property
    def max_length(self) -> int:
        """The longest sequence that has positions and fills its molecules."""
        positions = self.config.max_positions - self.config.first_position
        return positions - positions % self.config.downsampling

    @property
    def segment_rows(self) -> int:
        """Rows of the segment table."""
        return self.config.type_rows

    def states_mask(self, mask: Tensor) -> Tensor:
        """(B, L) -> (B, ceil(L / 4)): a molecule is there where one of its four characters is."""
        mask = nn.functional.pad(mask, (0, -mask.shape[1] % self.config.downsampling))
        return mask.unflatten(1, (-1, self.config.downsampling)).any(2)

    def forward(self, vectors: Tensor, mask: Tensor | None, segments: Tensor | None = None) -> Tensor:
        """Vectors (B, L, d), mask (B, L) True on characters, segments (B, L) or None -> molecules (B, ceil(L / 4), d).

        A length that is no multiple of four is filled up, so that results never depend on the padding: only molecules
        of four real characters are seen by any other. Templates with `pad_multiple` 4 leave nothing to fill.
        """
        molecules, mask = self._before_layers(vectors, mask, segments)
        for layer in self.layers:
            molecules = layer(molecules, mask)
        return molecules

    def at(
        self, vectors: Tensor, mask: Tensor | None, segments: Tensor | None, columns: Tensor, valid: Tensor | None
    ) -> Tensor:
        """Some molecules alone (n, d): the last layer makes no other."""
        molecules, mask = self._before_layers(vectors, mask, segments)
        for layer in self.layers[:-1]:
            molecules = layer(molecules, mask)
        return self.layers[-1].at(molecules, mask, columns, valid)  # type: ignore[operator]

    def _before_layers(
        self, vectors: Tensor, mask: Tensor | None, segments: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """Molecules that enter the first deep layer (B, ceil(L / 4), d), and their mask, None where none is padded."""
        batch, length = vectors.shape[:2]
        if length > self.max_length:
            raise InputError(f"encoder: {length} characters, positions for {self.max_length}; shorten max_length")
        if fill := -length % self.config.downsampling:
            mask = torch.ones(batch, length, dtype=torch.bool, device=vectors.device) if mask is None else mask
            mask, vectors = nn.functional.pad(mask, (0, fill)), nn.functional.pad(vectors, (0, 0, 0, fill))
            segments = None if segments is None else nn.functional.pad(segments, (0, fill))
        if mask is not None and mask.device.type == "cpu" and bool(mask.all()):
            mask = None
        molecules = self._molecules(self._characters(vectors, mask, segments))  # (B, L / 4, d)
        return molecules, None if mask is None else self.states_mask(mask)

    def _characters(self, vectors: Tensor, mask: Tensor | None, segments: Tensor | None) -> Tensor:
        """(B, L, d) -> (B, L, d): positions, segments, and the attention of neighbours."""
        first = self.config.first_position
        kinds = self.segments.weight[0] if segments is None else self.segments(segments)  # (d,) or (B, L, d)
        vectors = vectors + self.positions.weight[first : first + vectors.shape[1]] + kinds
        states: Tensor = self.local(self.dropout(self.norm(vectors)), mask)
        return states

    def _molecules(self, states: Tensor) -> Tensor:
        """(B, L, d) -> (B, L / 4, d): CLS as it is, then four characters at a time but for the last four."""
        fours = states.unflatten(1, (-1, self.config.downsampling)).flatten(2)  # (B, L / 4, 4 d)
        downsampled = nn.functional.gelu(self.downsample(fours[:, :-1]))  # (B, L / 4 - 1, d)
        molecules: Tensor = self.molecule_norm(torch.cat([states[:, :1], downsampled], dim=1))
        return molecules

    def from_published(self, model: Published) -> dict[str, Tensor]:
        """The state of `transformers`' CanineModel as far as classification uses it."""
        self.check_published(model.config, model.where)
        convolution = model.tensor("chars_to_molecules.conv.weight")  # (d, d, 4): out, in, character
        found = {
            # as many as there are here: the published model has more than it trained
            "positions.weight": model.tensor("char_embeddings.char_position_embeddings.weight")[
                : self.config.max_positions
            ],
            "segments.weight": model.tensor("char_embeddings.token_type_embeddings.weight"),
            "downsample.weight": convolution.permute(0, 2, 1).flatten(1),  # (d, 4 d)
            "downsample.bias": model.tensor("chars_to_molecules.conv.bias"),
        }
        norms = {"norm": "char_embeddings.LayerNorm", "molecule_norm": "chars_to_molecules.LayerNorm"}
        found |= _renamed(model, "", "", norms)
        found |= _layer(model, "local", "initial_char_encoder.layer.0")
        for number in range(self.config.layers):
            found |= _layer(model, f"layers.{number}", f"encoder.layer.{number}")
        return found

    def dense_from_published(self, model: Published) -> dict[str, Tensor]:
        """The pooler of CanineModel."""
        return {kind: model.tensor(f"pooler.dense.{kind}") for kind in ("weight", "bias")}

    def check_published(self, config: Mapping[str, Any], where: str) -> None:
        """Raises InputError where a published model has another shape, or what no shape shows."""
        for theirs, ours in CONFIG_NAMES.items():
            wanted = getattr(self.config, ours)
            if theirs in config and config[theirs] != wanted:
                raise InputError(
                    f"{where}: {theirs} is {config[theirs]}, but {ours} of this encoder is {wanted}; "
                    "take the encoder size of the weights, or other weights"
                )
        if "hidden_act" in config and config["hidden_act"] != "gelu":
            raise InputError(f"{where}: hidden_act is {config['hidden_act']}, only gelu is known; take other weights")


CONFIG_NAMES = {  # of transformers' CanineConfig -> of ours
    "hidden_size": "dim",
    "num_hidden_layers": "layers",
    "num_attention_heads": "heads",
    "intermediate_size": "feed_forward",
    "type_vocab_size": "type_rows",
    "layer_norm_eps": "eps",
    "downsampling_rate": "downsampling",
    "local_transformer_stride": "block",
}
LAYER_NAMES = {
    "attention_out": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "up": "intermediate.dense",
    "down": "output.dense",
    "norm": "output.LayerNorm",
}


def _layer(model: Published, ours: str, theirs: str) -> dict[str, Tensor]:
    """The tensors of one BERT layer: query, key and value become one map."""
    found = _renamed(model, f"{ours}.", f"{theirs}.", LAYER_NAMES)
    for kind in ("weight", "bias"):
        parts = [model.tensor(f"{theirs}.attention.self.{part}.{kind}") for part in ("query", "key", "value")]
        found[f"{ours}.qkv.{kind}"] = torch.cat(parts)  # (3 d, d) or (3 d,)
    return found


def _renamed(model: Published, ours: str, theirs: str, names: dict[str, str]) -> dict[str, Tensor]:
    """Weights and biases of modules under our names for them."""
    return {
        f"{ours}{own}.{kind}": model.tensor(f"{theirs}{their}.{kind}")
        for own, their in names.items()
        for kind in ("weight", "bias")
    }


ARCHITECTURES = {"canine": Architecture(CanineEncoder, SIZES)}
