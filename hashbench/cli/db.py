"""Commands on the results store: db merge, export, publish, check, upgrade, void, delete."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hashbench.cli.options import DEFAULT_DB, Database
from hashbench.cli.output import note, note_unread, show
from hashbench.cli.outputs import Writes
from hashbench.common.errors import InputError
from hashbench.common.showing import without_passwords

if TYPE_CHECKING:
    from hashbench.results.exchange.merge import MergeReport
    from hashbench.store.deleting import Deletion
    from hashbench.store.engine import Store

TO_DECIDE = 1  # exit code of a merge of results that disagree or are void there, and of a damaged database
MOST_LINES = 20  # lines of one sort at most

app = typer.Typer(
    help="Merge, export, publish, check, upgrade the results store; void runs; delete experiments.",
    no_args_is_help=True,
)


@app.command()
def merge(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The results store to take over results from.")],
    db: Database = DEFAULT_DB,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would come, and write nothing.")] = False,
) -> None:
    """Copy the finished runs of another store into this one. Doing it twice changes nothing.

    No result of this store changes. Where both stores have finished a run, both results are kept, and the one that was
    here counts. If they differ, or if a result is void there, they are listed, and the exit code is 1. Before it
    changes anything, it saves a copy of a SQLite file.

    Example: hashbench db merge other.db
    """
    from hashbench.results.exchange.checked_rows import check_there
    from hashbench.results.exchange.merge import merge as merge_store
    from hashbench.running.experiment.identity import run_id
    from hashbench.store.engine import open_store

    check_there(file)  # before an empty store is made
    store = open_store(db, create=not dry_run, read_only=dry_run)
    merged = merge_store(store, file, dry_run=dry_run, identify=run_id)
    new = f"{merged.experiments} experiments, {merged.runs} runs, {merged.attempts} attempts"
    show(f"{without_passwords(file)} -> {store.name}: {'would bring ' if dry_run else ''}{new}")
    for line in _remarks(merged):
        note(line)
    if merged.disagrees:
        raise typer.Exit(TO_DECIDE)


def _remarks(merged: MergeReport) -> Iterator[str]:
    """Lines on what a merge did to this store besides adding to it, and on what differs."""
    if merged.copy is not None:
        yield f"this store as it was before: {merged.copy}"
    for name in merged.shown_instead:
        yield f"experiment {name!r}: reports show the version of the other store, which is newer"
    for name, number in merged.apart.items():
        yield f"experiment {name!r}: {number} runs of the other store do not belong to it and did not join it"
    yield from _of_runs(
        merged.void_here, "are void here and finished there; they stay void, and a sweep does them again"
    )
    yield from _of_runs(
        merged.in_flight, "are in flight here and were left to their workers; merge again when they ended"
    )
    yield from _of_runs(merged.beside, "have a further result now; the results of this store count")
    yield from _first(f"void there: run {void.run_id[:8]}: {void.reason or 'no reason'}" for void in merged.voids)
    if merged.voids:
        yield f"{len(merged.voids)} results are void there and count here; to make them void: hashbench db void RUN"
    yield from _first(
        f"differs: run {number.run_id[:8]} {number.split} {number.name} step {number.step}: "
        f"counted {number.counted}, other copy {number.other}"
        for number in merged.differences
    )
    if merged.differences:
        yield f"{len(merged.differences)} numbers differ; those of this store count"


def _of_runs(run_ids: Sequence[str], what: str) -> Iterator[str]:
    if run_ids:
        ids = ", ".join(run_id[:8] for run_id in run_ids[:MOST_LINES])
        more = f" and {len(run_ids) - MOST_LINES} more" if len(run_ids) > MOST_LINES else ""
        yield f"{len(run_ids)} runs {what}: {ids}{more}"


def _first(lines: Iterable[str]) -> Iterator[str]:
    """The first MOST_LINES lines, and how many there are besides."""
    every = list(lines)
    yield from every[:MOST_LINES]
    if len(every) > MOST_LINES:
        yield f"... and {len(every) - MOST_LINES} more"


@app.command()
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The new database."), Writes("db export")],
    db: Database = DEFAULT_DB,
    replace: Annotated[bool, typer.Option("--replace", help="Replace FILE, if it is a results store.")] = False,
    experiments: Annotated[
        list[str] | None, typer.Option("--experiment", help="Export only this experiment. Repeat it for several.")
    ] = None,
    leave_out: Annotated[
        list[str] | None,
        typer.Option(
            "--leave-out",
            metavar="RUN",
            help="Leave this run out, by the first digits of its id, and those that need it. Repeat it for several.",
        ),
    ] = None,
) -> None:
    """Write a copy to publish: no host names, paths, diffs or logs, classes in place of outputs, curves of 25 points.

    Refused where the spec of a run names a path, a host or an address with a user: a spec is never changed, since its
    hash is the run's id. For a full copy, copy the file or use db merge.

    Example: hashbench db export results.db.example
    """
    from hashbench.results.exchange.export import export_example
    from hashbench.store.engine import open_results
    from hashbench.store.status import find_run

    store = open_results(db)
    without = [find_run(store, run) for run in leave_out or ()]
    left_out = export_example(store, file, tuple(experiments or ()), replace=replace, leave_out=without)
    note_unread(store)
    show(f"{store.name} -> {file}")
    for line in _of_runs(left_out, "are left out"):
        note(line)


@app.command()
def publish(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The folder for the files, which is made."), Writes("db publish")
    ],
    organisation: Annotated[
        str, typer.Option(help="Who publishes: the name of an organisation or user on the hub.", show_default=False)
    ],
    db: Database = DEFAULT_DB,
    experiments: Annotated[
        list[str] | None, typer.Option("--experiment", help="Publish only this experiment. Repeat it for several.")
    ] = None,
) -> None:
    """Write results in the form that others read: records of Every Eval Ever.

    The same results give the same files. Scores come with their intervals, seeds, code and data.

    Example: hashbench db publish published --organisation my-lab --experiment glue_tiny
    """
    from hashbench.results.publishing.records import publish as publish_results
    from hashbench.store.engine import open_results

    store = open_results(db)
    done = publish_results(store, folder, organisation, experiments or ())
    note_unread(store)
    show(f"{store.name} -> {folder}: {done.records:,} record{'s' if done.records != 1 else ''}")
    for line in done.notes:
        note(line)


@app.command()
def check(db: Database = DEFAULT_DB) -> None:
    """Look for damage: content against its sums, ids against specs, scores against outputs, files against their sums.

    If there is any, the exit code is 1. Then take a whole copy, or db void RUN --reason damaged and sweep again.

    Example: hashbench db check --db results.db
    """
    from hashbench.data.sources.fingerprints import cache_folder
    from hashbench.results.exchange.checking import find_damage, has_sums
    from hashbench.running.experiment.identity import run_id
    from hashbench.running.runs.artifacts import ArtifactFolder
    from hashbench.store.engine import open_results

    store = open_results(db)
    if not has_sums(store):
        note(f"{store.name}: an older schema without sums, so not every changed bit is found; hashbench db upgrade")
    damage = list(find_damage(store, identify=run_id, files=ArtifactFolder(cache_folder()).root))
    if not damage:
        show(f"{store.name}: no damage")
        return
    for item in damage:
        show(str(item))
    remedy = "take a whole copy, or hashbench db void RUN --reason damaged and sweep again"
    note(f"{store.name}: {len(damage)} places are damaged; {remedy}")
    raise typer.Exit(TO_DECIDE)


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
def void(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run, by the first digits of its id.")],
    reason: Annotated[str, typer.Option("--reason", help="Why its results do not count. It is stored with the run.")],
    db: Database = DEFAULT_DB,
) -> None:
    """Mark the results of a run, and of runs that read its weights, as invalid. The next sweep does them again.

    Example: hashbench db void 3fa2 --reason "wrong data folder"
    """
    from hashbench.store.engine import open_store
    from hashbench.store.result import void as void_run
    from hashbench.store.status import find_run

    store = open_store(db, create=False)
    for run_id in void_run(store, find_run(store, run), reason):
        show(f"void: {run_id}")


@app.command()
def delete(
    experiment: Annotated[str, typer.Argument(metavar="EXPERIMENT", help="The name of the experiment.")],
    db: Database = DEFAULT_DB,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete an experiment with its runs and their results from the database.

    Runs that another experiment has, or that its runs need, stay. Refused while a worker has one of the runs. Before
    it deletes anything, it saves a copy of a SQLite file. Files in the cache stay, since another database may have the
    same runs; it prints their size, and the command that removes them.

    Example: hashbench db delete quickstart
    """
    from hashbench.store.deleting import delete as delete_experiment
    from hashbench.store.deleting import planned_deletion
    from hashbench.store.engine import open_store

    store = open_store(db, create=False)
    planned = planned_deletion(store, experiment)
    show(f"{experiment} ({store.name}): {_what_goes(planned)}")
    if not yes and not sys.stdin.isatty():
        raise InputError("db delete: it asks before it deletes, and nobody can answer here; give --yes")
    if not yes and not typer.confirm("Delete it?"):
        note("nothing was deleted")
        raise typer.Exit(TO_DECIDE)
    _name_copy(store)
    delete_experiment(store, planned)
    show("deleted")
    if planned.n_files:
        note("their files stay, since another database may have the same runs; to remove weights that none has:")
        note(f"hashbench cache clean --weights --db {store.name} (and a --db for each other one that shares the cache)")


def _what_goes(planned: Deletion) -> str:
    """Counts of what a deletion takes away, and of the runs that stay, in words."""
    counts = [(len(planned.experiments), "version"), (len(planned.runs), "run"), (planned.n_attempts, "attempt")]
    goes = ", ".join(f"{n:,} {what}{'' if n == 1 else 's'}" for n, what in counts)
    stays = f"; {planned.n_staying:,} of its runs stay, since others use them" if planned.n_staying else ""
    size = f"{planned.n_files:,} files of {planned.n_bytes / 1e6:,.1f} MB"
    return f"{goes} go{stays}{f'; {size} stay in the cache' if planned.n_files else ''}"


def _name_copy(store: Store) -> None:
    """Saves a copy of a SQLite database, and prints where it is."""
    copy = store.copy_first()
    note("no copy is made of a server's database" if copy is None else f"this store as it was before: {copy}")
