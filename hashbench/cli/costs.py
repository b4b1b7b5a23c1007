"""`costs`: memory and multiply-adds from the shapes of models."""

from __future__ import annotations

from typing import Annotated

import typer

from hashbench.cli.options import TableFormat
from hashbench.running.experiment.choices import EncoderSize


def costs(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[MODEL]...", help="Models or groups. Default: those of ProFormer.")
    ] = None,
    words: Annotated[
        int, typer.Option(help="Length of the input in words, for which multiply-adds are counted.", min=1)
    ] = 128,
    encoder: Annotated[EncoderSize, typer.Option(help="Size of the encoder, for models that fix none.")] = "base",
    style: TableFormat = "text",
) -> None:
    """Print memory of embeddings and multiply-adds of a forward pass, computed from shapes: ProFormer's table 1.

    Memory is given twice: as the paper counts it, without the trained map of a projection, and whole.

    Example: hashbench costs proformer proformer-k4 --words 64
    """
    from hashbench.cli.output import print_rows
    from hashbench.running.efficiency.costs import COLUMNS, cost_rows

    print_rows(COLUMNS, cost_rows(names or [], encoder, words), style)
