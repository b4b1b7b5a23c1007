"""The base of embeddings over neighbours: an embedding under them, and numbers of a token and those beside it."""

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
        """Its tables, and how many rows of each a token reads."""
        raise NotImplementedError

    def numbers(self, batch: Batch) -> Tensor:
        """A stable number of each token (B, L) int64: special tokens by rows, others by type; `missing` on padding."""
        specials = torch.arange(len(SPECIALS), device=batch.positions.device)
        type_ids = torch.cat([specials, self.base.type_ids(batch.codes)])  # (s + n,)
        return type_ids[batch.positions].masked_fill(~batch.mask, self.missing)

    def embed_types(self, codes: Tensor) -> Tensor:
        """Codes (n, c) -> what types have without neighbours, the vectors below (n, d)."""
        return self.base.embed_types(codes)

    def special_rows(self) -> Tensor:
        """Those below (s, d)."""
        return self.base.special_rows()

    def type_ids(self, codes: Tensor) -> Tensor:
        """As below (n,)."""
        return self.base.type_ids(codes)

    @property
    def vocabulary_rows(self) -> int | None:
        """As below."""
        return self.base.vocabulary_rows

    def initialise(self, vocabulary: Sequence[str]) -> None:
        """Passed on."""
        self.base.initialise(vocabulary)

    def narrow(self, codes: Tensor) -> None:
        """Passed on with `codes` (n, c); n-grams of a training are not known from its types."""
        self.base.narrow(codes)

    def widen(self) -> None:
        """Passed on."""
        self.base.widen()

    def undecayed(self) -> Iterable[nn.Parameter]:
        """Those below."""
        return self.base.undecayed()

    def output_matrix(self) -> Tensor | None:
        """That below (R, d)."""
        return self.base.output_matrix()

    def check_published(self, config: Mapping[str, Any], where: str) -> None:
        """As below."""
        self.base.check_published(config, where)

    def from_published(self, model: Published) -> dict[str, Tensor]:
        """Tensors (n, ...) of the embedding below; n-grams begin as they are."""
        below = self.base.from_published(model)
        return {**self.state_dict(), **{f"base.{key}": tensor for key, tensor in below.items()}}

    def embedding_parameters(self) -> int:
        """Those below in their frame, and all that is added."""
        return self.base.embedding_parameters() + self._added()

    def multiply_adds(self) -> int:
        """Those below, and of the linear layers for one token."""
        below = {id(part) for part in self.base.modules()}
        layers = [part for part in self.modules() if isinstance(part, nn.Linear) and id(part) not in below]
        return self.base.multiply_adds() + sum(layer.weight.numel() for layer in layers)

    def active_parameters(self, codes: Tensor) -> int:
        """Of one token with these codes (1, c): those below, its rows, and the layers behind the tables."""
        unread = sum((table.num_rows - rows) * table.width for table, rows in self.reads())
        return self.base.active_parameters(codes) + self._added() - unread

    def _added(self) -> int:
        below = {id(parameter) for parameter in self.base.parameters()}
        return sum(parameter.numel() for parameter in self.parameters() if id(parameter) not in below)


def neighbour(numbers: Tensor, distance: int, missing: int) -> Tensor:
    """Numbers (B, L) of the tokens so far to the left, of those to the right where `distance` is negative: (B, L).

    >>> neighbour(torch.tensor([[5, 7, 11]]), 1, 0).tolist(), neighbour(torch.tensor([[5, 7, 11]]), -2, 0).tolist()
    ([[0, 5, 7]], [[11, 0, 0]])
    """
    length = numbers.shape[1]
    if distance >= 0:
        return nn.functional.pad(numbers, (distance, 0), value=missing)[:, :length]
    return nn.functional.pad(numbers, (0, -distance), value=missing)[:, -distance:]


def sides(window: Window) -> tuple[int, ...]:
    """1 for n-grams that end at a token, -1 for those that begin at it. Raises InputError."""
    places: dict[str, tuple[int, ...]] = {"left": (1,), "both": (1, -1)}
    if window not in places:
        raise InputError(f"embedding: window {window!r}; choose left or both")
    return places[window]


def sign_numbers(parts: Sequence[Tensor], signs: int) -> Tensor:
    """The numbers (B, L) of an n-gram's tokens -> which of so many sign vectors it has (B, L)."""
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
    """Rows of a table: `ratio` times `num_buckets`, or times the vocabulary below where that is None.

    Raises InputError where there is no vocabulary, or no row is left.
    """
    buckets = base.vocabulary_rows if num_buckets is None else num_buckets
    if buckets is None:
        raise InputError(f"embedding: {base.stored_name()} has no vocabulary that rows could follow; set num_buckets")
    rows = round(ratio * buckets)
    checked_sizes(num_buckets=rows)
    return rows
