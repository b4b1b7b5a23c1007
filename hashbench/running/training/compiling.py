"""torch.compile for a training: the parts of a module, in place, so that its weights keep their names."""

from __future__ import annotations

import torch
import torch._dynamo
from torch import nn

from hashbench.common.errors import InputError, first_line
from hashbench.running.training.model import Model

# Of the code of a layer: with and without padding, at all places or some, in training and evaluation, of one shape and
# of any. Beyond torch's own limit of 8 the code runs uncompiled.
VERSIONS = 16


def compile_parts(model: Model, head: nn.Module, *, fixed_shapes: bool) -> None:
    """Compiles embedding, layers and head; each kind of layer once.

    The number of distinct types is another in every batch, so the embedding is compiled for any. `fixed_shapes` says
    that batches have the same rows and tokens, so that layers may be compiled for these, until another shape comes.
    """
    torch._dynamo.config.recompile_limit = max(VERSIONS, torch._dynamo.config.recompile_limit)
    model.embedding.compile(dynamic=True)
    for part in (*model.encoder.parts_to_compile(), head):
        part.compile(dynamic=None if fixed_shapes else True)


def check_compiler(device: torch.device) -> None:
    """Raises InputError where torch.compile makes nothing for a device, as without a compiler of C++."""

    @torch.compile
    def doubled(values: torch.Tensor) -> torch.Tensor:
        """(n,) -> (n,)."""
        return values + values

    try:
        doubled(torch.ones(4, device=device))
    except Exception as error:  # of torch's own many kinds, which all mean the same here
        raise InputError(
            f"compile: torch.compile does not work on {device.type} here: {first_line(error)}; "
            "install a C++ compiler (and Triton for a GPU), or write compile: false"
        ) from error
