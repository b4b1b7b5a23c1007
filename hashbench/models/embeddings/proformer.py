"""ProFormer: words as projected bits, nothing looked up (Sankar, Ravi and Kozareva, EACL 2021; tables 1 to 4).

e_i = W [S_i >= 0], S_i = 8 s^0(w_i) + s^1(w_(i-1)) + s^2(w_(i+1)), with the sums s^p of coders/projection.py and a
linear map W of T = 420 bits to d without bias: 322,560 weights, as HashFormers counts them (appendix B, eq. 11). The
weight 8 of the own word is chosen here: the paper gives none. Beside it SGNN (Ravi and Kozareva 2018), which projects
the whole sentence at once, [sum_i s^0(w_i) >= 0] of 1,120 bits, and the two-layer BERTs of tables 3 and 4. All are
trained on the task alone.

Counting: both published counts of ProFormer fit only an intermediate size of 3,072 and no positions. `proformer` and
`proformer-k4` have it (14.4 M, section 4, cut off instead of rounded); `proformer-i768` has the 768 of the paper's
text; `proformer-glue` is the row of HashFormers' tables 1 and 2, with a pooler (15.1 M), by HashFormers' recipe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from hashbench.common.errors import InputError
from hashbench.models.coders.projection import BITS, ProjectionCoder
from hashbench.models.embeddings.base import (
    END,
    PAD,
    SPECIALS,
    Batch,
    CodeSpec,
    Counts,
    Embedding,
    EmbeddingSpec,
    EncoderSpec,
    HeadSpec,
    ModelSpec,
    OriginSpec,
    Parts,
    Template,
    TextSpec,
    TrainingSpec,
    stored,
)
from hashbench.models.embeddings.eelbert import BERT
from hashbench.models.embeddings.lookup import LookupTable
from hashbench.models.layers import draw_weights

PLACES = 3  # the word itself, its left and its right neighbour
SEPARATOR = "[sep]"  # a word between the texts of a pair
# SGNN: 80 functions of 14 bits each, as in a public re-implementation (G. Chevalier).
SENTENCE_BITS = 1_120
VOCABULARY_ROWS = 30_522  # of BERT's word pieces
# What neighbours flip makes another word in each context: in AG News 21 % of a word's bits with 2, 8 % with 8. Held-out
# accuracy after three epochs of 10,497 articles, one seed: 88.0 with 2 (in float32), 90.2 with 8, 89.6 with 16 (bf16).
OWN_WEIGHT = 8
# Times 1,534 features of the word and of two neighbours: S stays an int16.
MOST_OWN_WEIGHT = 16


class _Projected(Embedding):
    """Base of the embeddings by projection: special tokens are hashed as words, padding has sums of 0."""

    def __init__(self, hashing: Mapping[str, Any]) -> None:
        """`hashing`: the coder's arguments."""
        super().__init__()
        self.bits: int = hashing["bits"] if "bits" in hashing else BITS
        places = hashing["places"] if "places" in hashing else PLACES
        sums = torch.empty(len(SPECIALS), places * self.bits, dtype=torch.int16)
        if not sums.is_meta:
            words = [SEPARATOR if i == END else name for i, name in enumerate(SPECIALS)]
            sums.copy_(torch.from_numpy(ProjectionCoder(**hashing).encode_few(words)))
            sums[PAD] = 0
        self.special_sums: Tensor
        self.register_buffer("special_sums", sums, persistent=False)  # (5, places * T) int16

    def sums_of_words(self, batch: Batch, place: int) -> Tensor:
        """The sums s^place of each word of a batch (B, L, T) int16; 0 on padding."""
        span = slice(place * self.bits, (place + 1) * self.bits)
        rows = torch.cat([self.special_sums[:, span], batch.codes[:, span]])  # (s + n, T)
        return rows[batch.positions]


