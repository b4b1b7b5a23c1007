"""Base of embeddings that add rows of n-grams of neighbouring tokens to another embedding, and helpers for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from hashbench.common.errors import InputError
from hashbench.models.embeddings.base import FACTOR, PRIME, SPECIALS, Batch, Embedding, Published
from hashbench.models.embeddings.rows import HashedRows

Window = Literal["left", "both"]


class OverNeighbours(Embedding):
    """An embedding over another one, `base`, to whose vectors it adds rows that hashes of n-grams of tokens choose.

    What it adds is computed for each token of a text, not once for a type. A family implements `forward` and `reads`.
    """

    missing = 0  # the number of padding, and of what lies outside the text

    def __init__(self, base: Embedding) -> None:
        super().__init__()
        if base.tokens_per_item != 1:
            raise InputError(f"embedding: {base.stored_name()} makes several vectors of a token; choose another below")
        self.base = base

    def reads(self) -> Iterable[tuple[HashedRows, int]]:
        """The tables of n-grams, and how many rows of each a token reads."""
        raise NotImplementedError

    def numbers(self, batch: Batch) -> Tensor:
        """A stable number of each token (B, L) int64: special tokens by rows, others by type; `missing` on padding."""
        specials = torch.arange(len(SPECIALS), device=batch.positions.device)
        type_ids = torch.cat([specials, self.base.type_ids(batch.codes)])  # (s + n,)
        return type_ids[batch.positions].masked_fill(~batch.mask, self.missing)

    def embed_types(self, codes: Tensor) -> Tensor:
        """Codes (n, c) -> vectors of types without neighbours (n, d), by the embedding below."""
        return self.base.embed_types(codes)

    def special_rows(self) -> Tensor:
        """Vectors of the special tokens in the embedding below (s, d)."""
        return self.base.special_rows()

    def type_ids(self, codes: Tensor) -> Tensor:
        """Numbers (n,) of types in the embedding below."""
        return self.base.type_ids(codes)

    @property
    def vocabulary_rows(self) -> int | None:
        """Size of the vocabulary of the embedding below; None where it has none."""
        return self.base.vocabulary_rows

    def initialise(self, vocabulary: Sequence[str]) -> None:
        """Initialises the embedding below from the strings of its rows."""
        self.base.initialise(vocabulary)

    def narrow(self, codes: Tensor) -> None:
        """Narrows the embedding below to `codes` (n, c); the n-grams of a training are not known from its types."""
        self.base.narrow(codes)

    def widen(self) -> None:
        """Makes the embedding below whole again."""
        self.base.widen()

    def undecayed(self) -> Iterable[nn.Parameter]:
        """Parameters of the embedding below that weight decay leaves alone."""
        return self.base.undecayed()

    def output_matrix(self) -> Tensor | None:
        """The output matrix of the embedding below (R, d); None where it has none."""
        return self.base.output_matrix()

    def check_published(self, config: Mapping[str, Any], where: str) -> None:
        """Raises InputError where a published model of this config does not fit the embedding below."""
        self.base.check_published(config, where)

    def from_published(self, model: Published) -> dict[str, Tensor]:
        """This embedding's state, tensors (n, ...) by name: the embedding below from the model, the rest as it is."""
        below = self.base.from_published(model)
        return {**self.state_dict(), **{f"base.{key}": tensor for key, tensor in below.items()}}

    def embedding_parameters(self) -> int:
        """Parameters of the embedding below as its paper counts them, and all that is added to it."""
        return self.base.embedding_parameters() + self._added()

    def multiply_adds(self) -> int:
        """Multiply-adds of the embedding below, and of the added linear layers for one token."""
        below = {id(part) for part in self.base.modules()}
        layers = [part for part in self.modules() if isinstance(part, nn.Linear) and id(part) not in below]
        return self.base.multiply_adds() + sum(layer.weight.numel() for layer in layers)

    def active_parameters(self, codes: Tensor) -> int:
        """Parameters that one token with these codes (1, c) reads: below, in n-gram rows, and in added layers."""
        unread = sum((table.num_rows - rows) * table.width for table, rows in self.reads())
        return self.base.active_parameters(codes) + self._added() - unread

    def _added(self) -> int:
        below = {id(parameter) for parameter in self.base.parameters()}
        return sum(parameter.numel() for parameter in self.parameters() if id(parameter) not in below)


def neighbour(numbers: Tensor, distance: int, missing: int) -> Tensor:
    """The number of the token `distance` to the left of each token (B, L), or, where negative, to the right.

    >>> neighbour(torch.tensor([[5, 7, 11]]), 1, 0).tolist(), neighbour(torch.tensor([[5, 7, 11]]), -2, 0).tolist()
    ([[0, 5, 7]], [[11, 0, 0]])
    """
    length = numbers.shape[1]
    if distance >= 0:
        return nn.functional.pad(numbers, (distance, 0), value=missing)[:, :length]
    return nn.functional.pad(numbers, (0, -distance), value=missing)[:, -distance:]


def sides(window: Window) -> tuple[int, ...]:
    """The sides of a window: 1 for n-grams that end at a token, -1 for n-grams that begin at it. Raises InputError."""
    places: dict[str, tuple[int, ...]] = {"left": (1,), "both": (1, -1)}
    if window not in places:
        raise InputError(f"embedding: window {window!r}; choose left or both")
    return places[window]


def sign_numbers(parts: Sequence[Tensor], signs: int) -> Tensor:
    """The numbers (B, L) of an n-gram's tokens -> the index of its sign vector, below `signs` (B, L)."""
    products = [(part.remainder(PRIME) * pow(FACTOR, i + 1, PRIME)).remainder(PRIME) for i, part in enumerate(parts)]
    return torch.stack(products).sum(0).remainder(PRIME).remainder(signs)


def signed_codes(rows: Tensor, parts: Sequence[Tensor], table: HashedRows) -> Tensor:
    """Rows (B, L) of n-grams of `parts` -> codes (B, L) of a table that may have signs, row + R sign."""
    signs = len(table.patterns)
    return rows + table.num_rows * sign_numbers(parts, signs) if signs else rows


def checked_sizes(**sizes: int) -> None:
    """Raises InputError for a size below 1."""
    for name, value in sizes.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise InputError(f"embedding: {name} {value!r} is no whole number from 1; correct it")


def table_rows(base: Embedding, num_buckets: int | None, ratio: float) -> int:
    """The number of rows of a table: `ratio` times `num_buckets`, or, for None, times the rows of the vocabulary below.

    Raises InputError where there is no vocabulary, or no row is left.
    """
    buckets = base.vocabulary_rows if num_buckets is None else num_buckets
    if buckets is None:
        raise InputError(f"embedding: {base.stored_name()} has no vocabulary that rows could follow; set num_buckets")
    rows = round(ratio * buckets)
    checked_sizes(num_buckets=rows)
    return rows
