"""`neighbours`: the items that a model expects beside others."""

from __future__ import annotations

from typing import Annotated

import typer

from hashbench.cli.options import DEFAULT_DB, Database, TableFormat
from hashbench.cli.output import print_rows


def neighbours(
    context: Annotated[
        list[str], typer.Argument(metavar="ITEM...", help="The items that are given, by their names in the data.")
    ],
    run: Annotated[str, typer.Option("--run", help="The finished training, by the first digits of its id.")],
    db: Database = DEFAULT_DB,
    top: Annotated[int, typer.Option(min=1, help="How many items to print.")] = 10,
    beam: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Score only the items in the best buckets, this number of each hash function: faster, but "
            "approximate. Default: all items, exact.",
        ),
    ] = None,
    style: TableFormat = "text",
) -> None:
    """Print the items that a model expects beside those given, as the lists of Superbloom's figures 4 and 5.

    For a model trained on page links, ITEM are pages that one page links to. For one trained on text they are the
    words of a text in order, with [MASK] in the place that is asked for.

    Example: hashbench neighbours --run 3fa94c11 Tunisia Thailand
    """
    from hashbench.deployment.neighbours import neighbours as find_neighbours

    print_rows(["rank", "item", "score", "in_context"], find_neighbours(db, run, context, top=top, beam=beam), style)
