"""What should be known of an embedding that keeps its promises (`contract.py`)."""

from __future__ import annotations

import numpy as np
import torch

from hashbench.models.embeddings.base import SPECIALS, ModelSpec
from hashbench.models.layers import INIT_STD
from hashbench.running.experiment.contract import SEED, make_specimen

MANY = 100_000  # types that look for rows of a table which no code reaches
FEW = 1_000  # types whose vectors are compared


def remarks(spec: ModelSpec) -> list[str]:
    """What should be known of an embedding that keeps its promises."""
    return [*rows_never_reached(spec), *parameters_left_out(spec), *alike_at_the_start(spec)]


def rows_never_reached(spec: ModelSpec, n_types: int = MANY) -> list[str]:
    """A line for each parameter of which many more rows get no gradient from `n_types` types than chance would leave.

    Chance is a code that hits every row alike: with n types about r (1 - 1/r)^n of r rows stay unreached.
    """
    specimen = make_specimen(spec)
    vectors = specimen.vectors(made_up(n_types))
    if not vectors.requires_grad:
        return []
    (vectors * torch.randn(vectors.shape, generator=torch.Generator().manual_seed(SEED))).sum().backward()
    lines = []
    for name, parameter in specimen.embedding.named_parameters():
        rows = len(parameter) if parameter.ndim > 1 else 0
        if rows > len(SPECIALS) and parameter.grad is not None:
            unreached = int((parameter.grad.flatten(1) == 0).all(1).sum())
            chance = rows * (1 - 1 / rows) ** n_types
            if unreached > len(SPECIALS) + 1.5 * chance:
                lines.append(
                    f"{unreached:,} of {rows:,} rows of {name} are reached by none of {n_types:,} types; "
                    f"do the codes of {specimen.coder.name} span the table?"
                )
    return lines


def parameters_left_out(spec: ModelSpec) -> list[str]:
    """A line where an embedding counts less than half of its parameters: a paper may, a slip of the pen should not."""
    embedding = make_specimen(spec).embedding
    counted, stored = embedding.embedding_parameters(), sum(p.numel() for p in embedding.parameters())
    if 2 * counted >= stored:
        return []
    return [f"embedding_parameters counts {counted:,} of {stored:,} parameters; tables print that number"]


def alike_at_the_start(spec: ModelSpec) -> list[str]:
    """A line where vectors of different types begin nearly alike, beside the position vectors that are added to them.

    A product or a mean of small numbers is far smaller than each of them, and a bias may hide what differs.
    """
    types = made_up(FEW)
    with torch.no_grad():
        vectors = make_specimen(spec, types).vectors(types).float()  # (n, d)
    differ = float((vectors - vectors.mean(0)).pow(2).mean().sqrt())
    if differ >= INIT_STD / 10:
        return []
    return [
        f"vectors of different types begin nearly alike: they differ by {differ:.2g} (root mean square), those of "
        f"positions by {INIT_STD}; a short training may not get beyond that; draw the parameters wider"
    ]


def made_up(n: int) -> list[str]:
    """So many strings of 2 to 8 letters, the same each time."""
    draw = np.random.default_rng(SEED)
    letters = draw.integers(ord("a"), ord("z") + 1, (n, 8)).astype(np.uint8)
    lengths = draw.integers(2, 9, n)
    return [row[:length].tobytes().decode() for row, length in zip(letters, lengths, strict=True)]
