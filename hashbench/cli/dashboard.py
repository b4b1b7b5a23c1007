"""`hashbench dashboard`: an experiment at Weights & Biases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hashbench.cli.options import DEFAULT_DB, Database, ExperimentName


def dashboard(
    experiment: ExperimentName = None,
    db: Database = DEFAULT_DB,
    project: Annotated[
        str | None, typer.Option(help="The project at Weights & Biases. Default: tracking.project of the experiment.")
    ] = None,
    entity: Annotated[str | None, typer.Option(help="The user or team at Weights & Biases. Default: your own.")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Only write files, send nothing.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The folder for the files. Default: dashboard/NAME.")
    ] = None,
) -> None:
    """Make an experiment in Weights & Biases from the database: runs, a workspace and a report.

    It can be repeated: no run appears twice. Needs pip install "hashbench\\[wandb]".

    Example: hashbench dashboard glue_tiny --db results.db.example --offline
    """
    from hashbench.cli.output import note
    from hashbench.results.dashboard.main import dashboard as make_dashboard
    from hashbench.store.engine import open_results

    store = open_results(db)
    result = make_dashboard(
        store, experiment, project=project, entity=entity, offline=offline, output=output, note=note
    )
    left = f", {result.n_open} of the experiment are not finished" if result.n_open else ""
    print(f"runs: {result.n_runs}, of these written now: {result.n_new}{left}")
    print(f"workspace: {result.workspace}\nreport: {result.report}")
    if offline:
        note(
            f"send the runs:          wandb sync {result.folder / 'wandb'}\n"
            "send everything:        the same command without --offline"
        )
