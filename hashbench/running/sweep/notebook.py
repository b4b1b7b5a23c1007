"""Sweeps from Python: `hashbench.sweep("file.yaml")` in a notebook or a script."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hashbench.common.errors import InputError
from hashbench.common.spawning import refuse_no_start
from hashbench.common.standard_streams import outliving_readers
from hashbench.results.rendering.notebook import Report, report
from hashbench.running.experiment.load import load_experiment
from hashbench.running.sweep.runner import DONE, SOME_FAILED
from hashbench.running.sweep.runner import sweep as carry_out


class SweepNotDone(InputError):
    """A sweep from Python was interrupted; the same call resumes it."""


def sweep(
    file: str | Path | Mapping[str, Any],
    *overrides: str,
    db: str | Path = "results.db",
    data: str | Sequence[str] | None = None,
    workers: int | None = None,
    max_hours: float | None = None,
) -> Report:
    """Carries out all runs of an experiment that are not done yet; returns a report with the experiment's table.

    `file`: an experiment file, the name of an experiment that comes with hashbench, or a mapping in the form of a file,
    in which paths are relative to the working folder.
    `overrides`: keys with other values, as "finetune.epochs=3". `data`: hub, builtin or folders in place of the file's.
    The same call goes on after an interruption. A run that failed is a missing cell of the table, with its reason.

    Raises InputError for wrong input, SweepNotDone for an interrupted sweep.
    """
    if not isinstance(file, (str, Path, Mapping)):
        raise InputError(
            f"hashbench.sweep: {type(file).__name__} given; give a YAML file, a name of `hashbench experiments list`, "
            "or a dict in the form of a file"
        )
    refuse_no_start("hashbench.sweep")
    loaded = load_experiment(file, list(overrides))
    name = f"{loaded.experiment.name} (from Python)" if isinstance(file, Mapping) else str(file)
    sources = [data] if isinstance(data, str) else data
    with outliving_readers(), _as_command(["sweep", name, *overrides, "--db", str(db)]):
        code = carry_out(loaded, db=str(db), data=sources or None, workers=workers, max_hours=max_hours)
    if code not in (DONE, SOME_FAILED):
        raise SweepNotDone(f"{name}: interrupted; the same call goes on")
    return report(loaded.experiment.name, db=db)


@contextmanager
def _as_command(arguments: Sequence[str]) -> Iterator[None]:
    """Sets sys.argv to the equivalent command line, which the database stores and messages name."""
    before = sys.argv
    sys.argv = ["hashbench", *arguments]
    try:
        yield
    finally:
        sys.argv = before
