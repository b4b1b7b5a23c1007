"""`report`: the tables of an experiment, or one page of them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from hashbench.cli.options import (
    DEFAULT_DB,
    Database,
    EvaluationChoice,
    EvaluationOption,
    ExperimentName,
    NamedExperiment,
    Output,
    PaperName,
)


class ReportFormat(StrEnum):
    """How tables are printed."""

    text = "text"
    md = "md"
    csv = "csv"
    json = "json"
    latex = "latex"
    html = "html"


def report(
    experiment: ExperimentName = None,
    named: NamedExperiment = None,
    db: Database = DEFAULT_DB,
    paper: PaperName = None,
    table: Annotated[
        str | None, typer.Option(help="A table's number, or several as 1,2,3; without it: the experiment's own.")
    ] = None,
    style: Annotated[ReportFormat, typer.Option("--format", help="How to print it.")] = ReportFormat.text,
    published: Annotated[bool, typer.Option(help="Show the paper's values beside the measured ones.")] = True,
    examples: Annotated[bool, typer.Option("--examples", help="Bootstrap intervals over examples; slower.")] = False,
    all_metrics: Annotated[
        bool, typer.Option("--all-metrics", help="In the experiment's own table: every stored metric of each task.")
    ] = False,
    checkpoint: EvaluationOption = EvaluationChoice.best,
    output: Output = None,
) -> None:
    """Print the tables of an experiment, measured beside published.

    See also: hashbench report claims --help; hashbench report robustness --help

    Example: hashbench report glue_tiny --table 2 --format md
    """
    from hashbench.cli.reporting import print_page, print_report
    from hashbench.tables.request import ReportRequest

    request = ReportRequest(named or experiment, paper, table, published, examples, all_metrics, checkpoint.value)
    if style is ReportFormat.html:
        print_page(db, request, output)
    else:
        print_report(db, request, style.value, output)
