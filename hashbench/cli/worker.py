"""`worker`: takes part in a sweep from anywhere."""

from __future__ import annotations

from typing import Annotated

import typer

from hashbench.cli.options import DEFAULT_DB, Artifacts, Data, Database, File, Overrides


def worker(
    file: File,
    overrides: Overrides = None,
    data: Data = None,
    db: Database = DEFAULT_DB,
    workers: Annotated[int, typer.Option(min=1, help="How many runs to do at the same time on this machine.")] = 1,
    artifacts: Artifacts = "",
) -> None:
    """Take part in the sweep of an experiment from this machine, until none of its runs is left.

    Start any number of them wherever the database can be reached, as in a Slurm array or as Kubernetes jobs. A worker
    that is stopped gives its run back. Only a sweep repeats failed runs.

    Example: hashbench worker experiments/glue.yaml --db postgresql://me@server/results
    """
    from hashbench.running.experiment.load import load_experiment

    loaded = load_experiment(file, overrides or [])
    from hashbench.running.sweep.runner import join

    raise typer.Exit(join(loaded, db=db, data=data or None, workers=workers, artifacts=artifacts))
