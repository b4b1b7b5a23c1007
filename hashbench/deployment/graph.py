"""An exported model as one graph without control flow: integers (or floats) in, logits or a vector out.

Inputs: `codes` (types, c) of the distinct types of a batch, bits unpacked; `positions` (batch, length) int64 into the
special tokens and, behind them, these types; for pairs of a model with segments also `segments` (batch, length) int64.
Padding is the special token <pad>: no mask is needed. Lengths are multiples of `length_multiple`, or any.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from hashbench.common.errors import InputError, first_line
from hashbench.deployment.loading import Predictor
from hashbench.models.coders.base import Coder
from hashbench.models.embeddings.base import PAD, Batch
from hashbench.models.names import Pooling
from hashbench.models.objectives.heads import ClassificationHead, pool
from hashbench.running.training.model import Model

# Of the example that is traced: at least 2 and all different, since an axis of size 1 would be taken for fixed.
TYPES, ROWS, BLOCKS = 5, 2, 3
LONGEST = 512  # tokens, where an encoder has no limit
SHORTEST = 3  # tokens of an input, padding included: a word and both its neighbours


class DeployedModel(nn.Module):
    """Model and head in one module, whose inputs are those of an exported graph."""

    def __init__(self, model: Model, head: ClassificationHead | None, pooling: Pooling, *, of_bits: bool) -> None:
        """Joins the parts. `of_bits`: codes are bits, as bytes 0 and 1."""
        super().__init__()
        self.of_bits = of_bits
        self.model, self.head, self.pooling = model, head, pooling

    def forward(self, codes: Tensor, positions: Tensor, segments: Tensor | None = None) -> Tensor:
        """Codes (n, c), positions (B, L) -> logits (B, outputs), or without a head vectors (B, d)."""
        batch = Batch(codes.float() if self.of_bits else codes, positions, positions != PAD, segments)
        states, mask = self.model.for_head(batch, self.pooling)
        vectors: Tensor = pool(states, mask, self.pooling) if self.head is None else self.head(states, mask)
        return vectors


@dataclass(frozen=True)
class Traced:
    """A traced graph, with the names and allowed lengths of its inputs."""

    program: torch.export.ExportedProgram
    example: tuple[Tensor, ...]  # inputs of the trace
    names: tuple[str, ...]  # of the inputs
    length_multiple: int
    max_length: int


def length_multiple(predictor: Predictor) -> int:
    """The number that divides every allowed input length."""
    return math.lcm(predictor.model.encoder.graph_multiple, predictor.spec.text.template.pad_multiple)


def graph_codes(coder: Coder, codes: Tensor) -> Tensor:
    """Codes (n, c) as the graph takes them: bits unpacked (n, T) uint8, small integers as int32 (n, c)."""
    if coder.bits is not None:
        places = torch.arange(7, -1, -1, dtype=torch.uint8)
        return ((codes[..., None] >> places) & 1).flatten(1)  # (n, T / 8, 8) -> (n, T)
    return codes.int() if codes.dtype == torch.int16 else codes


def graph_inputs(predictor: Predictor, batch: Batch) -> tuple[Tensor, ...]:
    """A batch as inputs of the graph, padded to an allowed length."""
    length = batch.positions.shape[1]
    missing = filled_length(length, length_multiple(predictor)) - length
    positions = nn.functional.pad(batch.positions, (0, missing), value=PAD)  # (B, L)
    codes = graph_codes(predictor.coder, batch.codes)
    if not has_segments(predictor):
        return codes, positions
    segments = torch.zeros_like(batch.positions) if batch.segments is None else batch.segments
    return codes, positions, nn.functional.pad(segments, (0, missing))


def filled_length(length: int, multiple: int) -> int:
    """The length to which a sequence is padded: a multiple of `multiple` that is not below SHORTEST.

    >>> filled_length(1, 1), filled_length(5, 4)
    (3, 8)
    """
    return -(-max(length, SHORTEST) // multiple) * multiple


def has_segments(predictor: Predictor) -> bool:
    """True if inputs are pairs whose texts have different segment ids."""
    return predictor.config.is_pair and predictor.spec.text.template.segments


def trace(predictor: Predictor) -> Traced:
    """The model as one graph, in which all sizes but the codes' width are dynamic. Raises InputError if torch fails."""
    multiple = length_multiple(predictor)
    example = _example(predictor, multiple)
    of_bits = predictor.coder.bits is not None
    deployed = DeployedModel(predictor.model, predictor.head, predictor.spec.head.pooling, of_bits=of_bits).eval()
    for parameter in deployed.parameters():
        parameter.requires_grad_(False)
    most = (predictor.model.encoder.max_length or max(LONGEST, predictor.config.max_length)) // multiple
    predictor.model.encoder.for_graph(most * multiple)
    least = filled_length(1, multiple) // multiple
    blocks = torch.export.Dim("length" if multiple == 1 else "blocks", min=least, max=most)
    length: Any = blocks if multiple == 1 else multiple * blocks
    rows, types = torch.export.Dim("batch"), torch.export.Dim("types")
    sizes = [{0: types}, *({0: rows, 1: length} for _ in example[1:])]
    names = ("codes", "positions", "segments")[: len(example)]
    try:
        with torch.inference_mode(False), torch.no_grad():
            program = torch.export.export(deployed, example, dynamic_shapes=tuple(sizes))
    except Exception as error:  # the tracer has no error class: any operation of a model may stop it
        name = predictor.config.name
        reason = first_line(error)[:200]
        raise InputError(f"{name}: not exported: torch makes no graph of it ({reason}); take another model") from error
    return Traced(program, example, names, multiple, most * multiple)


def _example(predictor: Predictor, multiple: int) -> tuple[Tensor, ...]:
    """Example inputs for the trace, with real codes, so that table indexes are valid, and padding among positions."""
    words = [chr(ord("a") + i) for i in range(TYPES)]
    codes = graph_codes(predictor.coder, torch.from_numpy(predictor.coder.encode(words)))
    specials = len(predictor.spec.text.template.specials)
    length = multiple * BLOCKS
    positions = torch.arange(ROWS * length).view(ROWS, length) % TYPES + specials
    if length > BLOCKS:
        positions[1, -multiple:] = PAD
    segments = (positions.new_ones(ROWS, length),) if has_segments(predictor) else ()
    return codes, positions, *segments