class Proformer(_Projected):
    """Bits of a word in its context, mapped to d. Bits are 0 and 1 as in the paper, or with `signed` -1 and 1.

    `context` 0 leaves the neighbours out, `own_weight` is how often the word's sums count beside those of one
    neighbour.
    """

    def __init__(
        self,
        dim: int,
        context: int = 1,
        signed: bool = False,
        own_weight: int = OWN_WEIGHT,
        hashing: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(hashing or {})
        if context not in (0, 1):
            raise InputError(f"context {context!r} is neither 0 nor 1, the neighbours that a word sees on each side")
        if not isinstance(own_weight, int) or not 1 <= own_weight <= MOST_OWN_WEIGHT:
            raise InputError(f"own_weight {own_weight!r} is no whole number from 1 to {MOST_OWN_WEIGHT}; correct it")
        if context and self.special_sums.shape[1] < PLACES * self.bits:
            raise InputError("context 1 needs the sums of three places; write coder: {places: 3}, or context: 0")
        self.context, self.signed, self.own_weight = context, signed, own_weight
        self.weight = nn.Parameter(draw_weights(torch.empty(dim, self.bits)))  # W (d, T)

    def projected(self, sums: Tensor) -> Tensor:
        """Sums S (n, ..., T) -> bits (n, ..., T) as floats; a sum of 0 gives 1."""
        ones = (sums >= 0).to(self.weight.dtype)
        return 2 * ones - 1 if self.signed else ones

    def embed_types(self, codes: Tensor) -> Tensor:
        """Sums of types (n, 3 T) -> vectors of single words (n, d)."""
        return nn.functional.linear(self.projected(codes[:, : self.bits]), self.weight)

    def special_rows(self) -> Tensor:
        """Vectors of the special tokens as words alone (s, d), s = 5; padding is 0."""
        rows = self.embed_types(self.special_sums)
        padding = torch.arange(len(rows), device=rows.device) == PAD
        return rows.masked_fill(padding[:, None], 0.0)

    def forward(self, batch: Batch) -> Tensor:
        """A batch -> vectors of words in context (B, L, d); 0 on padding. A missing neighbour adds nothing."""
        sums = self.own_weight * self.sums_of_words(batch, 0)  # (B, L, T)
        if self.context:
            sums = sums + nn.functional.pad(self.sums_of_words(batch, 1)[:, :-1], (0, 0, 1, 0))
            sums = sums + nn.functional.pad(self.sums_of_words(batch, 2)[:, 1:], (0, 0, 0, 1))
        bits = self.projected(sums) * batch.mask[..., None]  # (B, L, T)
        return nn.functional.linear(bits, self.weight)

    def embedding_parameters(self) -> int:
        """T d, the weights of the linear map."""
        return self.weight.numel()


class SentenceProjection(_Projected):
    """SGNN: bits of a whole input, mapped to the units of the first hidden layer. One vector an input: (B, 1, d)."""

    def __init__(self, dim: int, signed: bool = False, hashing: Mapping[str, Any] | None = None) -> None:
        super().__init__(hashing or {})
        self.signed = signed
        self.first = nn.Linear(self.bits, dim)
        nn.init.xavier_uniform_(self.first.weight)
        nn.init.zeros_(self.first.bias)

    def embed_types(self, codes: Tensor) -> Tensor:
        """Sums (n, places * T) -> vectors (n, d): types as inputs of one word."""
        ones = (codes[:, : self.bits] >= 0).to(self.first.weight.dtype)
        vectors: Tensor = self.first(2 * ones - 1 if self.signed else ones)
        return vectors

    def special_rows(self) -> Tensor:
        """Vectors of the special tokens as inputs of one word (s, d), s = 5."""
        return self.embed_types(self.special_sums)

    def forward(self, batch: Batch) -> Tensor:
        """A batch -> one vector an input (B, 1, d): one sum over all of its words, one sign."""
        total = self.sums_of_words(batch, 0).sum(1, dtype=torch.int32)  # (B, T): 512 words pass int16
        return self.embed_types(total)[:, None]

    def vectors_mask(self, mask: Tensor) -> Tensor:
        """Mask of the tokens (B, L) -> mask of the one vector an input (B, 1), all True."""
        return mask.new_ones(mask.shape[0], 1)

    def embedding_parameters(self) -> int:
        """0: the projection has none, and its map to the first hidden layer counts as that layer."""
        return 0


def without_head(parts: Parts) -> Counts:
    """Counts of the two-layer BERT of section 4: table, encoder and pooler, no classifier."""
    counted = [parts.embedding, parts.encoder, *(part for name, part in parts.head.named_children() if name == "dense")]
    return Counts(sum(map(stored, counted)), parts.embedding.embedding_parameters())


# Words follow each other without special tokens, since the maximum over all needs no token for the whole.
WORDS_ONLY = Template(single=("A",), pair=("A", "</s>", "B"), truncation="longest_first")
# Section 3 of the paper: Adam, 1e-4, weight decay 0.01, linear decay, batch 256. It names no number of steps: chosen
# here.
FROM_SCRATCH = {
    "learning_rate": 1e-4,
    "batch_size": 256,
    "schedule": "linear",
    "weight_decay": 0.01,
    "epochs": 20,
    "max_length": 512,
}
# Table 5 of HashFormers, whose row this is.
HASHFORMERS_RECIPE = {"learning_rate": 3e-5, "batch_size": 32, "epochs": 5}
# Chosen here; plain Adam on a small perceptron.
SGNN_RECIPE = {**FROM_SCRATCH, "learning_rate": 1e-3, "weight_decay": 0.0}

# Section 3: base-width whatever the experiment's encoder, so that the counts are the paper's.
SHAPE = {"layers": 2, "heads": 12, "dim": 768, "feed_forward": 3072, "group": 1}

PROFORMER = ModelSpec(
    name="proformer",
    text=TextSpec(template=WORDS_ONLY),
    code=CodeSpec("projection", small={"bits": 64}),
    # the weight here too: a run is known by what its model is given
    embedding=EmbeddingSpec(Proformer, {"own_weight": OWN_WEIGHT}),
    encoder=EncoderSpec("proformer", SHAPE),
    head=HeadSpec("max", dense=False),
    training=TrainingSpec(objective=None, finetune=FROM_SCRATCH),
    origin=OriginSpec(
        "proformer", "2-class model: projection, embedding LayerNorm, two layers of 3,072, no positions, no pooler"
    ),
    groups=("proformers",),
    summary="words as 420 bits in context, two layers, maximum over words; trained on the task alone",
)


def _two_layer_bert(name: str, dim: int, heads: int, *, classes: int = 6) -> ModelSpec:
    """A BERT of two layers, trained on the task alone. Our reading of the paper: hidden size = embedding size."""
    shape = {"layers": 2, "heads": heads, "dim": dim, "feed_forward": 4 * dim}
    return ModelSpec(
        name=name,
        text=TextSpec("wordpieces", template=BERT),
        embedding=EmbeddingSpec(LookupTable, {"num_rows": VOCABULARY_ROWS}, small={"num_rows": 64}),
        encoder=EncoderSpec(
            args={**shape, "max_positions": 512, "first_position": 0, "type_rows": 2, "eps": 1e-12},
        ),
        training=TrainingSpec(None, pretrain={"vocabulary_size": VOCABULARY_ROWS}, finetune=FROM_SCRATCH),
        origin=OriginSpec(
            "proformer",
            f"{classes}-class model: table of 30,522 pieces, two layers of 4 d, pooler",
            classes=classes,
        ),
        groups=("two-layer-berts",),
        summary=f"BERT of two layers and {dim} dimensions over pieces; trained on the task alone",
    )


MODELS = [
    PROFORMER,
    replace(
        PROFORMER.with_args(encoder={"group": 4}),
        name="proformer-k4",
        origin=OriginSpec("proformer", f"{PROFORMER.origin.frame}, attention and LayerNorm of groups"),
        summary="proformer whose layers see one vector of four neighbours (local projection attention, K = 4)",
    ),
    replace(
        PROFORMER.with_args(encoder={"feed_forward": 768}),
        name="proformer-i768",
        origin=OriginSpec("proformer", "2-class model: as proformer with two layers of 768, the paper's text"),
        groups=("proformer-ablations",),
        summary="proformer with the intermediate size 768 of the paper's text",
    ),
    replace(
        PROFORMER.with_args(encoder={"feed_forward": 768, "group": 4}),
        name="proformer-i768-k4",
        origin=OriginSpec("proformer", "2-class model: as proformer-k4 with two layers of 768, the paper's text"),
        groups=("proformer-ablations",),
        summary="proformer-k4 with the intermediate size 768 of the paper's text",
    ),
    replace(
        PROFORMER,
        name="proformer-glue",
        # Two layers of the experiment's width, as its neighbours in the table.
        encoder=EncoderSpec("proformer"),
        # BERT's pooler: dropout is before the classifier alone.
        head=HeadSpec("max", dense_dropout=False),
        training=TrainingSpec(objective=None, finetune=HASHFORMERS_RECIPE),
        origin=OriginSpec("hashformers", "2-class fine-tuning model: as proformer with a pooler"),
        groups=(),
        summary="ProFormer as HashFormers trained it on GLUE: with a pooler, by their recipe",
    ),
    replace(
        PROFORMER,
        name="sgnn",
        code=replace(PROFORMER.code, args={"bits": SENTENCE_BITS, "places": 1}),
        embedding=EmbeddingSpec(SentenceProjection),
        encoder=EncoderSpec("perceptron", {"layers": 2, "dim": 256}, small={"layers": 2, "dim": 16}),
        head=HeadSpec(dense=False),
        training=TrainingSpec(objective=None, finetune=SGNN_RECIPE),
        origin=OriginSpec("proformer", "6-class model: two hidden layers of 256 over 1,120 bits", classes=6),
        groups=(),
        summary="the whole input as 1,120 bits, two hidden layers; trained on the task alone",
    ),
    _two_layer_bert("bert-2l-560", 560, 8),
    _two_layer_bert("bert-2l-840", 840, 12),
    replace(
        _two_layer_bert("bert-2l", 768, 12),
        origin=OriginSpec(
            "proformer",
            "table of 30,522 pieces, two layers of 3,072, pooler, no classifier",
            counted=without_head,
            classes=6,
        ),
        groups=(),
    ),
]
