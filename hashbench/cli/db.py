"""Commands about the results store: db merge, export, upgrade, void."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from hashbench.cli.options import DEFAULT_DB, Database
from hashbench.showing import without_passwords

DIFFERENT = 1  # exit code of a merge of results that disagree

app = typer.Typer(help="Merge, export, upgrade the results store; void a run.", no_args_is_help=True)


@app.command()
def merge(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The store whose results are taken over.")],
    db: Database = DEFAULT_DB,
    with_diffs: Annotated[
        bool, typer.Option("--with-diffs", help="Take over the texts of uncommitted changes of the code, too.")
    ] = False,
    prefer: Annotated[
        Literal["ours", "theirs"], typer.Option(help="Whose result counts of a run that is finished in both.")
    ] = "ours",
) -> None:
    """Copy the finished runs of another store into this one. Doing it twice changes nothing.

    If a run is finished in both stores, both results stay. If they differ, the exit code is 1.

    Example: hashbench db merge other.db
    """
    from hashbench.cli.output import note, show
    from hashbench.exchange.merge import merge as merge_store
    from hashbench.experiment.identity import run_id
    from hashbench.store.engine import open_store

    store = open_store(db)
    done = merge_store(store, file, with_diffs=with_diffs, prefer=prefer, identify=run_id)
    new = f"{done.experiments} experiments, {done.runs} runs, {done.attempts} attempts"
    show(f"{without_passwords(file)} -> {store.name}: {new}")
    for each in done.differences:
        place = f"run {each.run_id[:8]} {each.split} {each.name} step {each.step}"
        note(f"differs: {place}: counted {each.counted}, other copy {each.other}")
    if done.differences:
        ours = "those of this store count; to count the others: --prefer theirs"
        whose = ours if prefer == "ours" else "the others count"
        note(f"{len(done.differences)} numbers differ: {whose}")
        raise typer.Exit(DIFFERENT)


@app.command()
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The new database.")],
    db: Database = DEFAULT_DB,
    example: Annotated[
        bool, typer.Option("--example", hidden=True, help="The one form there is; accepted for one release.")
    ] = True,
    replace: Annotated[bool, typer.Option("--replace", help="Write in place of a store of this name.")] = False,
    experiments: Annotated[list[str] | None, typer.Option("--experiment", help="Only these; repeat it.")] = None,
) -> None:
    """Write a copy to share: without host names, paths, diffs and logs, and with predictions as classes.

    For a full copy, copy the file or use db merge.

    Example: hashbench db export results.db.example
    """
    from hashbench.cli.output import show
    from hashbench.exchange.export import export_example
    from hashbench.store.engine import open_results

    store = open_results(db)
    export_example(store, file, tuple(experiments or ()), replace=replace)
    show(f"{store.name} -> {file}")


@app.command()
def upgrade(db: Database = DEFAULT_DB) -> None:
    """Upgrade a store of an older version to the present schema.

    Example: hashbench db upgrade --db results.db
    """
    from hashbench.cli.output import show
    from hashbench.store.migrate import upgrade as upgrade_store

    before, after = upgrade_store(db)
    name = without_passwords(db)
    show(f"{name}: schema {before} -> {after}" if before != after else f"{name}: schema {after}, nothing to do")


@app.command()
def void(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The first digits of its id.")],
    reason: Annotated[str, typer.Option("--reason", help="Why its results do not count.")],
    db: Database = DEFAULT_DB,
) -> None:
    """Mark a run, and the runs built on it, as not to be counted. The next sweep does them again.

    Example: hashbench db void 3fa2 --reason "wrong data folder"
    """
    from hashbench.cli.output import show
    from hashbench.store.engine import open_store
    from hashbench.store.finishing import void as void_run
    from hashbench.store.status import find_run

    store = open_store(db, create=False)
    for run_id in void_run(store, find_run(store, run), reason):
        show(f"void: {run_id}")
