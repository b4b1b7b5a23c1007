"""What the runner costs a run that does nothing: claim, log, heartbeat, result and progress, in a reused worker.

python benchmarks/runner_overhead.py
python benchmarks/runner_overhead.py --executor ray
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from hashbench.common.measured import MetricRow
from hashbench.running.experiment.load import load_experiment
from hashbench.running.runs.finetuning import KIND
from hashbench.running.sweep import worker as worker_module
from hashbench.running.sweep.assignment import Assignment
from hashbench.running.sweep.executors.base import OwnControl
from hashbench.running.sweep.plan import plan
from hashbench.running.sweep.progress import RunEnded
from hashbench.store.engine import open_store
from hashbench.store.planning import Run, add_experiment
from hashbench.store.result import Result

# Ray's workers wait for a busy machine at its own low priority, and are ended where others fill its memory.
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_memory_monitor_refresh_ms": "0", "RAY_worker_niceness": "0"}
MODEL = "{name: raw, like: hashformer-md-proj, objective: none}"
EXPERIMENT = f"name: nothing\ndata: builtin\nencoder: tiny\nmodels: [{MODEL}]\nbaseline: raw\ntasks: [cola]\n"


def main() -> None:
    """Prints seconds a run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--executor", choices=["local", "ray"], default="local")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        assignment = make_assignment(Path(folder), options.runs)
        ended = in_this_process(assignment) if options.executor == "local" else on_ray(assignment)
    walls, cpus = zip(*ended, strict=True)
    n = len(ended) - 1
    cpu = f", CPU {(cpus[-1] - cpus[0]) / n:.4f} s" if options.executor == "local" else ""  # actors are other processes
    print(f"{options.executor}: {len(ended)} runs, {(walls[-1] - walls[0]) / n:.4f} s a run{cpu}")


def nothing() -> Result:
    """The result of a run that does nothing."""
    return Result(metrics=[MetricRow("accuracy", 0.5, split="validation")])


def in_this_process(assignment: Assignment) -> list[tuple[float, float]]:
    """When each run ended, in seconds of the clock and of CPU, which other load changes little."""
    ended: list[tuple[float, float]] = []

    class Idle(OwnControl):
        def carry_out(self, *_: object) -> Result:
            ended.append((time.perf_counter(), time.process_time()))
            return nothing()

    worker_module.Worker(assignment, 0, Idle()).loop()
    return ended


def on_ray(assignment: Assignment) -> list[tuple[float, float]]:
    """When the sweep heard of the end of each run of a warm actor, in seconds of the clock and of its own CPU."""
    from hashbench.running.sweep.executors.on_ray import RayExecutor, Slot, SlotControl

    class Idle(SlotControl):
        def carry_out(self, *_: object) -> Result:
            return nothing()

    class IdleSlot(Slot):
        def open(self) -> str:
            self._control = Idle(None)
            self._worker = worker_module.Worker(self._packed.open(), 0, self._control)
            return "idle"

    os.environ |= QUIET | {"RAY_ADDRESS": "local"}  # a cluster of its own, whoever else has one here
    RayExecutor.slot = IdleSlot
    executor = RayExecutor(assignment, 1)
    executor.start()
    ended: list[tuple[float, float]] = []
    while not executor.ended():
        if isinstance(executor.event(wait_s=1.0), RunEnded):
            ended.append((time.perf_counter(), time.process_time()))
        for crash in executor.replace_crashed():  # no other actor will do better, and nothing would end this loop
            raise SystemExit(crash.how)
    executor.stop(1.0)
    return ended


def make_assignment(folder: Path, n_runs: int) -> Assignment:
    """That many runs to do."""
    (folder / "nothing.yaml").write_text(EXPERIMENT)
    planned = plan(load_experiment(folder / "nothing.yaml"))
    ids = [f"{i:064x}" for i in range(n_runs)]
    spec = {"kind": KIND.name}
    runs: Mapping[str, Run] = {each: Run(each, KIND.name, "raw", "tiny", spec, "cola", 0) for each in ids}
    store = open_store(folder / "r.db")
    rows = [Run(run.id, run.kind, run.model, run.encoder, run.spec, run.task, run.seed) for run in runs.values()]
    experiment_id = add_experiment(store, "nothing", {}, rows, baseline="raw")
    return Assignment(
        db=str(folder / "r.db"),
        experiment_id=experiment_id,
        resolved=planned.resolved,
        runs=runs,
        cache=folder / "cache",
        threads=1,
        max_attempts=1,
        gpus=(),
        kinds=(KIND.name,),
    )


if __name__ == "__main__":
    main()
