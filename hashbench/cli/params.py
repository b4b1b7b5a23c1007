"""`params`: parameters of models beside the published ones."""

from __future__ import annotations

from typing import Annotated

import typer

from hashbench.cli.options import TableFormat
from hashbench.cli.output import note, print_rows
from hashbench.common.errors import InputError
from hashbench.running.experiment.choices import EncoderSize

ModelNames = Annotated[
    list[str] | None,
    typer.Argument(metavar="[MODEL]...", help="Models or groups, or transformers:NAME. Default: all models."),
]
SizeOfEncoder = Annotated[EncoderSize, typer.Option(help="Size of the encoder, for models that fix none.")]
OnePaper = Annotated[
    str | None,
    typer.Option(
        help="Print only the models of this paper, counted as it counts. Default: each as its own paper counts."
    ),
]
AsDeployed = Annotated[
    bool,
    typer.Option("--deployed", help="Count the fine-tuned model with a head for 2 classes, whatever the paper counts."),
]
AllFrames = Annotated[
    bool, typer.Option("--all-frames", help="Add rows for other ways to count a model, where there are some.")
]
GenericRow = Annotated[
    bool,
    typer.Option(help="Count the learned row that HashFormers add to every ordinary token, as their table 2 does."),
]
BudgetSizes = Annotated[
    str | None,
    typer.Option(
        metavar="SIZES",
        help="Print instead how each embedding is sized to have these numbers of parameters: 0.23M,0.8M,1.6M,6.4M.",
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
    """Count the parameters of models as each paper counts, with the published vocabulary, beside its own counts.

    Example: hashbench params --paper hashformers --format csv
    """
    from hashbench.results.papers.paper import load_paper
    from hashbench.results.tables.paper import PRINTED_COUNTS, printed_counts
    from hashbench.running.efficiency.sizes import BUDGET_COLUMNS, PARAMETER_COLUMNS, budget_rows, parameter_rows
    from hashbench.running.experiment.sizing import parameters_of

    if budget is not None:
        sized, missed = budget_rows(names or [], encoder, [parameters_of(size) for size in budget.split(",")])
        if not sized:
            raise InputError(missed[0] + (f" (and {len(missed) - 1} more like it)" if len(missed) > 1 else ""))
        print_rows(BUDGET_COLUMNS, sized, style)
        for line in missed:
            note(line)
        return
    numbers = load_paper(paper).numbers if paper is not None else {}
    rows = parameter_rows(
        names or [],
        encoder,
        paper=paper,
        printed=dict.fromkeys(model for _, model, _ in numbers),
        count_generic_row=generic_row,
        deployed=deployed,
        all_frames=all_frames,
    )
    for row in rows:  # a deployed model is counted in no paper's frame, so no printed count is beside it
        row.update(printed_counts("" if deployed else str(row["paper"]), str(row["model"])))
    print_rows([*PARAMETER_COLUMNS, *PRINTED_COUNTS], rows, style)
