"""Superbloom: m tokens an item, attention instead of a sum (Anderson, Huang, Krichene, Rendle, Zhang 2020; section 2).

An item stands in the sequence as the m tokens that its maps give it (coders/bloom.py); each has a row of one table,
which is the output matrix too. The named models are the rows of tables 1, 3 and 7 on page-link sets.

Counts are in the frame that gives the printed ones: table, output bias, LayerNorm behind the embedding, layers with
biases, dense layer and LayerNorm before the output; no positions. The paper's M and G are 2^20 and 2^30.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from hashbench.embeddings.base import Batch, Counts, Embedding, ModelSpec, Parts
from hashbench.layers import draw_weights

SPECIAL_ITEMS = 3  # [CLS], [MASK], [SEP], behind the hashed rows
CLS, MASK, SEP = range(SPECIAL_ITEMS)
ROWS_OF_SPECIALS = (CLS, SEP, SEP, MASK, MASK)  # of <s>, <pad>, </s>, <unk>, <mask>: no row of its own for padding
WIKIPEDIA, TOP_PAGES = 5_281_889, 500_000  # entities of tables 1 and 3


class Superbloom(Embedding):
    """m rows of one table for each item, one behind the other (section 2.1).

    Differs from the paper: nothing. It leaves open how padding is made (ours: [SEP], hidden from attention).
    """

    def __init__(
        self, dim: int, items: int = WIKIPEDIA, alpha: int = 50, maps: int = 2, num_rows: int | None = None
    ) -> None:
        """`items` / `alpha` decide the rows, or `num_rows` where they are known from the data."""
        super().__init__()
        self.tokens_per_item = maps
        rows = num_rows if num_rows is not None else maps * (-(-items // alpha) + SPECIAL_ITEMS)
        self.weight = nn.Parameter(draw_weights(torch.empty(rows, dim)))  # E (V, d)

    @property
    def n_buckets(self) -> int:
        """NB, rows of the range of one map."""
        return self.weight.shape[0] // self.tokens_per_item - SPECIAL_ITEMS

    def special_codes(self) -> Tensor:
        """Rows of the special tokens (5, m), in the order of the template's `specials`."""
        m = self.tokens_per_item
        kinds = torch.tensor(ROWS_OF_SPECIALS, device=self.weight.device)
        return m * (self.n_buckets + kinds[:, None]) + torch.arange(m, device=self.weight.device)  # (5, m)

    def embed_types(self, codes: Tensor) -> Tensor:
        """Tokens of items (n, m) -> vectors (n, m, d)."""
        return nn.functional.embedding(codes, self.weight)

    def special_rows(self) -> Tensor:
        """Vectors (5, m, d)."""
        return self.embed_types(self.special_codes())

    def forward(self, batch: Batch) -> Tensor:
        """A batch -> token vectors (B, L m, d): the tokens of an item stand side by side."""
        codes = torch.cat([self.special_codes(), batch.codes])  # (s + n, m)
        return nn.functional.embedding(codes[batch.positions].flatten(1), self.weight)  # (B, L m, d)

    def embedding_parameters(self) -> int:
        """The whole table, special rows included."""
        return self.weight.numel()

    def output_matrix(self) -> Tensor:
        """The table itself: input and output are tied. (V, d)."""
        return self.weight


def counted(parts: Parts) -> Counts:
    """Embedding, encoder, output bias (V), and the dense layer and LayerNorm before the output (d^2 + 3 d)."""
    rows, dim = parts.embedding.output_matrix().shape  # type: ignore[union-attr]  # a Superbloom has one
    inner = sum(each.numel() for part in (parts.embedding, parts.encoder) for each in part.parameters())
    return Counts(inner + rows + dim * dim + 3 * dim, parts.embedding.embedding_parameters())


# Adam and 1/sqrt decay are the paper's (section 3.2); the warm-up of 10,000 steps, as a share of 1 M, is ours.
RECIPE: dict[str, Any] = {
    "steps": 1_000_000,
    "schedule": "inverse_sqrt",
    "warmup_fraction": 0.01,
    "evaluation_steps": 10_000,
    "select_metric": "mrr",
}
LARGE = {**RECIPE, "batch_size": 1024, "learning_rate": 1e-4}  # all of Wikipedia
SMALL = {**RECIPE, "batch_size": 4096, "learning_rate": 2e-4}  # its 500,000 most linked pages


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
    """A row of a table: `shape` is d, heads, feed-forward width, layers."""
    dim, heads, feed_forward, layers = shape
    maps = 2 if alpha > 1 else 1
    return ModelSpec(
        name=name,
        tokenizer="items",
        coder="bloom",
        coder_args={"alpha": alpha, "maps": maps, "coherent": coherent},
        embedding=Superbloom,
        embedding_args={"items": items},
        encoder="plain",
        encoder_args={"layers": layers, "heads": heads, "dim": dim, "feed_forward": feed_forward},
        objective="entities",
        objective_args={"negatives": negatives} if negatives else {},
        finetune=LARGE if items == WIKIPEDIA else SMALL,
        paper="superbloom",
        frame="tied table with output bias, encoder without positions, output transform; 3 special items",
        counted=counted,
        groups=("superbloom",),
        summary=summary,
        small_args={"coder": {"alpha": min(alpha, 2), "coherent": 0}, "embedding": {"items": 64}},
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
]
