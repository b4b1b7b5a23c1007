"""`hashbench plot`: figures of an experiment as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from hashbench.cli.options import DEFAULT_DB, Database


def plot(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Figures, such as pareto or tasks; a wrong name lists them. Default: all that there are data for.",
        ),
    ] = None,
    experiment: Annotated[
        str | None,
        typer.Option("--experiment", help="The name of the experiment. Default: the one that was swept last."),
    ] = None,
    db: Database = DEFAULT_DB,
    folder: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="The folder for the figures. It is made if needed.")
    ] = Path("figures"),
    style: Annotated[Literal["png", "svg", "pdf"], typer.Option("--format", help="The format of the files.")] = "png",
    width: Annotated[
        Literal["single", "double"],
        typer.Option("--width", help="As wide as one column of a paper (3.03 inches), or as its text (6.30)."),
    ] = "double",
) -> None:
    """Draw the figures of an experiment, in the size of a paper.

    A model has the same colour and marker in all of them. In budgets, families have.

    Example: hashbench plot pareto tasks --experiment glue_tiny --format pdf --width single
    """
    from hashbench.cli.output import note
    from hashbench.results.plots.main import plot as draw_figures
    from hashbench.store.engine import open_results

    store = open_results(db)
    figures = draw_figures(store, names or [], experiment=experiment, folder=folder, format=style, width=width)
    for name, reason in figures.left_out.items():
        note(f"not drawn: {name}: {reason}")
    for path in figures.files:
        print(path)
