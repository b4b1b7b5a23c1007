"""Superbloom: m tokens an item, attention instead of a sum (Anderson, Huang, Krichene, Rendle, Zhang 2020; section 2).

An item is m tokens of the sequence, which its maps give it (coders/bloom.py); each has a row of one table,
which is the output matrix too. The named models are the rows of tables 1, 3 and 7 on page-link sets, and of
table 4 on text, where the m tokens of an item share its position.

Counts are in the frame that gives the printed ones: table, output bias, LayerNorm behind the embedding, layers with
biases, dense layer and LayerNorm before the output; no positions. On text also 512 positions, 2 segments, a pooler and
the head of next-sentence prediction. The paper's M and G are 2^20 and 2^30.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from hashbench.models.coders.bloom import SPECIAL_ITEMS
from hashbench.models.embeddings.base import (
    Batch,
    CodeSpec,
    Counts,
    Embedding,
    EmbeddingSpec,
    EncoderSpec,
    ModelSpec,
    OriginSpec,
    Parts,
    TextSpec,
    TrainingSpec,
    stored,
)
from hashbench.models.layers import draw_weights

CLS, MASK, SEP = range(SPECIAL_ITEMS)  # behind the hashed rows
# For <s>, <pad>, </s>, <unk>, <mask>: no separate row for padding.
ROWS_OF_SPECIALS = (CLS, SEP, SEP, MASK, MASK)
# <unk> is item 3 of the special ones where there are more than three, and name 3 of the five.
UNKNOWN, SPELLED = 3, 3
POSITIONS, SEGMENTS = 512, 2  # BERT's; their rows are needed for the counts of table 4
WIKIPEDIA, TOP_PAGES = 5_281_889, 500_000  # entities of tables 1 and 3
PHRASES = 1_000_000  # unigrams, bigrams and word pieces of table 4


class Superbloom(Embedding):
    """An embedding that makes m vectors of each item, one behind the other, from m rows of one table (section 2.1).

    Differs from the paper: nothing. It leaves open how padding is made (chosen here: [SEP], hidden from attention).
    """

    def __init__(
        self,
        dim: int,
        items: int = WIKIPEDIA,
        alpha: int = 50,
        maps: int = 2,
        special_items: int = SPECIAL_ITEMS,
        num_rows: int | None = None,
    ) -> None:
        """`items` / `alpha` decide the rows, or `num_rows` where they are known from the data."""
        super().__init__()
        self.tokens_per_item, self.special_items = maps, special_items
        rows = num_rows if num_rows is not None else maps * (-(-items // alpha) + special_items)
        self.weight = nn.Parameter(draw_weights(torch.empty(rows, dim)))  # E (V, d)

    @property
    def n_buckets(self) -> int:
        """NB, the number of rows of one map."""
        return self.weight.shape[0] // self.tokens_per_item - self.special_items

    def special_codes(self) -> Tensor:
        """Rows of the special tokens (s, m), s = 5, in the order of the template's `specials`."""
        m = self.tokens_per_item
        kinds = torch.tensor(ROWS_OF_SPECIALS, device=self.weight.device)
        if self.special_items > UNKNOWN:
            kinds[SPELLED] = UNKNOWN
        return m * (self.n_buckets + kinds[:, None]) + torch.arange(m, device=self.weight.device)  # (5, m)

    def embed_types(self, codes: Tensor) -> Tensor:
        """Tokens of items (n, m) -> vectors (n, m, d)."""
        return nn.functional.embedding(codes, self.weight)

    def special_rows(self) -> Tensor:
        """Vectors of the special tokens (s, m, d), s = 5."""
        return self.embed_types(self.special_codes())

    def forward(self, batch: Batch) -> Tensor:
        """A batch -> token vectors (B, n, d), n = L m: the tokens of an item are side by side."""
        codes = torch.cat([self.special_codes(), batch.codes])  # (s + n, m)
        return nn.functional.embedding(codes[batch.positions].flatten(1), self.weight)  # (B, L m, d)

    def embedding_parameters(self) -> int:
        """Parameters of the whole table, special rows included."""
        return self.weight.numel()

    def output_matrix(self) -> Tensor:
        """The table itself: input and output are tied. (V, d)."""
        return self.weight


