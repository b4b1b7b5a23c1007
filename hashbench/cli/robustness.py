"""`report robustness`: what models keep of their scores under noise in the texts."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from hashbench.cli.options import DEFAULT_DB, Database, ExperimentName, NamedExperiment, Output


def report_robustness(
    experiment: ExperimentName = None,
    named: NamedExperiment = None,
    db: Database = DEFAULT_DB,
    versus: Annotated[
        str | None, typer.Option(help="The model that the others are compared with; the baseline if not given.")
    ] = None,
    style: Annotated[
        Literal["text", "md", "csv", "json", "latex"], typer.Option("--format", help="How to print it.")
    ] = "text",
    output: Output = None,
) -> None:
    """Print what is kept of the scores under noise in the texts, with intervals.

    Example: hashbench report robustness robustness_tiny --versus bert-mlm
    """
    from hashbench.cli.reporting import print_report
    from hashbench.tables.request import ReportRequest

    print_report(db, ReportRequest(named or experiment, table="robustness", versus=versus), style, output)
