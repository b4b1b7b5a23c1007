"""`costs`: memory and multiply-adds from the shapes of models."""

from __future__ import annotations

from typing import Annotated

import typer

from hashbench.cli.options import TableFormat
from hashbench.experiment.choices import EncoderSize


def costs(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[MODEL]...", help="Models or groups; ProFormer's if not given.")
    ] = None,
    words: Annotated[int, typer.Option(help="Words of the input whose multiply-adds are counted.", min=1)] = 128,
    encoder: Annotated[EncoderSize, typer.Option(help="Size of the encoder of models that fix none.")] = "base",
    style: TableFormat = "text",
) -> None:
    """Memory of the token part and multiply-adds of a forward pass, from the models' shapes: ProFormer's table 1.

    Bytes as the paper prints them, without the trained map of a projection, and whole.

    Example: hashbench costs proformer proformer-k4 --words 64
    """
    from hashbench.cli.output import print_rows
    from hashbench.efficiency.costs import COLUMNS, cost_rows

    print_rows(COLUMNS, cost_rows(names or [], encoder, words), style)
