"""`hashbench worker`: takes part in a sweep from anywhere. The database alone says what there is to do, and who does
it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hashbench.common.errors import InputError
from hashbench.running.experiment.load import Loaded
from hashbench.running.runs.registry import names
from hashbench.running.sweep.housekeeping import release_dead, retry_of
from hashbench.running.sweep.plan import Plan, plan
from hashbench.running.sweep.runner import DONE, Sweep, assign, carry_out, shared_at
from hashbench.running.sweep.stored_plan import data_origins, training_rows, write_down
from hashbench.store.engine import open_store
from hashbench.store.planning import planned_runs
from hashbench.store.status import done_ids, experiments

Labelled = tuple[str, str]  # label and id of a run


def join(loaded: Loaded, *, db: str, data: Sequence[str] | None = None, workers: int = 1, artifacts: str = "") -> int:
    """Carries out runs of a planned experiment until none is left; gives back the exit code, as `sweep` does.

    An experiment that the database does not know is written down first, so that any number of equal workers may start
    without a sweep. Raises InputError where the plan of this machine is another than the stored one: its file, data,
    own code or release differ, and its results would be those of other runs.
    """
    planned = plan(loaded, data=data)
    shared = shared_at(artifacts)
    store = open_store(db)
    retry = retry_of(store, loaded.experiment)
    stored = next((row for row in retry(experiments, store) if row.name == loaded.experiment.name), None)
    origins = data_origins(planned) if stored is None else stored.provenance
    experiment_id = retry(write_down, store, planned, origins) if stored is None else stored.id
    theirs = retry(planned_runs, store, experiment_id)
    refuse_another_plan(of_phase(planned), theirs, f"{loaded.shown}: '{loaded.experiment.name}' in {store.name}")
    assignment = assign(planned, db=db, experiment_id=experiment_id, n_workers=workers, artifacts=shared)
    rows = training_rows(origins) if origins else {}
    times = of_phase(planned, measures_time=True) <= set(theirs)
    return take_part(Sweep(store, experiment_id, planned, assignment, workers, rows, times))


def take_part(work: Sweep) -> int:
    """Carries out what is left of a sweep that was planned before, without its timings where they are another's."""
    kinds = names(measures_time=False)
    mine = {key: run for key, run in work.assignment.runs.items() if work.times or run.kind in kinds}
    work = replace(work, assignment=replace(work.assignment, runs=mine))
    if len(mine) < len({run.id for run in work.plan.runs}):
        print("its timings belong to another kind of machine and are left to it", file=sys.stderr)
    if work.retry(done_ids, work.store, set(mine)) == set(mine):
        print(f"all {len(mine)} runs are done already", file=sys.stderr)
        return DONE
    work.retry(release_dead, work.store, work.experiment_id)
    return carry_out(work, fail_fast=False)


def of_phase(planned: Plan, measures_time: bool = False) -> set[Labelled]:
    """The runs of one phase of a plan."""
    kinds = names(measures_time=measures_time)
    return {(run.model, run.id) for run in planned.runs if run.kind in kinds}


def refuse_another_plan(ours: set[Labelled], theirs: Mapping[Labelled, str], where: str) -> None:
    """Raises InputError unless these are all runs of the stored plan that measure no time.

    Timings name the machine that they are made on, so those of another kind of machine differ in every plan.
    """
    kinds = names(measures_time=False)
    wanted = {run for run, kind in theirs.items() if kind in kinds}
    new, missing = ours - wanted, wanted - ours
    if new or missing:
        labels = sorted({label for label, _ in new | missing})
        raise InputError(
            f"{where} has another plan: {len(new)} runs of this one are not in it, {len(missing)} of its runs are not "
            f"in this one (models: {', '.join(labels[:3])}{' ...' if len(labels) > 3 else ''}); use the file, "
            "overrides, --data and release of hashbench that it was planned with, or plan anew: hashbench sweep"
        )
