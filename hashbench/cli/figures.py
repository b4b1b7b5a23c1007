"""`plot` and `dashboard`: figures of an experiment as files, and the experiment at Weights & Biases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from hashbench.cli.options import DEFAULT_DB, Database, ExperimentName
from hashbench.cli.output import note, note_unread
from hashbench.cli.outputs import Writes
from hashbench.common.process import one_thread_of_numpy


def plot(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="The experiment, and figures, such as pareto or curves; a wrong name lists them. Default: all with "
            "data.",
        ),
    ] = None,
    experiment: Annotated[
        str | None,
        typer.Option("--experiment", help="The name of the experiment. Default: the one that was swept last."),
    ] = None,
    db: Database = DEFAULT_DB,
    folder: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FOLDER", help="The folder for the figures. It is made if needed."),
        Writes("--output"),
    ] = Path("figures"),
    style: Annotated[Literal["png", "svg", "pdf"], typer.Option("--format", help="The format of the files.")] = "png",
    width: Annotated[
        Literal["single", "double"],
        typer.Option("--width", help="As wide as one column of a paper (3.03 inches), or as its text (6.30)."),
    ] = "double",
) -> None:
    """Draw the figures of an experiment, in the size of a paper.

    A model has the same colour and marker in all of them. Models with one embedding and code have one colour.

    Example: hashbench plot glue_tiny pareto curves --format pdf --width single
    """
    one_thread_of_numpy()
    from hashbench.results.plots.main import plot as draw_figures
    from hashbench.store.engine import open_results

    store = open_results(db)
    figures = draw_figures(store, names or [], experiment=experiment, folder=folder, format=style, width=width)
    for name, reason in figures.left_out.items():
        note(f"not drawn: {name}: {reason}")
    note_unread(store)
    for path in figures.files:
        print(path)


def dashboard(
    experiment: ExperimentName = None,
    db: Database = DEFAULT_DB,
    project: Annotated[
        str | None, typer.Option(help="The project at Weights & Biases. Default: tracking.project of the experiment.")
    ] = None,
    entity: Annotated[str | None, typer.Option(help="The user or team at Weights & Biases. Default: your own.")] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Only write the files of the runs, make no workspace.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The folder for the files. Default: dashboard/NAME."),
        Writes("--output"),
    ] = None,
) -> None:
    """Make an experiment in Weights & Biases from the database: runs for wandb sync, and a workspace.

    It can be repeated: no run appears twice. Needs pip install "hashbench\\[wandb]".

    Example: hashbench dashboard glue_tiny --db example --offline
    """
    from hashbench.results.dashboard.main import dashboard as make_dashboard
    from hashbench.store.engine import open_results

    store = open_results(db)
    result = make_dashboard(
        store, experiment, project=project, entity=entity, offline=offline, output=output, note=note
    )
    unfinished = f", {result.n_open} of the experiment are not finished" if result.n_open else ""
    print(f"runs: {result.n_runs}, of these written now: {result.n_new}{unfinished}")
    if result.workspace:
        print(f"workspace: {result.workspace}")
    target = f"-p {result.project}" + (f" -e {result.entity}" if result.entity else "")
    note(f"send the runs: wandb sync {target} {result.folder}/wandb/offline-run-*")
    if offline:
        note("make the workspace: the same command without --offline")
