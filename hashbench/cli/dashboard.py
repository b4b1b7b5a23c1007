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
        str | None, typer.Option(help="Of Weights & Biases; the experiment's tracking.project if not given.")
    ] = None,
    entity: Annotated[str | None, typer.Option(help="A user or team of W&B; your default if not given.")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Write files, send nothing.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The folder of the files; dashboard/NAME if not given.")
    ] = None,
) -> None:
    """Make an experiment in Weights & Biases from the database: runs, a workspace and a report.

    Repeating it makes no duplicates. Needs pip install "hashbench\\[wandb]".

    Example: hashbench dashboard glue_tiny --db results.db.example --offline
    """
    from hashbench.cli.output import note
    from hashbench.dashboard.main import dashboard as make_dashboard
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
