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
        str | None, typer.Option(help="The model that the others are compared with; the baseline if not given.")
    ] = None,
    task: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Each rate of these tasks (or of average): cola,sst2.")
    ] = None,
    noise: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Each rate of these kinds of noise: swap,keyboard.")
    ] = None,
    models: Annotated[str | None, typer.Option(metavar="NAMES", help="Each rate of these models: NAME,NAME.")] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Every task, rate and model, the texts and the coders: long.")
    ] = False,
    style: ReportFormat = "text",
    output: Output = None,
) -> None:
    """Print what is kept of the scores under noise in the texts, with intervals: a summary, and on demand each rate.

    CSV and JSON have every rate of what is chosen.

    Example: hashbench report robustness robustness_tiny --versus bert-mlm
    """
    from hashbench.cli.reporting import print_report
    from hashbench.tables.request import ReportRequest

    tasks, noises, names = (
        [name.strip() for name in (given or "").split(",") if name.strip()] for given in (task, noise, models)
    )
    request = ReportRequest(
        named or experiment, table="robustness", versus=versus, full=full, tasks=tuple(tasks), models=tuple(names),
        noises=tuple(noises),
    )  # fmt: skip
    print_report(db, request, style, output)
