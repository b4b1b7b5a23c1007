"""CANINE-C: characters hashed into eight small tables (Clark et al. 2022), a row of HashFormers' tables 1 to 3.

A type is a code point c. Hash k of it is ((c + 1) p_k) mod 16,384 for the k-th of eight primes; the eight rows that the
hashes look up, 96 wide each, are concatenated. The constants are the released code's.

All eight hashes collide together: each prime is odd, so multiplying by it is a bijection modulo 2^14, and two code
points share either all rows or none. The embedding is one table of 16,384 whole vectors, indexed by c mod 16,384: the
special tokens share their bucket numbers with U+2000 to U+2003, wide spaces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from hashbench.common.errors import InputError
from hashbench.models.embeddings.base import (
    Batch,
    CodeSpec,
    Counts,
    EmbeddingSpec,
    EncoderSpec,
    Frame,
    HeadSpec,
    ModelSpec,
    OriginSpec,
    Parts,
    Published,
    Template,
    TextSpec,
    TrainingSpec,
    stored,
)
from hashbench.models.embeddings.rows import RowTable

PRIMES = (31, 43, 59, 61, 73, 97, 103, 113, 137, 149, 157, 173, 181, 193, 211, 223)  # released code
# Special tokens are code points of the private use area; padding is U+0000. In the order of every template's five.
SPECIAL_POINTS = {"[CLS]": 0xE000, "[PAD]": 0x0000, "[SEP]": 0xE001, "[BOS]": 0xE002, "[MASK]": 0xE003}
HUB_NAME = "google/canine-c"
MAX_CHARACTERS = 2048  # of an input; the released model was trained on no more
# Out of 16,384, by the read-me of the released code, which counts no others.
TRAINED_POSITIONS = 2048
BUCKETS_IN_APPENDIX = 16_000  # HashFormers, appendix B, eq. 10; the checkpoint has 16,384


class CharacterHashes(RowTable):
    """e(c) = [T_1[h_1(c)]; ...; T_K[h_K(c)]], h_k(c) = ((c + 1) p_k) mod buckets: rows of the K tables side by side.

    All tables lie in one matrix (K buckets, d / K), the k-th from row k * buckets on.
    """

    def __init__(self, dim: int, num_hashes: int = 8, num_buckets: int = 16_384) -> None:
        if not 1 <= num_hashes <= len(PRIMES) or dim % num_hashes:
            sizes = f"num_hashes {num_hashes} and dim {dim}"
            raise InputError(f"embedding: {sizes}; take 1 to {len(PRIMES)} hashes, a number that divides the dim")
        if num_buckets < 1:
            raise InputError(f"embedding: num_buckets {num_buckets}; take at least one")
        super().__init__(num_hashes * num_buckets, dim // num_hashes)
        self.dim, self.num_buckets = dim, num_buckets
        self.primes: Tensor
        self.special_points: Tensor
        self.register_buffer("primes", torch.tensor(PRIMES[:num_hashes]), persistent=False)  # (K,)
        points = torch.tensor(list(SPECIAL_POINTS.values()))[:, None]  # (s, 1)
        self.register_buffer("special_points", points, persistent=False)

    def buckets(self, codes: Tensor) -> Tensor:
        """Code points (n, 1) int64 -> the K hashes (n, K), each below `num_buckets`.

        >>> CharacterHashes(8).buckets(torch.tensor([[97]])).tolist()[0][:3]
        [3038, 4214, 5782]
        """
        return (codes + 1) * self.primes.to(codes.device) % self.num_buckets

    def rows(self, codes: Tensor) -> Tensor:
        """Code points (n, 1) int64 -> rows of the whole matrix (n, K)."""
        buckets = self.buckets(codes)  # (n, K)
        return buckets + self.num_buckets * torch.arange(buckets.shape[1], device=codes.device)

    def reached(self, codes: Tensor) -> Tensor:
        """The rows of the whole matrix that special tokens and code points `codes` (n, 1) look up, sorted (r,)."""
        return self.rows(torch.cat([self.special_points.cpu(), codes])).unique()

    def embed_types(self, codes: Tensor) -> Tensor:
        """Code points (n, 1) -> vectors (n, d)."""
        return self.look_up(self.rows(codes)).flatten(1)  # (n, K, d / K) -> (n, d)

    def special_rows(self) -> Tensor:
        """The vectors of the special tokens' code points (s, d), s = 5."""
        return self.embed_types(self.special_points)

    def forward(self, batch: Batch) -> Tensor:
        """A batch -> token vectors (B, L, d). One look-up for all: each costs a backward pass over all rows."""
        rows = self.embed_types(torch.cat([self.special_points, batch.codes]))  # (s + n, d)
        return nn.functional.embedding(batch.positions, rows)  # (B, L, d)

    def embedding_parameters(self) -> int:
        """Parameters of the hash tables: buckets times d, whatever the number of hashes."""
        return self.num_buckets * self.dim

    def check_published(self, config: Mapping[str, Any], where: str) -> None:
        """Raises InputError where the published model hashes in another way."""
        for key, own_size in {"num_hash_functions": len(self.primes), "num_hash_buckets": self.num_buckets}.items():
            if key in config and config[key] != own_size:
                raise InputError(
                    f"{where}: {key} is {config[key]}, but {own_size} here; set num_hashes and num_buckets of the "
                    "embedding in a variation of the model, or take other weights"
                )

    def from_published(self, model: Published) -> dict[str, Tensor]:
        """The K tables of `transformers`' CanineModel below one another: (n, d / K)."""
        self.check_published(model.config, model.where)
        tables = [f"char_embeddings.HashBucketCodepointEmbedder_{k}.weight" for k in range(len(self.primes))]
        return {"weight": torch.cat([model.tensor(name) for name in tables])}  # (K buckets, d / K)


