"""Fixed binary codes: the bits of a hash of the word, repeated to the width; nothing is trained (Bochkov 2026,
arXiv 2605.09751).

x_i = s (2 b_(i mod T) - 1), b the first T bits of HMAC-MD5 of the word.

Differs from the paper: a word has the bits of a hash, a token of its vocabulary the bits of its number; values
are -s and s with s = 0.02, so that BERT's position vectors are not drowned; `values: bits` and `scale: 1` are the
paper's 0 and 1. Special tokens have learned rows.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from hashbench.common.errors import InputError
from hashbench.models.embeddings.base import CodeSpec, EmbeddingSpec, ModelSpec
from hashbench.models.embeddings.hashformer import BITS, BitEmbedding
from hashbench.models.layers import INIT_STD


class BinaryCodes(BitEmbedding):
    """Vectors of words that are their bits; only special tokens have parameters."""

    def __init__(
        self, dim: int, bits: int = BITS, values: Literal["signs", "bits"] = "signs", scale: float = INIT_STD
    ) -> None:
        """`bits`: T, of the 128; `values`: signs for -1 and 1, bits for 0 and 1, which are multiplied by `scale`."""
        if values not in ("signs", "bits"):
            raise InputError(f"embedding: values {values!r}; choose signs or bits")
        if not isinstance(bits, int) or isinstance(bits, bool) or not 1 <= bits <= BITS:
            raise InputError(f"embedding: bits {bits!r} is no whole number from 1 to {BITS}; correct it")
        super().__init__(dim, bits, generic_row=False)
        self.dim, self.values, self.scale = dim, values, scale

    def from_bits(self, bits: Tensor) -> Tensor:
        """Bits (n, 128) -> vectors (n, d)."""
        chosen = bits[:, torch.arange(self.dim, device=bits.device) % self.bits]  # (n, d)
        chosen = chosen.to(self.specials.dtype)
        return self.scale * (2 * chosen - 1 if self.values == "signs" else chosen)

    def formula_rows(self) -> int:
        """Rows that are trained: none."""
        return 0


MODELS = [
    ModelSpec(
        name="binary-codes",
        code=CodeSpec("md5-bits"),
        embedding=EmbeddingSpec(BinaryCodes),
        groups=("controls",),
        summary="the 128 bits of a word's MD5 as its vector; nothing is trained",
    )
]
