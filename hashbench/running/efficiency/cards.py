"""Memory and time of a training on a named card, from the shapes of the model and the card's published figures.

Nothing here was measured on these cards. What a layer keeps for the backward pass was counted with hooks on its saved
tensors: in float32 34 d + 8 I bytes a token, for the width d and the width I between its two maps; under bf16 autocast
22 d + 4 I, since sums and LayerNorms stay in float32.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from hashbench.common.errors import InputError, near_match
from hashbench.running.efficiency.parameters import outline_of
from hashbench.running.experiment.models import ResolvedModel
from hashbench.running.experiment.recipes import Finetune, Pretrain
from hashbench.running.training.memory import SHARE, sizes

TERA, GIGA = 1e12, 1e9
# What well-shaped products reach of a published peak; a guess, since none was measured.
SHARE_OF_PEAK = 0.6
# Times that what is kept passes the memory: written and read, in both directions; compiled code joins steps.
PASSES, COMPILED_PASSES = 4, 2
# Bytes of a weight: itself, its gradient, AdamW's two moments in float32, and a copy in bf16 under autocast.
WEIGHT_BYTES, HALF_COPY = 16, 2
UPDATE_BYTES = 28  # that AdamW reads and writes of a weight in a step
CHUNK_LOGIT_BYTES = 8  # of a score that is made, used and forgotten
# Of a score that is kept: in bf16, and in float32 with its softmax and gradient.
LOGIT_BYTES = 14
# Scores of so many labels exist at a time where they are not kept (objectives/linear_loss.py)
CHUNK_LOGITS = 4096
# Kernels of a layer and of all else, forward and backward, and the time in which a program starts one.
LAYER_KERNELS, OTHER_KERNELS, START_S = 60, 150, 6e-6
RUNNER_S = 1.5e-3  # of Lightning and our callbacks for a step


@dataclass(frozen=True)
class Card:
    """A GPU by its data sheet: bytes of memory, bytes a second of bandwidth, peak operations a second by precision.

    A multiply-add counts as two operations, without sparsity. `bf16` and `tf32` are None where it has no such products.
    """

    name: str
    memory: float
    bandwidth: float
    float32: float
    tf32: float | None = None
    bf16: float | None = None

    def rate(self, precision: str, matmul_precision: str) -> float:
        """Peak operations a second of matrix products at a recipe's precisions."""
        if precision != "32" and self.bf16:
            return self.bf16
        return self.tf32 if matmul_precision != "highest" and self.tf32 else self.float32


def _card(name: str, gigabytes: float, gigabytes_a_second: float, *tera: float) -> Card:
    return Card(name, gigabytes * GIGA, gigabytes_a_second * GIGA, *(peak * TERA for peak in tera))


# From NVIDIA's data sheets and architecture papers: GB, GB/s, TFLOP/s in float32, TF32 and bf16.
CARDS: Mapping[str, Card] = {
    "t4": _card("T4", 16, 320, 8.1),
    "v100": _card("V100 32 GB", 32, 900, 15.7),
    "a10": _card("A10", 24, 600, 31.2, 62.5, 125),
    "l4": _card("L4", 24, 300, 30.3, 60, 121),
    "rtx3090": _card("RTX 3090", 24, 936, 35.6, 35.6, 71),
    "rtx4090": _card("RTX 4090", 24, 1008, 82.6, 82.6, 165),
    "l40s": _card("L40S", 48, 864, 91.6, 183, 362),
    "a100-40": _card("A100 40 GB", 40, 1555, 19.5, 156, 312),
    "a100": _card("A100 80 GB", 80, 2039, 19.5, 156, 312),
    "h100": _card("H100 SXM", 80, 3350, 67, 494, 989),
    "h200": _card("H200", 141, 4800, 67, 494, 989),
}


def find_card(name: str) -> Card:
    """The card of a name. Raises InputError for one that is not known."""
    if name.lower() not in CARDS:
        hint = near_match(name, list(CARDS))
        raise InputError(f"--on: no card '{name}'{hint}; cards: {', '.join(CARDS)}")
    return CARDS[name.lower()]