class SuperbloomText(Superbloom):
    """A Superbloom table with positions and segments, which an item's tokens share (section 4: samples as in BERT)."""

    max_items = POSITIONS

    def __init__(
        self,
        dim: int,
        items: int = PHRASES,
        alpha: int = 40,
        maps: int = 2,
        special_items: int = SPECIAL_ITEMS,
        num_rows: int | None = None,
    ) -> None:
        """`items` / `alpha` decide the rows of the table, or `num_rows` where they are known from the data."""
        super().__init__(dim, items, alpha, maps, special_items, num_rows)
        self.positions = nn.Parameter(draw_weights(torch.empty(POSITIONS, dim)))  # (512, d)
        self.segments = nn.Parameter(draw_weights(torch.empty(SEGMENTS, dim)))  # (2, d)

    def position_vectors(self) -> Tensor:
        """The position vectors (512, d), which are this embedding's."""
        return self.positions

    def forward(self, batch: Batch) -> Tensor:
        """A batch -> token vectors (B, L m, d): row of the table + position of the item + its segment."""
        length = batch.positions.shape[1]
        where = self.positions[:length].expand(len(batch), -1, -1)  # (B, L, d)
        kinds = self.segments[0] if batch.segments is None else self.segments[batch.segments]  # (d,) or (B, L, d)
        return super().forward(batch) + (where + kinds).repeat_interleave(self.tokens_per_item, dim=1)


def counted(parts: Parts) -> Counts:
    """Counts of embedding, encoder, output bias (V), and dense layer and LayerNorm before the output (d^2 + 3 d)."""
    rows, dim = parts.embedding.output_matrix().shape  # type: ignore[union-attr]  # a Superbloom has one
    inner = stored(parts.embedding) + stored(parts.encoder)
    return Counts(inner + rows + dim * dim + 3 * dim, parts.embedding.embedding_parameters())


def counted_with_pooler(parts: Parts) -> Counts:
    """`counted` (positions and segments are the embedding's) with pooler (d^2 + d) and next-sentence head (2 d + 2)."""
    counts, (_, dim) = counted(parts), parts.embedding.output_matrix().shape  # type: ignore[union-attr]  # as above
    return Counts(counts.total + dim * dim + dim + 2 * dim + 2, counts.embedding)


# Adam and 1/sqrt decay are the paper's (section 3.2); the warm-up of 10,000 steps, as a share of 1 M, is chosen here.
RECIPE: dict[str, Any] = {
    "steps": 1_000_000,
    "schedule": "inverse_sqrt",
    "warmup_fraction": 0.01,
    "evaluation_steps": 10_000,
    "select_metric": "mrr",
}
WIKIPEDIA_RECIPE = {**RECIPE, "batch_size": 1024, "learning_rate": 1e-4}  # all of Wikipedia
MOST_LINKED_RECIPE = {**RECIPE, "batch_size": 4096, "learning_rate": 2e-4}  # its 500,000 most linked pages
# Not stated for text; chosen here: as for the million-row set.
TEXT = {**RECIPE, "batch_size": 1024, "learning_rate": 1e-4}


