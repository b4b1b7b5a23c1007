"""The table of tokens of a model of the `transformers` library, apart from its encoder (`encoders/library.py`).

No MODELS here: these models are named `use: transformers:NAME`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from hashbench.common.errors import InputError
from hashbench.models.coders.base import FIRST_ROW
from hashbench.models.embeddings.base import Batch, Published
from hashbench.models.embeddings.rows import RowTable


class LibraryTable(RowTable):
    """A table of tokens in the library's own numbering, e = T[id]; codes count its ids from FIRST_ROW on."""

    ids: Tensor

    def __init__(self, dim: int, rows: int, path: str, specials: Sequence[int], width: int | None = None) -> None:
        """`path`: of the table in the library's model; `specials`: ids of start, padding, end, unknown, mask; `width`:
        of the table, where the encoder maps its rows to `dim` itself."""
        super().__init__(rows, width or dim)
        self.path = path
        self.register_buffer("ids", torch.tensor(list(specials)), persistent=False)  # (s,)

    def check_published(self, config: Mapping[str, Any], where: str) -> None:
        """Accepts any config, since the shape of the table shows whether the model is the right one."""

    def from_published(self, model: Published) -> dict[str, Tensor]:
        """The published table (R, w), as this embedding's state."""
        table = tensor_at(model, f"{self.path}.weight")
        if table is None:
            raise InputError(f"{model.where}: no tensor '{self.path}.weight'; these are no weights of this model")
        return {"weight": table}

    def rows_of(self, codes: Tensor) -> Tensor:
        """Codes (n, 1) -> row numbers of the table (n,)."""
        numbers = codes[:, 0]
        special = self.ids.to(numbers.device)[numbers.clamp(max=len(self.ids) - 1)]
        return torch.where(numbers < FIRST_ROW, special, numbers - FIRST_ROW)

    def reached(self, codes: Tensor) -> Tensor:
        """The rows that special tokens and `codes` (n, c) look up, sorted (r,)."""
        return torch.cat([self.ids.cpu(), self.rows_of(codes)]).unique()

    def embed_types(self, codes: Tensor) -> Tensor:
        """Codes (n, 1) -> vectors (n, w)."""
        return self.look_up(self.rows_of(codes))

    def special_rows(self) -> Tensor:
        """Vectors of the special tokens (s, w)."""
        return self.look_up(self.ids)

    def forward(self, batch: Batch) -> Tensor:
        """A batch -> token vectors (B, L, w): special tokens and types in one look-up, as in `LookupTable`."""
        rows = self.look_up(torch.cat([self.ids, self.rows_of(batch.codes)]))  # (s + n, w)
        return torch.nn.functional.embedding(batch.positions, rows)  # (B, L, w)


def tensor_at(model: Published, path: str) -> Tensor | None:
    """The tensor (n, ...) at a path in the library's base model, under any prefix in the files; None without one."""
    names = [name for name in model.tensors if name == path or name.endswith(f".{path}")]
    return model.tensors[min(names, key=len)] if names else None
