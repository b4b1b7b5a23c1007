"""`report robustness`: what models keep of their scores under noise in the texts."""

from __future__ import annotations

from typing import Annotated

import typer

from hashbench.cli.options import DEFAULT_DB, Database, ExperimentName, NamedExperiment, Output, ReportFormat


def report_robustness(
    experiment: ExperimentName = None,
    named: NamedExperiment = None,
    db: Database = DEFAULT_DB,
    versus: Annotated[
        str | None, typer.Option(help="The model to compare the others with. Default: the baseline.")
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Show each rate of noise for these tasks, or for average: cola,sst2."),
    ] = None,
    noise: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Show each rate for these kinds of noise: swap,keyboard.")
    ] = None,
    models: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Show each rate of noise for these models: NAME,NAME.")
    ] = None,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="Print everything: each task, rate and model, facts on the noisy texts, and how the coders behave on "
            "them.",
        ),
    ] = False,
    style: ReportFormat = "text",
    output: Output = None,
) -> None:
    """Print how much of their scores models keep when texts are noisy, with intervals.

    Without options it is a summary. CSV and JSON have each rate of noise.

    Example: hashbench report robustness robustness_tiny --versus bert-mlm
    """
    from hashbench.cli.reporting import print_report
    from hashbench.results.tables.request import ReportRequest

    tasks, noises, names = (
        [name.strip() for name in (given or "").split(",") if name.strip()] for given in (task, noise, models)
    )
    request = ReportRequest(
        named or experiment, table="robustness", versus=versus, full=full, tasks=tuple(tasks), models=tuple(names),
        noises=tuple(noises),
    )  # fmt: skip
    print_report(db, request, style, output)
