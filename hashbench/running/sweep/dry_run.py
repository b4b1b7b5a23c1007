"""The output of `hashbench sweep FILE --dry-run`: the runs, what they keep, and the time that is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from hashbench.common.showing import duration_text
from hashbench.data.sources.fingerprints import cache_folder
from hashbench.running.experiment.resolved import ResolvedExperiment
from hashbench.running.runs.artifacts import ArtifactFolder
from hashbench.running.runs.base import kind_of
from hashbench.running.sweep.absent import MARK, missing_of, turn_of
from hashbench.running.sweep.estimate import half_line, seconds_left
from hashbench.running.sweep.housekeeping import gone_files
from hashbench.running.sweep.measuring import print_results
from hashbench.running.sweep.plan import Plan
from hashbench.store.engine import open_results, open_store
from hashbench.store.planning import Run
from hashbench.store.status import seconds_of

NO_ID = "-" * 12  # the id of a run follows from what it reads


def print_plan(planned: Plan, db: str, n_workers: int, *, artifacts: str = "") -> None:
    """Prints the runs in the order in which they start, which are done, and the time that the rest will take.

    Finished runs whose weights are gone are made again where others read them; with `artifacts` another machine may
    have them, which is not looked up.
    """
    store = open_results(db) if Path(db).exists() else open_store(db) if "://" in db else None
    taken = {} if store is None else seconds_of(store, list({run.id for run in planned.runs}))
    again = {run.id for run in ([] if artifacts else gone_files(planned.runs, taken, ArtifactFolder(cache_folder())))}
    missing = missing_of(planned.runs)
    for number, run in enumerate(planned.runs, 1):
        state = "done, but its weights are gone: made again" if run.id in again else "done" if run.id in taken else ""
        state = f"{MARK}{', '.join(missing[run.id])}" if missing[run.id] else state
        shown_id = NO_ID if missing[run.id] else run.id[:12]
        seed = "" if run.seed is None else f" seed {run.seed}"
        print(f"{number:5d}  {shown_id}  {run.kind:10s} {run.model} {run.task or ''}{seed}  {state}".rstrip())
    lost = f", {len(again)} of them made again, since weights are gone" if again else ""
    n_workers_text = f"{n_workers} worker{'s' if n_workers > 1 else ''}"
    print(f"{len(planned.runs)} runs, {len(taken)} done{lost}, {n_workers_text}")
    print(weights_line(planned.runs, planned.resolved))
    print_results(planned.resolved)
    print()  # the time is the last line: what comes before it may be long
    if lacking := {run_id for run_id, names in missing.items() if names}:
        names = sorted({name for names in missing.values() for name in names}, key=turn_of)
        print(f"{MARK}{', '.join(names)} (needed by {len(lacking)} of the runs)")
    finished = {run_id: seconds for run_id, seconds in taken.items() if run_id not in again}
    rest_s = seconds_left(planned.runs, finished, n_workers)
    if half := half_line(planned.resolved, planned.runs, finished, n_workers):
        print(half)
    unknown = "not known before a run of each kind is finished"
    print(f"time left: {unknown if rest_s is None else duration_text(rest_s)}")


def weights_line(runs: Sequence[Run], resolved: ResolvedExperiment) -> str:
    """A line on the weights that a sweep keeps: their bytes, by shapes, and the number of runs of each kind."""
    sizes = {run.id: (run.kind, kind_of(run).kept_bytes(run, resolved)) for run in runs}
    kept = Counter(kind for kind, size in sizes.values() if size)
    runs_of = ", ".join(f"{n} {kind}" for kind, n in kept.items()) or "none"
    total = sum(size for _, size in sizes.values()) / 1e6
    return f"weights kept: about {total:,.0f} MB ({runs_of}; keep_weights: {resolved.experiment.keep_weights})"
