"""`compare`: paired differences of two models, experiments or databases."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from typing import Annotated

import typer

from hashbench.cli.options import DEFAULT_DB, EvaluationOption, TableFormat
from hashbench.common.errors import InputError

UNLIMITED = 10_000  # columns of what is no terminal: there `grep` shall find whole rows


def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="A model of the experiment, or an experiment.")],
    second: Annotated[
        str | None,
        typer.Argument(
            metavar="[B]",
            help="The model or experiment to compare A with. It may be left out where --db names two databases: then "
            "A of the first is compared with A of the second.",
        ),
    ] = None,
    db: Annotated[
        list[str] | None,
        typer.Option(
            "--db",
            help="The results store (HASHBENCH_DB, else results.db). Give it twice to compare two: A's, then B's.",
        ),
    ] = None,
    experiment: Annotated[
        str | None,
        typer.Option("--experiment", help="The experiment of the two models. Default: the one that was swept last."),
    ] = None,
    checkpoint: EvaluationOption = "best",
    style: TableFormat = "text",
) -> None:
    """Compare two models, experiments or databases: the difference A - B on each task, with its 95 % interval.

    Only scores measured on the same examples are compared.

    Examples: hashbench compare hashformer-lsh-proj bert-mlm; hashbench compare glue_tiny --db mine.db --db theirs.db
    """
    from hashbench.cli.output import note, print_rows, show
    from hashbench.results.read.comparison import compare as compare_sides
    from hashbench.results.rendering.rows import fitted_text
    from hashbench.results.tables.comparison import comparison_rows, n_names, remarks, sides
    from hashbench.store.engine import open_results

    stores = [open_results(place) for place in _places(db or [], alone=second is None)]
    comparison = compare_sides(stores, first, second or first, experiment=experiment, checkpoint=checkpoint)
    for_people = style in ("text", "md")
    columns, rows = comparison_rows(comparison, for_people=for_people)
    if style == "text":
        width = shutil.get_terminal_size((UNLIMITED, 24)).columns
        head, foot = sides(comparison), remarks(comparison)
        show(fitted_text(columns, rows, width, n_names=n_names(columns), above=head, below=foot))
        return
    if for_people:
        show("\n".join(sides(comparison)) + "\n")
    print_rows(columns, rows, style)
    if not for_people:  # for programs what else is said goes to stderr
        note("\n".join([*sides(comparison), *remarks(comparison)]))
        return
    show("".join(f"\n- {remark}" for remark in remarks(comparison)))


def _places(databases: Sequence[str], *, alone: bool) -> list[str]:
    """The databases of both sides, or one for both. `alone`: only one model or experiment is named.

    Raises InputError for more than two, and where nothing would tell the sides apart.
    """
    places = list(databases) or [os.environ.get("HASHBENCH_DB") or DEFAULT_DB]
    if len(places) > 2:
        raise InputError(f"compare: --db is given {len(places)} times; give it once, or twice: A's and B's")
    if alone and len(places) < 2:
        raise InputError("compare: name two models or experiments, or give --db twice; see hashbench compare --help")
    return places
