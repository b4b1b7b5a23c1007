"""Commands about the results store: db merge, export, upgrade, count-texts, void."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from hashbench.cli.options import DEFAULT_DB, Data, Database, ExperimentName, TrustCode
from hashbench.cli.output import note, show
from hashbench.common.errors import InputError
from hashbench.common.showing import without_passwords

DIFFERENT = 1  # exit code of a merge of results that disagree
INCOMPLETE = 1  # exit code of a count that left some runs without counts

app = typer.Typer(help="Merge, export, upgrade the results store; count texts; void a run.", no_args_is_help=True)


@app.command()
def merge(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The results store to take over results from.")],
    db: Database = DEFAULT_DB,
    with_diffs: Annotated[
        bool,
        typer.Option(
            "--with-diffs", help="Also take over the stored diffs: texts of code changes that were not committed."
        ),
    ] = False,
    prefer: Annotated[
        Literal["ours", "theirs"], typer.Option(help="Which result counts where both stores have finished a run.")
    ] = "ours",
) -> None:
    """Copy the finished runs of another store into this one. Doing it twice changes nothing.

    Where both stores have finished a run, both results are kept. If they differ, the exit code is 1.

    Example: hashbench db merge other.db
    """
    from hashbench.results.exchange.merge import check_there
    from hashbench.results.exchange.merge import merge as merge_store
    from hashbench.running.experiment.identity import run_id
    from hashbench.store.engine import open_store

    check_there(file)  # before an empty store is made
    store = open_store(db)
    merged = merge_store(store, file, with_diffs=with_diffs, prefer=prefer, identify=run_id)
    new = f"{merged.experiments} experiments, {merged.runs} runs, {merged.attempts} attempts"
    show(f"{without_passwords(file)} -> {store.name}: {new}")
    for difference in merged.differences:
        place = f"run {difference.run_id[:8]} {difference.split} {difference.name} step {difference.step}"
        note(f"differs: {place}: counted {difference.counted}, other copy {difference.other}")
    if merged.differences:
        advice = "those of this store count; to count the others: --prefer theirs"
        whose = advice if prefer == "ours" else "the others count"
        note(f"{len(merged.differences)} numbers differ: {whose}")
        raise typer.Exit(DIFFERENT)


@app.command()
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The new database.")],
    db: Database = DEFAULT_DB,
    replace: Annotated[bool, typer.Option("--replace", help="Replace FILE, if it is a results store.")] = False,
    experiments: Annotated[
        list[str] | None, typer.Option("--experiment", help="Export only this experiment. Repeat it for several.")
    ] = None,
) -> None:
    """Write a copy to publish: without host names, paths, diffs and logs, and with classes in place of outputs.

    For a full copy, copy the file or use db merge.

    Example: hashbench db export results.db.example
    """
    from hashbench.results.exchange.export import export_example
    from hashbench.store.engine import open_results

    store = open_results(db)
    export_example(store, file, tuple(experiments or ()), replace=replace)
    show(f"{store.name} -> {file}")


@app.command()
def upgrade(db: Database = DEFAULT_DB) -> None:
    """Upgrade a results store that an older version wrote.

    Example: hashbench db upgrade --db results.db
    """
    from hashbench.store.migrate import upgrade as upgrade_store

    before, after = upgrade_store(db)
    name = without_passwords(db)
    show(f"{name}: schema {before} -> {after}" if before != after else f"{name}: schema {after}, nothing to do")


@app.command()
def count_texts(
    experiment: ExperimentName = None,
    db: Database = DEFAULT_DB,
    data: Data = None,
    trust_code: TrustCode = False,
) -> None:
    """Count how much of its texts each finished fine-tuning read, for runs that were stored without these counts.

    The data must be at hand, and the corpora for a vocabulary that is learned from them. If they are there for some
    runs alone, the exit code is 1; if for none, 2.

    Example: hashbench db count-texts budgets_tiny --data ~/data
    """
    from hashbench.running.sweep.count_texts import count_texts as count
    from hashbench.store.engine import open_store

    missed, done = [], False
    for outcome in count(open_store(db, create=False), experiment, data or None, trust_code=trust_code):
        if outcome.missed:
            missed.append(outcome.line)
        else:
            done = True
            show(outcome.line)
    if missed and not done:
        raise InputError(missed[0] + (f" (and {len(missed) - 1} more like it)" if len(missed) > 1 else ""))
    for line in missed:
        note(line)
    if missed:
        raise typer.Exit(INCOMPLETE)


@app.command()
def void(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run, by the first digits of its id.")],
    reason: Annotated[str, typer.Option("--reason", help="Why its results do not count. It is stored with the run.")],
    db: Database = DEFAULT_DB,
) -> None:
    """Mark the results of a run, and of runs that read its weights, as invalid. The next sweep does them again.

    Example: hashbench db void 3fa2 --reason "wrong data folder"
    """
    from hashbench.store.engine import open_store
    from hashbench.store.finishing import void as void_run
    from hashbench.store.status import find_run

    store = open_store(db, create=False)
    for run_id in void_run(store, find_run(store, run), reason):
        show(f"void: {run_id}")
