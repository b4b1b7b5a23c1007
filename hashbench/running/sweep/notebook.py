"""Sweeps and trainings from Python: `hashbench.sweep("file.yaml")`, and the two parts that a Trainer takes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hashbench.common.errors import InputError
from hashbench.common.process import outliving_readers
from hashbench.common.spawning import refuse_no_start
from hashbench.data.sources.fingerprints import usable_cache_folder
from hashbench.results.rendering.notebook import Report, report
from hashbench.running.experiment.load import load_experiment
from hashbench.running.runs.artifacts import ArtifactFolder
from hashbench.running.runs.base import TrainingKind, Workplace, kind_of
from hashbench.running.runs.materials import Materials
from hashbench.running.sweep.plan import plan
from hashbench.running.sweep.runner import DONE, SOME_FAILED, SUBMITTED
from hashbench.running.sweep.runner import sweep as carry_out
from hashbench.running.training.machine import Machine

if TYPE_CHECKING:
    from lightning.pytorch import LightningDataModule, LightningModule


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
    The same call goes on after an interruption. A run that failed is a missing cell of the table, with its reason; with
    `executor: slurm` so is one that is not done yet, and the report has what there is.

    Raises InputError for wrong input, SweepNotDone for an interrupted sweep.
    """
    if not isinstance(file, (str, Path, Mapping)):
        raise InputError(
            f"hashbench.sweep: {type(file).__name__} given; give a YAML file, a name of `hashbench experiments`, "
            "or a dict in the form of a file"
        )
    refuse_no_start("hashbench.sweep")
    loaded = load_experiment(file, list(overrides))
    name = f"{loaded.experiment.name} (from Python)" if isinstance(file, Mapping) else str(file)
    sources = [data] if isinstance(data, str) else data
    with outliving_readers(), _as_command(["sweep", name, *overrides, "--db", str(db)]):
        code = carry_out(loaded, db=str(db), data=sources or None, workers=workers, max_hours=max_hours)
    if code not in (DONE, SOME_FAILED, SUBMITTED):
        raise SweepNotDone(f"{name}: interrupted; the same call goes on")
    return report(loaded.experiment.name, db=db)


def module(
    file: str | Path | Mapping[str, Any],
    *overrides: str,
    model: str,
    task: str | None = None,
    data: str | Sequence[str] | None = None,
) -> LightningModule:
    """The module of a training of an experiment, for your `Trainer`: `trainer.fit(module, datamodule)`.

    It has the weights that the training begins with, its loss, optimizer, schedule and clipping; `total_steps` is the
    length, `curves.points` has the losses and scores. Precision, compilation and devices are the Trainer's.
    `model`: its label; `task`: its name, None: the pre-training. Of several seeds the first; `file`, `overrides` and
    `data` as in `sweep`. A fine-tuning of a model that is pre-trained needs the finished pre-training of a sweep.
    """
    return _parts(file, overrides, model, task, data)[0]


def datamodule(
    file: str | Path | Mapping[str, Any],
    *overrides: str,
    model: str,
    task: str | None = None,
    data: str | Sequence[str] | None = None,
) -> LightningDataModule:
    """The data of a training of an experiment, for your `Trainer`; arguments as in `module`."""
    return _parts(file, overrides, model, task, data)[1]


def _parts(
    file: str | Path | Mapping[str, Any],
    overrides: Sequence[str],
    model: str,
    task: str | None,
    data: str | Sequence[str] | None,
) -> tuple[LightningModule, LightningDataModule]:
    """The module and the data of the first training of a model on a task, or of its pre-training.

    Raises InputError where the experiment has no such training.
    """
    planned = plan(load_experiment(file, list(overrides)), data=[data] if isinstance(data, str) else data)
    trainings = {
        run.id: kind for run in planned.runs
        if isinstance(kind := kind_of(run), TrainingKind) and (run.model, run.task or None) == (model, task)
    }  # fmt: skip
    if not trainings:
        have = sorted({f"{run.model}{f' on {run.task}' if run.task else ''}" for run in planned.runs})
        what = f"training of {model!r} on {task!r}" if task else f"pre-training of {model!r}"
        raise InputError(f"{planned.resolved.experiment.name}: has no {what}; its runs: {', '.join(have)}")
    runs = {run.id: run for run in planned.runs}
    run_id, kind = next(iter(trainings.items()))
    cache = usable_cache_folder()
    resolved, artifacts = planned.resolved, ArtifactFolder.at(cache, "")
    materials = Materials(resolved.sources, cache, resolved.tasks, corpora=resolved.corpora)
    return kind.parts(runs[run_id], Workplace(resolved, runs, materials, artifacts), Machine(cache))


@contextmanager
def _as_command(arguments: Sequence[str]) -> Iterator[None]:
    """Sets sys.argv to the equivalent command line, which the database stores and messages name."""
    before = sys.argv
    sys.argv = ["hashbench", *arguments]
    try:
        yield
    finally:
        sys.argv = before