def _model(
    name: str,
    summary: str,
    *,
    shape: tuple[int, int, int, int],
    items: int,
    alpha: int = 1,
    coherent: int = 0,
    negatives: int = 0,
) -> ModelSpec:
    """A named model, one row of a table of the paper: `shape` is d, heads, feed-forward width, layers."""
    dim, heads, feed_forward, layers = shape
    maps = 2 if alpha > 1 else 1
    return ModelSpec(
        name=name,
        text=TextSpec("items"),
        code=CodeSpec(
            "bloom",
            {"alpha": alpha, "maps": maps, "coherent": coherent},
            small={"alpha": min(alpha, 2), "coherent": 0},
        ),
        embedding=EmbeddingSpec(Superbloom, {"items": items}, small={"items": 64}),
        encoder=EncoderSpec("plain", {"layers": layers, "heads": heads, "dim": dim, "feed_forward": feed_forward}),
        training=TrainingSpec(
            "entities",
            {"negatives": negatives} if negatives else {},
            finetune=WIKIPEDIA_RECIPE if items == WIKIPEDIA else MOST_LINKED_RECIPE,
        ),
        origin=OriginSpec(
            "superbloom",
            "tied table with output bias, encoder without positions, output transform; 3 special items",
            counted=counted,
        ),
        groups=("superbloom",),
        summary=summary,
    )


def _table_7(alpha: int, coherent: int) -> ModelSpec:
    return _model(
        f"superbloom-hash{alpha}-{'00 01 11'.split()[coherent]}",
        f"{alpha} pages a bucket, {coherent} of 2 maps coherent, 500,000 pages",
        shape=(256, 8, 1024, 12),
        items=TOP_PAGES,
        alpha=alpha,
        coherent=coherent,
    )


def _of_text(name: str, summary: str, *, shape: tuple[int, int, int, int], alpha: int = 1) -> ModelSpec:
    """A named model on text, one row of the paper's table 4."""
    model = _model(name, summary, shape=shape, items=PHRASES, alpha=alpha)
    return replace(
        model,
        embedding=replace(model.embedding, family=SuperbloomText),
        training=replace(model.training, finetune=TEXT, needs="corpus (masked items)"),
        origin=OriginSpec(
            "superbloom",
            "tied table with output bias, 512 positions, 2 segments, encoder, output transform, pooler, "
            "next-sentence head; 3 special items",
            counted=counted_with_pooler,
        ),
        groups=("superbloom-text",),
    )


MODELS = [
    _model("superbloom-baseline", "a row a page, all of Wikipedia", shape=(48, 4, 1024, 12), items=WIKIPEDIA),
    _model(
        "superbloom-sampled-softmax",
        "a row a page, trained on 128K sampled negatives",
        shape=(512, 8, 2048, 12),
        items=WIKIPEDIA,
        negatives=128 * 1024,
    ),
    _model("superbloom-a50", "50 pages a bucket, 2 maps", shape=(768, 12, 3072, 12), items=WIKIPEDIA, alpha=50),
    _model("superbloom-baseline-l1", "a row a page, one layer", shape=(256, 1, 1024, 1), items=TOP_PAGES),
    _model("superbloom-baseline-l12", "a row a page, twelve layers", shape=(256, 8, 1024, 12), items=TOP_PAGES),
    _model("superbloom-d256l1", "20 pages a bucket, one layer", shape=(256, 1, 1024, 1), items=TOP_PAGES, alpha=20),
    _model("superbloom-d384l1", "20 a bucket, one wider layer", shape=(384, 1, 1536, 1), items=TOP_PAGES, alpha=20),
    _model("superbloom-d256l12", "20 a bucket, twelve layers", shape=(256, 8, 1024, 12), items=TOP_PAGES, alpha=20),
    *(_table_7(alpha, coherent) for alpha in (10, 20) for coherent in (0, 1, 2)),
    _of_text("superbloom-text-baseline-h64", "a row a word piece, word or pair of words", shape=(64, 4, 256, 12)),
    _of_text("superbloom-text-baseline-h256", "the same, wider", shape=(256, 8, 1024, 12)),
    _of_text("superbloom-text-hash40-h512", "40 of them a bucket, 2 maps", shape=(512, 8, 2048, 12), alpha=40),
    _of_text("superbloom-text-hash20-h1024", "20 of them a bucket, 2 maps", shape=(1024, 16, 4096, 12), alpha=20),
]
