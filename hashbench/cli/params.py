"""`params`: parameters of models beside the published ones."""

from __future__ import annotations

from typing import Annotated

import typer

from hashbench.cli.options import TableFormat
from hashbench.cli.output import note, print_rows
from hashbench.errors import InputError
from hashbench.experiment.choices import EncoderSize

ModelNames = Annotated[
    list[str] | None,
    typer.Argument(metavar="[MODEL]...", help="Models or groups, or transformers:NAME; all models if not given."),
]
SizeOfEncoder = Annotated[EncoderSize, typer.Option(help="Size of the encoder of models that have none of their own.")]
OnePaper = Annotated[
    str | None, typer.Option(help="Only the models of this paper, counted in its frame; else each in its own.")
]
AsDeployed = Annotated[
    bool, typer.Option("--deployed", help="Count the fine-tuned model with a 2-class head, whatever the paper counts.")
]
AllFrames = Annotated[
    bool, typer.Option("--all-frames", help="Further rows for other ways to count a model, where it has some.")
]
GenericRow = Annotated[
    bool,
    typer.Option(help="Count the learned row that HashFormers add to every ordinary token, as their table 2 does."),
]
BudgetSizes = Annotated[
    str | None,
    typer.Option(
        metavar="SIZES", help="What each embedding becomes at these numbers of parameters: 0.23M,0.8M,1.6M,6.4M."
    ),
]


def params(
    names: ModelNames = None,
    encoder: SizeOfEncoder = "base",
    paper: OnePaper = None,
    deployed: AsDeployed = False,
    all_frames: AllFrames = False,
    generic_row: GenericRow = True,
    budget: BudgetSizes = None,
    style: TableFormat = "text",
) -> None:
    """Parameters of models with the published vocabulary, in the frame of each paper, beside the published counts.

    Example: hashbench params --paper hashformers --format csv
    """
    from hashbench.efficiency.budgets import BUDGET_COLUMNS, budget_rows
    from hashbench.efficiency.sizes import PARAMETER_COLUMNS, parameter_rows
    from hashbench.experiment.sizing import parameters_of

    if budget is not None:
        sized, missed = budget_rows(names or [], encoder, [parameters_of(each) for each in budget.split(",")])
        if not sized:
            raise InputError(missed[0] + (f" (and {len(missed) - 1} more like it)" if len(missed) > 1 else ""))
        print_rows(BUDGET_COLUMNS, sized, style)
        for line in missed:
            note(line)
        return
    rows = parameter_rows(
        names or [],
        encoder,
        paper=paper,
        count_generic_row=generic_row,
        deployed=deployed,
        all_frames=all_frames,
    )
    print_rows(PARAMETER_COLUMNS, rows, style)