def whole_checkpoint(parts: Parts) -> Counts:
    """Counts of every parameter of the published model with a 2-class head.

    That is what is stored here and the blocks behind it that classification never reaches, which the encoder leaves
    out: a projection of two states to one over four characters, its LayerNorm, and a last layer over characters.
    """
    dim = parts.embedding.special_rows().shape[1]
    projection = 4 * 2 * dim * dim + dim + 2 * dim  # kernel 4, 2 d -> d, bias; LayerNorm
    last_layer = stored(parts.encoder.get_submodule("local"))  # as large as the first
    total = sum(map(stored, (parts.embedding, parts.encoder, parts.head))) + projection + last_layer
    return Counts(total, parts.embedding.embedding_parameters())


def published_frame(parts: Parts) -> Counts:
    """Counts in the way that comes nearest to the numbers that HashFormers print, 121.0M and 12.3M."""
    positions = parts.encoder.get_parameter("positions.weight")  # (P, d)
    unused = max(0, len(positions) - TRAINED_POSITIONS) * positions.shape[1]
    return Counts(whole_checkpoint(parts).total - unused, BUCKETS_IN_APPENDIX * positions.shape[1])


CHARACTERS = Template(
    specials=tuple(SPECIAL_POINTS),
    single=("[CLS]", "A", "[SEP]"),
    pair=("[CLS]", "A", "[SEP]", "B", "[SEP]"),
    # As it was pre-trained; the tokenizer of transformers 5 gives zeros for both parts.
    segments=True,
    truncation="longest_first",
    pad_multiple=4,  # then no result depends on the padding
)
SCRATCH = ModelSpec(
    name="canine-c-scratch",
    text=TextSpec("characters", template=CHARACTERS),
    code=CodeSpec("codepoints"),
    embedding=EmbeddingSpec(CharacterHashes, small={"num_buckets": 64}),
    encoder=EncoderSpec("canine"),
    head=HeadSpec(dense_dropout=False),  # CANINE's pooler has none before it
    training=TrainingSpec(objective=None, weights="random", finetune={"max_length": MAX_CHARACTERS}),
    groups=("canine",),
    summary="characters in eight hash tables, CANINE's encoder, from random weights on the task alone",
)
MODELS = [
    replace(
        SCRATCH,
        name="canine-c",
        training=replace(SCRATCH.training, weights=HUB_NAME),
        origin=OriginSpec(
            "hashformers",
            "the published model whole with a 2-class head, parts that classification never uses and all 16,384 "
            "positions included",
            counted=whole_checkpoint,
            other_frames=(
                Frame(
                    "the same with the 2,048 positions that were trained: nearest to the printed 121.0M, which no "
                    "combination of blocks gives; 16,000 buckets as in appendix B",
                    published_frame,
                ),
            ),
        ),
        summary="characters in eight hash tables, CANINE's encoder, published weights from hub or folder",
    ),
    SCRATCH,
]
