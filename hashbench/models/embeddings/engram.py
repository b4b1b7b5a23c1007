"""Engram at the input: gated memory of hashed n-grams over another embedding (Cheng et al. 2026, arXiv 2601.07372).

With c_t the number of the token at t and odd factors m_k, mix_n(t) = xor over k < n of (c_(t-k) m_k), n = 2 ... N; head
j of order n reads row mix_n mod P_nj, the P distinct primes. The rows side by side, e, give k = W_k e, v = W_v e and
a gate a = sigmoid(signed root of <norm(k), norm(h)> / sqrt(d)); with u = a v, h + u + conv(u) is the vector, conv a
short causal convolution. A vocabulary is numbered by its pieces without case, accents and white space.

Chosen here: it is at the input alone, where h is the vector of the embedding below; factors are drawn by SplitMix64,
for the rows of the vocabulary; rows begin as the suite's tables. A word's number is made of its code, so that only the
tokenizer unites forms of words. The convolution looks to the left as in the paper; `gate: false` leaves the sum of
rows, mapped.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
import torch
from torch import Tensor, nn

from hashbench.common.errors import InputError
from hashbench.common.splitmix import GAMMA, mix
from hashbench.models.embeddings.base import PAD, Batch, Embedding
from hashbench.models.embeddings.neighbours import OverNeighbours, checked_sizes, neighbour, signed_codes, table_rows
from hashbench.models.embeddings.over_encoding import ORDERS, over_bpe, over_words
from hashbench.models.embeddings.rows import HashedRows

KERNEL = 4  # of the convolution
SMALLEST_ROOT = 1e-6  # below the gate's root
EPS = 1e-5  # of the norms
REPLACED = "\ufffd"  # in pieces that are no whole characters


class Engram(OverNeighbours):
    """An embedding that adds rows of hashed n-grams to the vectors of another, by a gate and a convolution."""

    missing = PAD

    def __init__(
        self,
        dim: int,
        base: Embedding,
        num_buckets: int | None = None,
        orders: int = ORDERS,
        heads: int = 4,
        width: int = 64,
        gate: bool = True,
        compress: bool = True,
        ratio: float = 1.0,
        seed: int = 0,
        signs: int = 0,
    ) -> None:
        """`num_buckets`: the size that primes are searched from, else the vocabulary's rows, both times `ratio`;
        `width`: of an order, all heads together."""
        super().__init__(base)
        checked_sizes(orders=orders, heads=heads, width=width)
        if orders < 2 or width % heads:
            remedy = f"take 2 orders or more, and a multiple of {heads} heads"
            raise InputError(f"embedding: orders {orders}, width {width}; {remedy}")
        self.orders, self.heads = orders, heads
        self.sizes = primes_from(table_rows(base, num_buckets, ratio), heads * (orders - 1))
        self.factors = multipliers(base.id_range, orders, seed)
        self.table = HashedRows(sum(self.sizes), width // heads, signs=signs)
        self.value = nn.Linear((orders - 1) * width, dim)
        self.gate = Gate((orders - 1) * width, dim, dilation=orders) if gate else None
        rows = base.vocabulary_rows if compress else None
        self.canonical: Tensor | None
        self.register_buffer("canonical", None if rows is None else torch.arange(rows))  # (V,) of a vocabulary

    def initialise(self, vocabulary: Sequence[str]) -> None:
        """Initialises the embedding below; strings that differ in case, accents or white space alone get one number."""
        super().initialise(vocabulary)
        if self.canonical is not None:
            self.canonical.copy_(torch.tensor(canonical_numbers(vocabulary)))

    def reads(self) -> Iterable[tuple[HashedRows, int]]:
        """The table of all heads; a token reads a row for each head."""
        return [(self.table, len(self.sizes))]

    def rows(self, numbers: Tensor) -> Tensor:
        """Numbers of tokens (B, L) -> rows of the table, one for each head (B, L, h), orders ascending."""
        parts = [neighbour(numbers, k, self.missing) for k in range(self.orders)]
        if self.canonical is not None:
            parts = [self.canonical[part] for part in parts]
        hashes, mixed = [], parts[0] * self.factors[0]
        offsets = [sum(self.sizes[:i]) for i in range(len(self.sizes))]
        for n in range(2, self.orders + 1):
            mixed = mixed ^ (parts[n - 1] * self.factors[n - 1])
            for i in range((n - 2) * self.heads, (n - 1) * self.heads):
                hashes.append(signed_codes(mixed.remainder(self.sizes[i]) + offsets[i], parts[:n], self.table))
        return torch.stack(hashes, dim=2)

    def forward(self, batch: Batch) -> Tensor:
        """A batch -> token vectors (B, L, d)."""
        below = self.base(batch)
        memory = self.table.signed_rows(self.rows(self.numbers(batch))).flatten(2)  # (B, L, (N - 1) D)
        vectors: Tensor = self.value(memory)
        return below + (vectors if self.gate is None else self.gate(memory, vectors, below))


class Gate(nn.Module):
    """A module that weights each token's n-gram vector by a gate and adds a convolution over tokens."""

    def __init__(self, memory: int, dim: int, dilation: int) -> None:
        super().__init__()
        self.key = nn.Linear(memory, dim)
        self.key_norm, self.state_norm, self.value_norm = (nn.RMSNorm(dim, eps=EPS) for _ in range(3))
        self.reach = dilation * (KERNEL - 1)
        self.convolution = nn.Conv1d(dim, dim, KERNEL, groups=dim, dilation=dilation, bias=False)

    def forward(self, memory: Tensor, vectors: Tensor, below: Tensor) -> Tensor:
        """Rows (B, L, m), values (B, L, d) and vectors below (B, L, d) -> what is added to these (B, L, d)."""
        scores = (self.key_norm(self.key(memory)) * self.state_norm(below)).sum(2, keepdim=True)
        scores = scores / math.sqrt(below.shape[2])  # (B, L, 1)
        rooted = scores.sign() * scores.abs().clamp(min=SMALLEST_ROOT).sqrt()
        taken = rooted.sigmoid() * vectors
        padded = nn.functional.pad(self.value_norm(taken).transpose(1, 2), (self.reach, 0))  # (B, d, L + r)
        return taken + nn.functional.silu(self.convolution(padded)).transpose(1, 2)


