"""What each model becomes at a budget of embedding parameters: its free size, and what a token then costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from hashbench.common.errors import InputError
from hashbench.common.showing import amount
from hashbench.models.coders.registry import make_coder
from hashbench.models.embeddings.base import ModelSpec
from hashbench.models.embeddings.registry import build_embedding, models, named_models, with_dim
from hashbench.models.encoders.registry import encoder_config
from hashbench.models.objectives.registry import reads_items
from hashbench.running.efficiency.parameters import count
from hashbench.running.efficiency.sizes import SizeRow, spec_of
from hashbench.running.experiment.sizing import embedding_size, with_budget

BUDGET_COLUMNS = [
    "model", "budget", "free_size", "emb_params", "active_params", "total_params", "bytes_per_token", "multiply_adds",
]  # fmt: skip
WORD = "language"  # whose vector the costs of a token are told for
FLOAT_BYTES = 4  # of a parameter in float32


def budget_rows(names: Sequence[str], size: str, budgets: Sequence[int]) -> tuple[list[SizeRow], list[str]]:
    """A row for each model at each budget, and a line for each budget that a model cannot meet.

    A model whose embedding has one size has one row without a budget. Parameters that one token uses, their bytes in
    float32, and the multiply-adds of its vector are those of WORD. Raises InputError for an unknown model.
    """
    rows, missed = [], []
    for spec in map(spec_of, dict.fromkeys(named_models(names) or models())):
        if reads_items(spec):
            continue
        if spec.free_size is None:
            rows.append(_row(spec, "", size))
            continue
        dim = encoder_config(spec.encoder.kind, size, **spec.encoder.args).dim
        for budget in budgets:
            try:
                rows.append(_row(with_budget(spec, dim, budget).spec, amount(budget), size))
            except InputError as error:
                missed.append(str(error))
    return rows, missed


@dataclass(frozen=True)
class TokenCost:
    """What the vector of WORD is computed from: parameters that are read, and multiply-adds of matrix products."""

    active_parameters: int
    multiply_adds: int


def token_cost(spec: ModelSpec, size: str, vocabulary_rows: int | None = None) -> TokenCost:
    """Of a model before an encoder of a size; `vocabulary_rows` as in `count`."""
    dim = encoder_config(spec.encoder.kind, size, **spec.encoder.args).dim
    spec = with_dim(spec, dim)
    with torch.device("meta"):
        embedding = build_embedding(spec, dim, vocabulary_rows=vocabulary_rows)
    return TokenCost(embedding.active_parameters(code_of(spec)), embedding.multiply_adds())


def _row(spec: ModelSpec, budget: str, size: str) -> SizeRow:
    dim = encoder_config(spec.encoder.kind, size, **spec.encoder.args).dim
    cost, free = token_cost(spec, size), spec.free_size
    return {
        "model": spec.name,
        "budget": budget,
        "free_size": f"{free.argument} {free.value:,}" if free is not None and free.value is not None else "",
        "emb_params": embedding_size(spec, dim),
        "active_params": cost.active_parameters,
        "total_params": count(spec, size, n_classes=2, deployed=True).total,
        "bytes_per_token": FLOAT_BYTES * cost.active_parameters,
        "multiply_adds": cost.multiply_adds,
    }


def code_of(spec: ModelSpec) -> torch.Tensor:
    """The code (1, c) of WORD; of a coder that must be fitted first, zeros."""
    coder = make_coder(spec.code.coder, **spec.code.args)
    if coder.needs_fit:
        return torch.zeros(1, coder.width, dtype=torch.int64)
    return torch.from_numpy(coder.encode([WORD]).copy())
