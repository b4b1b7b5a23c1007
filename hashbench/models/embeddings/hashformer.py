"""HashFormers: words without a vocabulary (Xue and Aletras 2022, sections 3.2 to 3.5; tables 1, 2, 3 and 6).

A type is hashed by MD5 or LSH, to a row of a table (Emb, 50,260 or 1,033 buckets) or to T = 128 bits tau:
Pool  e   = sum_j B[c_j] * softmax_j(W)[j]          (eq. 1)  c_j: the j-th 10 bits of tau as a number
Add   e   = sum_j B^j[tau_j] / sqrt(T)              (eq. 2)
Proj  e_j = Pearson(tau, w_j)                       (eq. 3)
In the bit models an ordinary token also gets a learned "ordinary token" row (released code), which table 2 counts.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn

from hashbench.models.embeddings.base import (
    SPECIALS,
    Batch,
    CodeSpec,
    Embedding,
    EmbeddingSpec,
    FreeSize,
    ModelSpec,
    OriginSpec,
    TextSpec,
    folded,
)
from hashbench.models.embeddings.lookup import LookupTable
from hashbench.models.layers import Dropout, at_least_float32, draw_weights

BITS = 128  # T, the length of both the MD5 and the LSH code
CHUNK_BITS = 10  # k: Pool's codewords are numbers below 2^10
# "50K" is RoBERTa's vocabulary without specials; "1K" follows from table 2.
BUCKETS_50K, BUCKETS_1K = 50_260, 1_033


class BitEmbedding(Embedding):
    """The base of Pool, Add and Proj: codes are packed bits, special tokens have a separate table.

    `generic_row` adds row 5 of that table to every ordinary token, as the released code does; the paper has none.
    """

    def __init__(self, dim: int, bits: int, generic_row: bool) -> None:
        super().__init__()
        self.bits, self.generic_row, self.generic_row_parameters = bits, generic_row, dim if generic_row else 0
        self.specials = nn.Parameter(draw_weights(torch.empty(len(SPECIALS) + generic_row, dim)))  # (6, d)

    def from_bits(self, bits: Tensor) -> Tensor:
        """The model's equation: bits (n, T) as floats 0 and 1 -> vectors (n, d)."""
        raise NotImplementedError

    def special_base(self) -> Tensor | float:
        """The value of the equation for special tokens, whose bits are all 0: (n, d), n = 1, or 0."""
        return 0.0

    def embed_types(self, codes: Tensor) -> Tensor:
        """Packed bits (n, T / 8) -> vectors (n, d)."""
        vectors = self.from_bits(unpack_bits(codes))  # (n, d)
        return vectors + self.specials[len(SPECIALS)] if self.generic_row else vectors

    def type_ids(self, codes: Tensor) -> Tensor:
        """Numbers (n,) of types, hashed from their bits (n, T / 8), packed or not."""
        return folded(unpack_bits(codes).long())

    def special_rows(self) -> Tensor:
        """Vectors of the special tokens (s, d), s = 5: a separate row each, plus the equation for bits of 0."""
        return self.specials[: len(SPECIALS)] + self.special_base()

    def formula_rows(self) -> int:
        """Vectors of size d that the equation has, as appendix B counts them."""
        raise NotImplementedError

    def active_parameters(self, codes: Tensor) -> int:
        """The parameters that the equation reads for one type (1, c), and the ordinary-token row."""
        return self.formula_rows() * self.specials.shape[1] + self.generic_row_parameters

    def embedding_parameters(self) -> int:
        """Parameters of the formula's rows (eq. 13 to 15) and the ordinary-token row, which reproduces table 2."""
        return self.formula_rows() * self.specials.shape[1] + self.generic_row_parameters


