"""`status`: how far a sweep is."""

from __future__ import annotations

from typing import Annotated

import typer

from hashbench.cli.options import DEFAULT_DB, Database, TextOrJson
from hashbench.errors import InputError


def status(
    experiment: Annotated[str | None, typer.Argument(help="Its name; the last one swept if not given.")] = None,
    db: Database = DEFAULT_DB,
    run: Annotated[
        str | None, typer.Option("--run", help="One run by the first digits of its id: attempts, log.")
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Print again every few seconds until nothing is left to do; text only.")
    ] = False,
    style: Annotated[TextOrJson, typer.Option("--format", help="How to print it.")] = TextOrJson.text,
) -> None:
    """How far a sweep is.

    Example: hashbench status --watch
    """
    from hashbench.cli.status import print_run, print_status, watch_status
    from hashbench.store.engine import open_store

    if watch and style is TextOrJson.json:
        raise InputError("status: --watch prints text; leave out --watch or --format json")
    store = open_store(db, create=False, read_only=True)
    if run is not None:
        print_run(store, run, as_json=style is TextOrJson.json)
    elif watch:
        watch_status(store, experiment)
    else:
        print_status(store, experiment, as_json=style is TextOrJson.json)