def multipliers(numbers: int, orders: int, seed: int) -> list[int]:
    """An odd factor for each position of an n-gram of numbers below `numbers`; products stay below 2^63.

    >>> multipliers(1_000, 3, 0)
    [1032908777371477, 6779975073340089, 4869134453997447]
    """
    half = max(1, (2**63 - 1) // numbers // 2)
    drawn = mix(np.array([(seed + GAMMA * (i + 2)) % 2**64 for i in range(orders)], dtype=np.uint64))
    return [2 * (int(number) % half) + 1 for number in drawn]


@cache
def primes_from(least: int, count: int) -> tuple[int, ...]:
    """The first primes from `least` on.

    >>> primes_from(1_000, 4)
    (1009, 1013, 1019, 1021)
    """
    primes: list[int] = []
    number = max(2, least)
    while len(primes) < count:
        if all(number % divisor for divisor in range(2, math.isqrt(number) + 1)):
            primes.append(number)
        number += 1
    return tuple(primes)


def canonical_numbers(strings: Sequence[str]) -> list[int]:
    """A number for each string of a vocabulary, equal where two have one normal form, counted by first occurrence.

    >>> canonical_numbers(["<s>", "the", "\u0120The", "th\u00c3\u00a9"])
    [0, 1, 1, 1]
    """
    from tokenizers.decoders import ByteLevel

    decode = ByteLevel().decode
    numbers: dict[str, int] = {}
    return [numbers.setdefault(normal_form(decode([string]), string), len(numbers)) for string in strings]


def normal_form(text: str, piece: str) -> str:
    """A piece's text without case, accents and white space around it; the piece itself where it is no whole text.

    >>> normal_form(" Caf\u00e9 ", ""), normal_form(" ", ""), normal_form("\ufffd", "\u00e2")
    ('cafe', ' ', '\u00e2')
    """
    if REPLACED in text:
        return piece
    letters = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text))
    plain = "".join(letter for letter in letters if unicodedata.category(letter) != "Mn").lower()
    joined = re.sub("[ \t\r\n]+", " ", plain)
    return joined if joined == " " else joined.strip() or text


GROUP = "engram"
MODELS = [
    over_bpe(
        "engram-input-bpe", Engram, "mlm", "BPE pieces, and gated rows of hashed pairs and triples", GROUP, ratio=0.25,
    ),
    over_bpe(
        "engram-input-sum-bpe", Engram, "mlm", "the same without gate and convolution", GROUP, ratio=0.25, gate=False,
    ),
    over_words(
        "engram-input-md-proj", Engram, "projected MD5 bits of words, gated rows of hashed pairs and triples", GROUP,
        num_buckets=20_000,
    ),
    over_words(
        "engram-input-sum-md-proj", Engram, "the same without gate and convolution", GROUP,
        num_buckets=20_000, gate=False,
    ),
]  # fmt: skip
