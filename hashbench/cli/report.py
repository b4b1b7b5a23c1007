"""`report`: the tables of an experiment, or one page of them."""

from __future__ import annotations

from typing import Annotated

import typer

from hashbench.cli.options import (
    DEFAULT_DB,
    Database,
    EvaluationOption,
    ExperimentName,
    NamedExperiment,
    Output,
    PaperName,
    format_of_tables,
)
from hashbench.common.allocator import collecting_nothing

PAGE = "html"  # as a format: one page of everything, with figures


def report(
    experiment: ExperimentName = None,
    named: NamedExperiment = None,
    db: Database = DEFAULT_DB,
    paper: PaperName = None,
    table: Annotated[
        str | None,
        typer.Option(
            help="Print this table of the paper, or several: 1,2,3. Default: the experiment's own table. If no "
            "experiment is named, the one that measured most columns of the table is taken."
        ),
    ] = None,
    style: Annotated[str, format_of_tables(PAGE)] = "text",
    published: Annotated[bool, typer.Option(help="Show the published values beside the measured ones.")] = True,
    examples: Annotated[
        bool, typer.Option("--examples", help="Also print bootstrap intervals over examples. Slower.")
    ] = False,
    all_metrics: Annotated[
        bool,
        typer.Option("--all-metrics", help="In the experiment's own table: show every stored metric of each task."),
    ] = False,
    checkpoint: EvaluationOption = "best",
    provenance: Annotated[
        bool,
        typer.Option(help="Say below each table which data, recipe, code and machines its numbers come from."),
    ] = True,
    output: Output = None,
) -> None:
    """Print the tables of an experiment, with measured values beside published ones.

    See also: hashbench report claims --help; hashbench report robustness --help

    Example: hashbench report glue_tiny --table 2 --format md
    """
    with collecting_nothing():
        from hashbench.cli.reporting import print_page, print_report
        from hashbench.results.tables.request import ReportRequest

        request = ReportRequest(
            named or experiment, paper, table, published, examples, all_metrics, checkpoint, provenance
        )
        if style != PAGE:
            print_report(db, request, style, output)
            return
    print_page(db, request, output)
