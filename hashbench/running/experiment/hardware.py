"""The keys of a recipe that say how the hardware computes it; those under SETTINGS change nothing but rounding."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hashbench.data.tasks.blocks import Strict

Precision = Literal["32", "bf16"]
MatmulPrecision = Literal["highest", "high", "medium"]
RowsAtATime = Annotated[int, Field(gt=0)] | Literal["auto"] | None
# No part of a run's identity: a run that was trained with other values is the same run.
SETTINGS = {"micro_batch_size", "activation_checkpointing", "compile"}


class OnHardware(Strict):
    """How a training is computed; a recipe of `experiment/schema.py` adds what is computed."""

    precision: Precision = Field(default="32", description="bf16: autocast if the hardware computes in it, else 32")
    matmul_precision: MatmulPrecision = Field(
        default="highest",
        description="of float32 products; high: TF32 on GPUs that have it, medium: bf16 products",
    )
    micro_batch_size: RowsAtATime = Field(
        default=None,
        description=(
            "rows of a batch that a device computes at a time, their gradients summed up; auto: as many as its memory "
            "holds, found by trial; null: all"
        ),
    )
    activation_checkpointing: bool = Field(
        default=False,
        description="store only the input of each layer for the backward pass and compute the rest again: less memory",
    )
    compile: bool = Field(default=False, description="compile embedding and layers with torch.compile; faster on GPUs")
