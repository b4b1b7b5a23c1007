"""`neighbours`: the items that a model expects beside others."""

from __future__ import annotations

from typing import Annotated

import typer

from hashbench.cli.options import DEFAULT_DB, Database, TableFormat
from hashbench.cli.output import print_rows


def neighbours(
    context: Annotated[
        list[str], typer.Argument(metavar="ITEM...", help="Items that stand together, as the data name them.")
    ],
    run: Annotated[str, typer.Option("--run", help="The training to ask: first digits of its id.")],
    db: Database = DEFAULT_DB,
    top: Annotated[int, typer.Option(min=1, help="How many items to print.")] = 10,
    beam: Annotated[
        int | None, typer.Option(min=1, help="Look into so many buckets a map; without it the ranking is exact.")
    ] = None,
    style: TableFormat = "text",
) -> None:
    """Print the items that a model of page links predicts together with the given ones, as Superbloom's figure 4 does.

    A model of text predicts the items in the place of [MASK] (figure 5).

    Example: hashbench neighbours --run 3fa94c11 Tunisia Thailand
    """
    from hashbench.export.neighbours import neighbours as find_neighbours

    print_rows(["rank", "item", "score", "in_context"], find_neighbours(db, run, context, top=top, beam=beam), style)