@dataclass(frozen=True)
class TrainingStep:
    """The sizes and settings from which memory and time of a training step are computed."""

    rows: int  # of a batch, over all devices
    length: int  # tokens of a row, at most
    typical_length: int  # tokens of a row, on average
    layers: float  # that a token passes; where neighbours are joined, a layer counts in part
    dim: int
    feed_forward: int
    weights: int  # trained parameters, head included
    output_rows: int  # that each scored token is multiplied with; 0: none
    scored: float  # share of the tokens that are scored
    keeps_scores: bool
    precision: str = "32"
    matmul_precision: str = "highest"
    checkpointing: bool = False
    compiled: bool = False

    def kept(self, card: Card) -> float:
        """Bytes per token that the layers keep for the backward pass on a card."""
        half = self.precision != "32" and card.bf16
        layer = 22 * self.dim + 4 * self.feed_forward if half else 34 * self.dim + 8 * self.feed_forward
        return 4 * self.dim * self.layers + layer if self.checkpointing else layer * self.layers

    def memory(self, card: Card, rows: int) -> float:
        """Bytes that a step takes on a card that computes so many rows at a time."""
        half = self.precision != "32" and card.bf16
        tokens = rows * self.length
        weights = self.weights * (WEIGHT_BYTES + (HALF_COPY if half else 0))
        scored = self.scored * tokens if self.keeps_scores else min(CHUNK_LOGITS, self.scored * tokens)
        score_bytes = LOGIT_BYTES if self.keeps_scores else CHUNK_LOGIT_BYTES
        return weights + tokens * self.kept(card) + scored * self.output_rows * score_bytes

    def fitting_rows(self, card: Card, devices: int = 1) -> int | None:
        """The most rows at a time (all of a device's, half and so on) that fit the card; None if not even one."""
        fit = [n for n in sizes(math.ceil(self.rows / devices)) if self.memory(card, n) <= SHARE * card.memory]
        return fit[-1] if fit else None

    def operations(self) -> float:
        """Operations per token, forward and backward: products with weights, attention to a full row, and scores."""
        forward = 2 * self.layers * (4 * self.dim**2 + 2 * self.dim * self.feed_forward + 2 * self.length * self.dim)
        again = forward if self.checkpointing else 0.0
        return 3 * forward + again + 6 * self.scored * self.output_rows * self.dim

    def seconds(self, card: Card, tokens: float, *, at_a_time: int, devices: int = 1) -> float:
        """Estimated seconds to train on `tokens` tokens, with `at_a_time` rows at a time on each device."""
        steps = tokens / (self.rows * self.typical_length)
        products = tokens * self.operations() / (SHARE_OF_PEAK * card.rate(self.precision, self.matmul_precision))
        passes = COMPILED_PASSES if self.compiled else PASSES
        moved = tokens * passes * self.kept(card) / devices + steps * self.weights * UPDATE_BYTES
        parts = math.ceil(self.rows / devices / at_a_time)
        started = steps * (parts * (self.layers * LAYER_KERNELS + OTHER_KERNELS) * START_S + RUNNER_S)
        return max(products / devices + moved / card.bandwidth, started)


@dataclass(frozen=True)
class Placed:
    """The rows at a time and the bytes that a training step takes on a card."""

    step: TrainingStep
    share: int  # rows of a batch that a device has
    rows: int | None  # of them at a time; None: not even one fits
    memory: float  # bytes that so many rows take; one row where none fits
    auto: bool  # whether the rows were to be found

    def fits(self, card: Card) -> bool:
        """True where the memory of the card suffices."""
        return self.rows is not None and self.memory <= SHARE * card.memory


def step_of(
    model: ResolvedModel,
    size: str,
    recipe: Pretrain | Finetune,
    *,
    length: int,
    typical_length: int | None = None,
    scored: float = 0.0,
    keeps_scores: bool = False,
) -> TrainingStep:
    """The training step of a model under a recipe; `scored`: share of the tokens multiplied with the output matrix."""
    outline = outline_of(model, size)
    return TrainingStep(
        rows=(recipe.largest if isinstance(recipe, Finetune) else recipe).batch_size,
        length=length,
        typical_length=typical_length or length,
        layers=outline.layers,
        dim=outline.dim,
        feed_forward=outline.feed_forward,
        weights=outline.weights,
        output_rows=outline.output_rows if scored else 0,
        scored=scored,
        keeps_scores=keeps_scores,
        precision=recipe.precision,
        matmul_precision=recipe.matmul_precision,
        checkpointing=recipe.activation_checkpointing,
        compiled=recipe.compile,
    )
