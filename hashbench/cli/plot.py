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
            metavar="[NAME]...", help="Such as pareto or tasks (a wrong name lists all); if not given, all with data."
        ),
    ] = None,
    experiment: Annotated[
        str | None, typer.Option("--experiment", help="Its name; the last one swept if not given.")
    ] = None,
    db: Database = DEFAULT_DB,
    folder: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where the files go; made if needed.")
    ] = Path("figures"),
    style: Annotated[Literal["png", "svg", "pdf"], typer.Option("--format", help="The kind of file.")] = "png",
    width: Annotated[
        Literal["single", "double"],
        typer.Option("--width", help="A paper's column (3.03 inches), or its whole text (6.30)."),
    ] = "double",
) -> None:
    """Draw the figures of an experiment, in the size of a paper.

    A model has the same colour and marker in all of them.

    Example: hashbench plot pareto tasks --experiment glue_tiny --format pdf --width single
    """
    from hashbench.cli.output import note
    from hashbench.plots.main import plot as draw_figures
    from hashbench.store.engine import open_results

    store = open_results(db)
    figures = draw_figures(store, names or [], experiment=experiment, folder=folder, format=style, width=width)
    for name, reason in figures.left_out.items():
        note(f"not drawn: {name}: {reason}")
    for path in figures.files:
        print(path)
