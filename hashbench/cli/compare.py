"""`compare`: paired differences of two models, experiments or databases."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from hashbench.cli.options import DEFAULT_DB, EvaluationOption, TableFormat
from hashbench.errors import InputError

if TYPE_CHECKING:
    from hashbench.rendering.rows import ListedRows

LINE = 120  # the longest of a sentence
UNLIMITED = 10_000  # columns of what is no terminal: there `grep` shall find whole rows


def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="A model of the experiment, or an experiment.")],
    second: Annotated[
        str | None, typer.Argument(metavar="[B]", help="What is subtracted from it; A itself with two databases.")
    ] = None,
    db: Annotated[
        list[str] | None,
        typer.Option("--db", help="The results store (HASHBENCH_DB, else results.db); given twice: A's, then B's."),
    ] = None,
    experiment: Annotated[
        str | None, typer.Option("--experiment", help="Whose models; the last one swept if not given.")
    ] = None,
    checkpoint: EvaluationOption = "best",
    style: TableFormat = "text",
) -> None:
    """Two models, experiments or databases: the paired difference A - B of each task with its 95 % interval.

    Only scores measured on the same examples are compared.

    Examples: hashbench compare hashformer-lsh-proj bert-mlm; hashbench compare glue_tiny --db mine.db --db theirs.db
    """
    from hashbench.cli.output import note, print_rows, show
    from hashbench.results.comparison import compare as compare_sides
    from hashbench.store.engine import open_results
    from hashbench.tables.comparison import comparison_rows, remarks, sides

    stores = [open_results(place) for place in _places(db or [], alone=second is None)]
    comparison = compare_sides(stores, first, second or first, experiment=experiment, checkpoint=checkpoint)
    for_people = style in ("text", "md")
    columns, rows = comparison_rows(comparison, for_people=for_people)
    if style == "text":
        show(_fitted(columns, rows, sides(comparison), remarks(comparison)))
        return
    if for_people:
        show("\n".join(sides(comparison)) + "\n")
    print_rows(columns, rows, style)
    if not for_people:  # for programs what else is said goes to stderr
        note("\n".join([*sides(comparison), *remarks(comparison)]))
        return
    show("".join(f"\n- {remark}" for remark in remarks(comparison)))


def _fitted(columns: Sequence[str], rows: ListedRows, head: Sequence[str], foot: Sequence[str]) -> str:
    """The comparison in the width of the terminal."""
    from hashbench.rendering.rows import fitted_lines

    width = shutil.get_terminal_size((UNLIMITED, 24)).columns
    names = sum(name in ("model", "task", "metric") for name in columns)
    lines = fitted_lines(columns, rows, width, n_names=names)
    above, below = (
        [line for text in texts for line in textwrap.wrap(text, min(width, LINE)) or [""]] for texts in (head, foot)
    )
    return "\n".join([*above, "", *lines, "", *below])


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
