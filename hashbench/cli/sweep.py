"""`sweep` and `worker`: doing all runs of an experiment, on this machine or on several."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from hashbench.cli.options import DEFAULT_DB, Artifacts, Data, Database, File, Overrides
from hashbench.cli.output import note
from hashbench.common.showing import argument_shown, tell

if TYPE_CHECKING:
    from hashbench.running.experiment.load import Loaded

MOST_WORKERS = 10_000  # as in `workers` of an experiment file, which is read later
WorkersOption = Annotated[
    int | None,
    typer.Option(min=1, max=MOST_WORKERS, help="How many runs to do at the same time. Default: as the file says."),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="Print the runs, their order and the time left, as far as it is known; run nothing."
    ),
]
MaxHours = Annotated[
    float | None, typer.Option(min=0, help="Stop after this number of hours, with checkpoints of all runs.")
]
FailFast = Annotated[bool, typer.Option("--fail-fast", help="Stop at the first failed run.")]


def sweep(
    file: File,
    overrides: Overrides = None,
    data: Data = None,
    db: Database = DEFAULT_DB,
    workers: WorkersOption = None,
    dry_run: DryRun = False,
    fail_fast: FailFast = False,
    max_hours: MaxHours = None,
    artifacts: Artifacts = "",
) -> None:
    """Do all runs of an experiment that are not done yet, then print its table.

    After an interruption the same command continues.

    Example: hashbench sweep glue_tiny --data ~/data finetune.epochs=1
    """
    from hashbench.running.experiment.load import load_experiment
    from hashbench.store.engine import check_place

    loaded = load_experiment(file, overrides or [])
    if not dry_run:
        check_place(db, create=True, read_only=False)
    if not dry_run and sys.stderr.isatty():  # before torch is loaded; elsewhere a refusal is one line
        note(f"{loaded.experiment.name}: reads its data and plans its runs; results go to {argument_shown(db)}")
    from hashbench.running.sweep.runner import DONE, SOME_FAILED, SUBMITTED
    from hashbench.running.sweep.runner import sweep as run_sweep

    code = run_sweep(
        loaded,
        db=db,
        data=data or None,
        workers=workers,
        dry_run=dry_run,
        fail_fast=fail_fast,
        max_hours=max_hours,
        artifacts=artifacts,
    )
    if code in (DONE, SOME_FAILED) and not dry_run:
        print_own_table(db, loaded)
    raise typer.Exit(DONE if code == SUBMITTED else code)


def print_own_table(db: str, loaded: Loaded) -> None:
    """Prints the table of a sweep that has ended, and the best model of each task."""
    from hashbench.cli.report import print_report
    from hashbench.results.tables.request import ReportRequest
    from hashbench.store.engine import parse
    from hashbench.store.retry import Retry

    # the runs are done: that the database has just gone away is no reason to end with an error
    retry = Retry(parse(db)[1], tell=tell)
    retry(print_report, db, ReportRequest(loaded.experiment.name, provenance=False), "text", None)
    retry(_tell_of_the_best, db, loaded)


def _tell_of_the_best(db: str, loaded: Loaded) -> None:
    """Prints the best of each task that can be exported, a trivial baseline too, with the command that does it."""
    from hashbench.data.tasks.text import BAG_OF_WORDS, HASHED_WORDS
    from hashbench.results.read.trained import best_kept
    from hashbench.running.experiment.tasks import exported_tasks
    from hashbench.store.engine import open_results

    place = "" if db == DEFAULT_DB else f" --db {shlex.quote(argument_shown(db))}"
    exported = exported_tasks(loaded)
    floors = [floor.label for floor in loaded.experiment.all_floors if floor.name in (BAG_OF_WORDS, HASHED_WORDS)]
    for choice in best_kept(open_results(db), loaded.experiment.name, floors):
        run = choice.run
        if run.task in exported:
            use = f"to use it: hashbench export --run {run.run_id[:8]}{place} {run.model}"
            what = f"{run.model}, a trivial baseline" if run.is_baseline else run.model
            note("\n".join([f"best on {run.split} of {run.task}: {what}; {use}", *choice.remarks()]))


def worker(
    file: File,
    overrides: Overrides = None,
    data: Data = None,
    db: Database = DEFAULT_DB,
    workers: Annotated[
        int, typer.Option(min=1, max=MOST_WORKERS, help="How many runs to do at the same time on this machine.")
    ] = 1,
    artifacts: Artifacts = "",
) -> None:
    """Take part in the sweep of an experiment from this machine, until none of its runs is left.

    Start any number of them wherever the database can be reached, as in a Slurm array or as Kubernetes jobs. A worker
    that is stopped gives its run back. Only a sweep repeats failed runs.

    Example: hashbench worker glue --db postgresql://me@server/results
    """
    from hashbench.running.experiment.load import load_experiment

    loaded = load_experiment(file, overrides or [])
    from hashbench.running.sweep.runner import join

    raise typer.Exit(join(loaded, db=db, data=data or None, workers=workers, artifacts=artifacts))
