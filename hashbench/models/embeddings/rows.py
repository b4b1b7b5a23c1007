"""Tables of vectors that embeddings look up rows in; a training may narrow one to the rows that its types reach.

Rows with signs are HashedNets' (Chen, Wilson, Tyree, Weinberger and Chen, ICML 2015, section 4.2): a second hash gives
each weight a sign, so that what collides does not only add up. Chosen here: one of a few vectors of signs for a whole
row.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import torch
from torch import Tensor, nn

from hashbench.models.embeddings.base import SPECIALS, Embedding
from hashbench.models.layers import draw_weights

NO_ROW = -1  # in codes, where a type has fewer rows than another
SIGN_SEED = 20  # of the fixed signs


class RowMatrix(nn.Module):
    """A learned matrix (R, w) whose rows are looked up; a training may narrow it to some rows."""

    def __init__(self, num_rows: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(draw_weights(torch.empty(num_rows, width)))  # (R, w)
        self.whole: Tensor | None = None  # (R, w) while the table is narrowed
        self.places: Tensor | None
        self.register_buffer("places", None, persistent=False)  # (R,) a row's place in the narrowed table

    def keep(self, rows: Tensor) -> None:
        """Reduces the parameters to these rows, sorted (r,) without repeats, until `widen`.

        Optimizer, clipping and the clearing of gradients pass over a table's every row at each step, and a task reads a
        fraction of the rows. Any other row would get no gradient, and without weight decay stay what it is.
        """
        self.widen()
        self.whole = self.weight.detach()
        self.places = torch.full((len(self.whole),), -1, device=self.whole.device)
        self.places[rows] = torch.arange(len(rows), device=self.whole.device)
        self.weight = nn.Parameter(self.whole[rows])  # (r, w)

    def widen(self) -> None:
        """Writes the rows that `keep` kept back into the whole matrix; does nothing where it is whole."""
        if self.whole is None or self.places is None:
            return
        whole, rows = self.whole.to(self.weight.device), (self.places >= 0).nonzero()[:, 0]
        whole[rows] = self.weight.detach()
        self.weight, self.whole, self.places = nn.Parameter(whole), None, None

    @property
    def rows_in_all(self) -> int:
        """R, the number of rows, also while the table is narrowed."""
        return len(self.weight if self.whole is None else self.whole)

    def here(self, rows: Tensor) -> Tensor:
        """Row numbers (n, ...) of the whole table -> row numbers of the table as it is, perhaps narrowed."""
        return rows if self.places is None else self.places[rows]

    def look_up(self, rows: Tensor) -> Tensor:
        """Row numbers of the whole table (n, ...) -> rows (n, ..., w)."""
        return nn.functional.embedding(self.here(rows), self.weight)


class RowTable(RowMatrix, Embedding):
    """An embedding that consists of one table."""

    def active_parameters(self, codes: Tensor) -> int:
        """Parameters of one row for each column of codes (1, c)."""
        return int(codes.shape[1] * self.weight.shape[1])

    def reached(self, codes: Tensor) -> Tensor:
        """The rows that special tokens and the types with these codes (n, c) look up, sorted (r,)."""
        raise NotImplementedError

    def narrow(self, codes: Tensor) -> None:
        """Reduces the parameters to the rows that special tokens and `codes` (n, c) look up, until `widen`."""
        self.keep(self.reached(codes.cpu().long()))


class VocabularyTable(RowTable):
    """A table whose codes are its rows, (n, 1): the special tokens first, then the entries of a vocabulary."""

    def reached(self, codes: Tensor) -> Tensor:
        """The rows that special tokens and codes (n, c) look up, sorted (r,)."""
        # sorted: specials first.
        return torch.cat([torch.arange(len(SPECIALS)), codes[:, 0]]).unique()

    def type_ids(self, codes: Tensor) -> Tensor:
        """Numbers (n,) of types with codes (n, 1), which are the codes themselves."""
        return codes[:, 0].long()

    @property
    def vocabulary_rows(self) -> int:
        """R, the number of rows, which all belong to the vocabulary."""
        return self.rows_in_all


class HashedRows(RowMatrix):
    """A table whose rows hashes choose, several for a type: its vector is their sum or mean.

    With `signs` a row is multiplied by one of so many fixed vectors of 1 and -1, which another hash chooses, so that
    types that share a row differ (HashedNets, Chen et al. 2015, section 4.2). A code is then row + R sign; without
    signs it is the row.
    """

    def __init__(self, num_rows: int, width: int, *, signs: int = 0, combine: Literal["sum", "mean"] = "sum") -> None:
        super().__init__(num_rows, width)
        self.num_rows, self.width, self.combine = num_rows, width, combine
        patterns = torch.empty(signs, width)
        if signs and not patterns.is_meta:
            drawn = torch.randint(2, patterns.shape, generator=torch.Generator().manual_seed(SIGN_SEED))
            patterns.copy_(2.0 * drawn - 1.0)
        self.patterns: Tensor
        self.register_buffer("patterns", patterns, persistent=False)  # (signs, w)

    def forward(self, codes: Tensor, weights: Tensor | None = None) -> Tensor:
        """Codes (n, m), NO_ROW where a type has fewer, and perhaps a factor of each (n, m) -> vectors (n, w)."""
        codes = codes.long()
        present = codes != NO_ROW
        if len(self.patterns) or torch.compiler.is_exporting():  # the bag below is a loop in ONNX
            return self._summed(codes, present, weights)
        lengths = present.sum(1)
        vectors = nn.functional.embedding_bag(
            self.here(codes[present]), self.weight, lengths.cumsum(0) - lengths, mode="sum",
            per_sample_weights=None if weights is None else weights[present],
        )  # fmt: skip
        return self._averaged(vectors, lengths)

    def _summed(self, codes: Tensor, present: Tensor, weights: Tensor | None) -> Tensor:
        """Codes (n, m), which codes are rows (n, m), factors (n, m) or None -> vectors (n, w)."""
        factors = present.to(self.weight.dtype) if weights is None else present * weights
        vectors = torch.einsum("nmw,nm->nw", self.signed_rows(codes.clamp(min=0)), factors)
        return self._averaged(vectors, present.sum(1))

    def signed_rows(self, codes: Tensor) -> Tensor:
        """Codes (n, ...), none NO_ROW -> each one's row with its signs (n, ..., w)."""
        if not len(self.patterns):
            return self.look_up(codes)
        return self.look_up(codes % self.num_rows) * self.patterns[codes // self.num_rows].to(self.weight)

    def _averaged(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """Sums (n, w) of `lengths` (n,) rows -> vectors (n, w): their means where `combine` is mean, else the sums."""
        return vectors / lengths.clamp(min=1)[:, None] if self.combine == "mean" else vectors

    def reached(self, codes: Tensor) -> Tensor:
        """The rows that types with these codes (n, m) look up, sorted (r,)."""
        return (codes[codes != NO_ROW] % self.num_rows).unique()


class HashedTables(Embedding):
    """An embedding of one or several tables that hashes choose rows of, and perhaps layers behind them.

    Special tokens have separate rows. A family implements `tables`, and `embed_types` by them.
    """

    def __init__(self, dim: int, n_specials: int) -> None:
        super().__init__()
        self.specials = nn.Parameter(draw_weights(torch.empty(n_specials, dim)))  # (s, d)

    def tables(self, codes: Tensor) -> Iterable[tuple[HashedRows, Tensor]]:
        """Each table, with the columns of codes (n, c) that choose its rows."""
        raise NotImplementedError

    def special_rows(self) -> Tensor:
        """Vectors of the special tokens (s, d), which have a separate table."""
        return self.specials

    def narrow(self, codes: Tensor) -> None:
        """Reduces the parameters of each table to the rows that `codes` (n, c) look up, until `widen`."""
        for table, part in self.tables(codes.cpu().long()):
            table.keep(table.reached(part))

    def widen(self) -> None:
        """Writes the rows that `narrow` kept back into the whole tables."""
        for part in self.modules():
            if isinstance(part, HashedRows):
                part.widen()

    def active_parameters(self, codes: Tensor) -> int:
        """Parameters that one type with codes (1, c) reads: its distinct rows, and the layers behind the tables."""
        tables = list(self.tables(codes.long()))
        rows = sum(len(table.reached(part)) * table.width for table, part in tables)
        inside = sum(table.num_rows * table.width for table, _ in tables)
        return self.embedding_parameters() - inside - self.specials.numel() + rows
