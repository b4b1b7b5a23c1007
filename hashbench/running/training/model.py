"""A model: an embedding of a batch's types and an encoder over their vectors; its weights, and the heads above it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from hashbench.common.atomic import with_usual_rights
from hashbench.common.checksums import sealed_write
from hashbench.common.errors import InputError, first_line
from hashbench.common.untrusted import MODEL_PREFIX
from hashbench.models.embeddings.base import SPECIALS, Batch, Embedding, ModelSpec, Published
from hashbench.models.embeddings.registry import build_embedding
from hashbench.models.encoders.base import Encoder, make_encoder
from hashbench.models.names import Pooling
from hashbench.models.objectives.base import Head, objectives


class Model(nn.Module):
    """An embedding and an encoder, which turn a batch into token states; heads are separate."""

    def __init__(self, embedding: Embedding, encoder: Encoder, *, scaled: bool = False) -> None:
        """`scaled`: word vectors have a fixed factor, part of the weights, which is 1 until it is set."""
        super().__init__()
        self.config = encoder.config
        self.embedding = embedding
        self.encoder = encoder
        self.scales: Tensor | None
        # Factors of the vectors of special tokens and of words (2,)
        self.register_buffer("scales", torch.ones(2) if scaled else None)
        # What the dense layer of a head starts from.
        self.published_dense: dict[str, Tensor] | None = None

    def forward(self, batch: Batch) -> Tensor:
        """States (B, L', d) of a batch (B, L); L' is L m for m tokens an item, less where the encoder shortens."""
        states: Tensor = self.encoder(self.vectors(batch), self._needed_mask(batch), batch.segments)
        return states

    def vectors(self, batch: Batch) -> Tensor:
        """The vectors (B, L m, d) that the encoder gets for a batch (B, L): the embedding's, with their factors."""
        vectors: Tensor = self.embedding(batch)
        if self.scales is None:
            return vectors
        words = self.embedding.vectors_mask(batch.positions >= len(SPECIALS))  # (B, L m)
        return vectors * torch.where(words, self.scales[1], self.scales[0]).to(vectors.dtype)[..., None]

    def at(self, batch: Batch, columns: Tensor, kept: Tensor | None = None) -> Tensor:
        """The states (n, d) at `columns` (B, M), or at the columns numbered by `kept` (n,); None: all."""
        return self.encoder.at(self.vectors(batch), self._needed_mask(batch), batch.segments, columns, kept)

    def for_head(self, batch: Batch, pooling: Pooling) -> tuple[Tensor, Tensor | None]:
        """States (B, L', d) and their mask for a head with this pooling.

        For one that reads only the first state of a row: that state (B, 1, d) and no mask."""
        if pooling == "first":
            first = torch.zeros((batch.positions.shape[0], 1), dtype=torch.int64, device=batch.positions.device)
            return self.at(batch, first)[:, None], None
        return self(batch), self.states_mask(batch)

    def token_states(self, batch: Batch) -> Tensor:
        """One state for each token of a batch (B, L), for heads that label words: (B, L, w)."""
        mask = self._needed_mask(batch)
        states = self.encoder.token_states(self.vectors(batch), mask, batch.segments)  # (B, L m, w)
        return states[:, :: self.embedding.tokens_per_item]

    def states_mask(self, batch: Batch) -> Tensor:
        """Mask (B, L') of the states of a batch (B, L): True for tokens, False for padding."""
        return self.encoder.states_mask(self.token_mask(batch))

    def _needed_mask(self, batch: Batch) -> Tensor | None:
        """`token_mask`, or None where it is True everywhere: without a mask a GPU takes its fastest attention."""
        return self.token_mask(batch) if batch.padded or not self.encoder.reads_specials else None

    def token_mask(self, batch: Batch) -> Tensor:
        """Mask (B, L m) of the embedding's vectors of a batch (B, L), m an item: True for tokens, False for padding.

        Special tokens are none where the encoder does not read them.
        """
        mask = batch.mask if self.encoder.reads_specials else batch.mask & (batch.positions >= len(SPECIALS))
        return self.embedding.vectors_mask(mask)


def build_model(
    spec: ModelSpec,
    size: str,
    *,
    seed: int,
    vocabulary_rows: int | None = None,
    row_strings: Sequence[str] | None = None,
) -> Model:
    """The model of a spec with freshly drawn weights, which depend on `seed` alone.

    `vocabulary_rows` is the size of the table where the coder numbers a vocabulary found in the data (specials
    included); None keeps the spec's own number. `row_strings` are the strings of these rows, from which a table may
    start. Word vectors have the embedding's own spread, whatever the spec's `initial_spread`: see `beginning.py`.
    """
    torch.manual_seed(seed)
    encoder = make_encoder(spec.encoder.kind, size, **spec.encoder.args)
    embedding = build_embedding(spec, encoder.config.dim, vocabulary_rows=vocabulary_rows)
    if row_strings is not None:
        embedding.initialise(row_strings)
    return Model(embedding, encoder, scaled=spec.initial_spread is not None)


def make_head(model: Model, objective: str, arguments: Mapping[str, Any] = MappingProxyType({})) -> Head:
    """A fresh head of a pre-training objective with these arguments over this model's states.

    Raises InputError where the objective scores a vocabulary and the embedding has no matrix to score against.
    """
    named = objectives()[objective]
    assert named.head is not None  # models of items are trained by entities.py
    chosen = {name: arguments[name] for name in named.head_args if name in arguments}
    return named.head(model.embedding, model.config, **chosen)


def save_weights(module: nn.Module, path: Path) -> None:
    """Writes a module's weights as safetensors, whole or not at all, with their checksums."""
    save_tensors(module.state_dict(), path)


def save_tensors(tensors: Mapping[str, Tensor], path: Path) -> None:
    """Writes named tensors of any shape as safetensors, whole or not at all, with their checksums.

    Raises OSError where the disk has no room for them.
    """
    with sealed_write(path) as part:
        try:
            save_file({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, part)
        except SafetensorError as error:  # which names no file
            remedy = "make room there, or set HASHBENCH_CACHE to another folder"
            raise OSError(f"{path}: the weights cannot be written: {first_line(error)}; {remedy}") from error
        with_usual_rights(part)


def load_weights(module: nn.Module, path: Path) -> None:
    """Loads into a module the weights that `save_weights` wrote; a missing or unknown tensor is an error."""
    module.load_state_dict(load_file(path))


def load_published(model: Model, published: Published) -> None:
    """Loads weights that another project trained into a model, with the dense layer from which its head will start.

    Raises InputError for weights of another model or another shape.
    """
    if published.is_export:
        _load_exported(model, published)
        return
    for part in (model.embedding, model.encoder):
        trained, fresh = part.from_published(published), part.state_dict()
        for name, tensor in fresh.items():
            if trained[name].shape != tensor.shape:
                there, here = tuple(trained[name].shape), tuple(tensor.shape)
                raise InputError(
                    f"{published.where}: {part.stored_name()} {name} has shape {there} there, {here} here; "
                    "take the encoder size and the embedding's arguments of the weights, or other weights"
                )
        part.load_state_dict({name: tensor.to(fresh[name].dtype) for name, tensor in trained.items()})
    model.published_dense = model.encoder.dense_from_published(published)


def _load_exported(model: Model, published: Published) -> None:
    """Loads the weights of an exported model, whatever their precision; its head, if it has one, is left out."""
    trained: dict[str, Tensor] = {}
    for name, fresh in model.state_dict().items():
        tensor = published.tensor(f"{MODEL_PREFIX}{name}")
        if tensor.shape != fresh.shape:
            shapes = f"{name} has shape {tuple(tensor.shape)} there, {tuple(fresh.shape)} here"
            raise InputError(f"{published.where}: {shapes}; export it again, or take other weights")
        trained[name] = tensor.to(fresh.dtype)
    model.load_state_dict(trained)