class Pool(BitEmbedding):
    """Eq. 1: a codebook of 2^k vectors, looked up once for each k bits and weighted dimension by dimension.

    The last chunk holds the bits that are left (128 = 12 * 10 + 8) and is not padded (released code).
    Differs from the released code: its dropout on codewords draws a mask for every occurrence, here for every distinct
    type of the batch; its padding codeword is random, here zero unless `zero_pad_rows=False`; frozen in both.
    """

    def __init__(
        self,
        dim: int,
        bits: int = BITS,
        generic_row: bool = True,
        codeword_dropout: float = 0.1,
        zero_pad_rows: bool = True,
    ) -> None:
        super().__init__(dim, bits, generic_row)
        self.powers: Tensor
        self.register_buffer("powers", chunk_powers(bits, CHUNK_BITS), persistent=False)  # (T, chunks)
        chunks = -(-bits // CHUNK_BITS)
        self.codebook = nn.Parameter(draw_weights(torch.empty(2**CHUNK_BITS, dim)))  # B (1024, d)
        self.weight = nn.Parameter(draw_weights(torch.empty(chunks, dim)))  # W (13, d)
        padding = torch.zeros(1, dim) if zero_pad_rows else draw_weights(torch.empty(1, dim))
        self.padding = nn.Parameter(padding, requires_grad=False)  # the codeword of special tokens
        self.dropout = Dropout(codeword_dropout)

    def codewords(self, bits: Tensor) -> Tensor:
        """Bits (n, T) -> codebook rows of the chunks (n, chunks), first bit highest. Exact in float32: below 2^10."""
        with torch.autocast(bits.device.type, enabled=False):  # 16-bit floats cannot hold 1023
            return (bits.float() @ self.powers).long()

    def from_bits(self, bits: Tensor) -> Tensor:
        """Bits (n, T) -> vectors (n, d)."""
        vectors = nn.functional.embedding(self.codewords(bits), self.codebook)  # (n, chunks, d)
        return (self.dropout(vectors) * torch.softmax(self.weight, 0)).sum(1)

    def special_base(self) -> Tensor:
        """The equation with the padding codeword in every chunk: dropout apart that codeword itself, (n, d), n = 1."""
        chunks = self.dropout(self.padding.expand(len(self.weight), -1))  # (chunks, d)
        return (chunks * torch.softmax(self.weight, 0)).sum(0, keepdim=True)  # (1, d)

    def active_parameters(self, codes: Tensor) -> int:
        """Parameters of a codeword for each chunk, of the weights and of the ordinary-token row; codes (1, c)."""
        return 2 * self.weight.numel() + self.generic_row_parameters

    def formula_rows(self) -> int:
        """Rows of codebook and weights: 1024 + 13."""
        return len(self.codebook) + len(self.weight)


class Add(BitEmbedding):
    """Eq. 2: T codebooks of two vectors, one chosen by each bit, summed and divided by sqrt(T).

    As in the released code `weight_dropout` hits the vectors themselves, one mask a pass for all tokens. The paper has
    no such dropout.
    """

    def __init__(
        self,
        dim: int,
        bits: int = BITS,
        generic_row: bool = True,
        weight_dropout: float = 0.1,
        add_scale: float | None = None,
    ) -> None:
        super().__init__(dim, bits, generic_row)
        # [0]: vectors of bit 0, [1]: of bit 1.
        self.weight = nn.Parameter(draw_weights(torch.empty(2, bits, dim)))
        self.dropout = Dropout(weight_dropout)
        self.scale = math.sqrt(bits) if add_scale is None else add_scale

    def from_weight(self, bits: Tensor, weight: Tensor) -> Tensor:
        """Bits (n, T) -> vectors (n, d): b0 (1 - tau) + b1 tau = sum b0 + tau (b1 - b0), one product instead of two."""
        zeros, ones = weight  # (T, d) each
        return torch.addmm(zeros.sum(0), bits, ones - zeros) / self.scale

    def from_bits(self, bits: Tensor) -> Tensor:
        """Bits (n, T) -> vectors (n, d), with a freshly drawn dropout mask."""
        return self.from_weight(bits, self.dropout(self.weight))

    def special_base(self) -> Tensor:
        """The equation for bits that are all 0: the sum of the vectors of bit 0, scaled (n, d), n = 1."""
        return self.from_bits(self.weight.new_zeros(1, self.bits))

    def forward(self, batch: Batch) -> Tensor:
        """A batch -> token vectors (B, L, d). Special tokens, with bits of 0, share one dropout mask with the types."""
        bits = unpack_bits(batch.codes)  # (n, T)
        vectors = self.from_weight(torch.cat([bits.new_zeros(1, self.bits), bits]), self.dropout(self.weight))
        special = self.specials[: len(SPECIALS)] + vectors[0]  # (5, d)
        ordinary = vectors[1:] + self.specials[len(SPECIALS)] if self.generic_row else vectors[1:]  # (n, d)
        return nn.functional.embedding(batch.positions, torch.cat([special, ordinary]))

    def multiply_adds(self) -> int:
        """T d: the bits times the differences of the vectors."""
        return self.bits * self.specials.shape[1]

    def formula_rows(self) -> int:
        """2 T: two vectors for each bit."""
        return 2 * self.bits


class Projection(BitEmbedding):
    """Eq. 3: component j is the Pearson correlation of the bits with the learned vector w_j.

    Differs from the paper: w_j is in R^T for j = 1 .. d (the paper's "w in R^d" is a slip); norms are clamped below
    at `proj_eps` (released code), so bits that are all 0 or all 1, as special tokens', give exactly 0.
    """

    def __init__(self, dim: int, bits: int = BITS, generic_row: bool = True, proj_eps: float = 1e-8) -> None:
        super().__init__(dim, bits, generic_row)
        self.weight = nn.Parameter(draw_weights(torch.empty(dim, bits)))  # W (d, T)
        self.eps = proj_eps

    def from_bits(self, bits: Tensor) -> Tensor:
        """Bits (n, T) -> vectors (n, d) in [-1, 1]. In float32 whatever autocast says: 1e-8 is 0 in float16."""
        with torch.autocast(bits.device.type, enabled=False):
            weight = at_least_float32(self.weight)
            return unit_rows(bits.to(weight.dtype), self.eps) @ unit_rows(weight, self.eps).T

    def multiply_adds(self) -> int:
        """T d, of the product with the matrix."""
        return self.weight.numel()

    def formula_rows(self) -> int:
        """T, since the matrix is (d, T)."""
        return self.bits


def unpack_bits(codes: Tensor) -> Tensor:
    """Packed bits (n, T / 8) uint8, highest bit first -> (n, T) float32 zeros and ones. Floats are unpacked already.

    >>> unpack_bits(torch.tensor([[0b10000001]], dtype=torch.uint8)).tolist()
    [[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]]
    """
    if codes.is_floating_point():
        return codes
    places = torch.arange(7, -1, -1, dtype=torch.uint8, device=codes.device)
    return ((codes[..., None] >> places) & 1).flatten(1).float()  # (n, T / 8, 8) -> (n, T)


def unit_rows(rows: Tensor, eps: float) -> Tensor:
    """Each row (n, T) minus its mean, divided by its norm or eps; products of two such rows are correlations."""
    return nn.functional.normalize(rows - rows.mean(1, keepdim=True), dim=1, eps=eps)


def chunk_powers(bits: int, size: int) -> Tensor:
    """The matrix (T, chunks) that turns bits into the numbers of their chunks: a chunk's last bit counts 1.

    >>> chunk_powers(5, 2).tolist()
    [[2.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    powers = torch.zeros(bits, -(-bits // size))
    for bit in range(bits):
        chunk, last = bit // size, min(bits, (bit // size + 1) * size) - 1
        powers[bit, chunk] = 2.0 ** (last - bit)
    return powers


Hashing = Literal["md", "lsh"]
CODERS: dict[Hashing, dict[str, str]] = {
    "md": {"rows": "md5-rows", "bits": "md5-bits"},
    "lsh": {"rows": "lsh-rows", "bits": "lsh-bits"},
}
SMALL_CODER: dict[Hashing, dict[str, int]] = {"md": {}, "lsh": {"max_features": 500}}
BUCKETS = {"emb-50k": BUCKETS_50K, "emb-1k": BUCKETS_1K}
EQUATIONS: dict[str, type[BitEmbedding]] = {"pool": Pool, "add": Add, "proj": Projection}


def _spec(hashing: Hashing, form: str, tokenizer: Literal["words", "bpe"]) -> ModelSpec:
    """A named model, of a hash, a form of the embedding and a tokenizer."""
    tokens = "BPE pieces" if tokenizer == "bpe" else "words"
    small = SMALL_CODER[hashing]
    if form in EQUATIONS:
        code, embedding = CodeSpec(CODERS[hashing]["bits"], small=small), EmbeddingSpec(EQUATIONS[form])
    else:
        rows = BUCKETS[form] + len(SPECIALS)
        code = CodeSpec(CODERS[hashing]["rows"], {"num_buckets": BUCKETS[form]}, {**small, "num_buckets": 59})
        embedding = EmbeddingSpec(LookupTable, {"num_rows": rows}, {"num_rows": 64})
    return ModelSpec(
        name=f"hashformer-{hashing}-{form}" + ("-bpe" if tokenizer == "bpe" else ""),
        text=TextSpec(tokenizer),
        code=code,
        embedding=embedding,
        free_size=None if form in EQUATIONS else FreeSize("code", "num_buckets"),
        origin=OriginSpec("hashformers", "2-class fine-tuning model without pre-training heads"),
        groups=("hashformers-bpe",) if tokenizer == "bpe" else ("hashformers",),
        summary=f"{tokens} hashed by {hashing.upper()}, {form}, shuffle + random",
    )


MODELS = [_spec(h, form, "words") for h in CODERS for form in (*BUCKETS, *EQUATIONS)]
MODELS += [_spec(h, form, "bpe") for h in CODERS for form in ("emb-50k", "proj")]  # table 6
