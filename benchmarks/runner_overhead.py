"""What the runner costs a run that does nothing: claim, log, heartbeat, result and progress, in a reused worker.

    python benchmarks/runner_overhead.py
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from hashbench.experiment.load import load_experiment
from hashbench.runs.base import Run
from hashbench.runs.finetuning import KIND
from hashbench.store.engine import open_store
from hashbench.store.planning import RunRow, add_experiment
from hashbench.store.result import MetricRow, Result
from hashbench.sweep import worker as worker_module
from hashbench.sweep.assignment import Assignment
from hashbench.sweep.executors.base import OwnControl
from hashbench.sweep.plan import plan

MODEL = "{name: raw, like: hashformer-md-proj, objective: none}"
EXPERIMENT = f"name: nothing\ndata: builtin\nencoder: tiny\nmodels: [{MODEL}]\nbaseline: raw\ntasks: [cola]\n"


def main() -> None:
    """Prints seconds a run, as a whole and between two runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    n_runs = parser.parse_args().runs
    ended: list[float] = []

    def do_nothing(run: Run, *_: object) -> Result:
        ended.append(time.perf_counter())
        return Result(metrics=[MetricRow("accuracy", 0.5, split="validation")])

    worker_module.carry_out = do_nothing
    with tempfile.TemporaryDirectory() as folder:
        made = make_worker(Path(folder), n_runs)
        began = time.perf_counter()
        made.loop()
        whole = time.perf_counter() - began
    gaps = [after - before for before, after in zip(ended, ended[1:], strict=False)]
    print(f"{n_runs} runs: {whole / n_runs:.4f} s a run, median between two {statistics.median(gaps):.4f} s")


def make_worker(folder: Path, n_runs: int) -> worker_module.Worker:
    """A worker in this process with that many runs to do."""
    (folder / "nothing.yaml").write_text(EXPERIMENT)
    planned = plan(load_experiment(folder / "nothing.yaml"))
    ids = [f"{i:064x}" for i in range(n_runs)]
    spec = {"kind": KIND.name}
    runs: Mapping[str, Run] = {each: Run(each, KIND.name, "raw", "tiny", spec, "cola", 0) for each in ids}
    store = open_store(folder / "r.db")
    rows = [RunRow(run.id, run.kind, run.model, run.encoder, run.spec, run.task, run.seed) for run in runs.values()]
    experiment_id = add_experiment(store, "nothing", {}, rows, baseline="raw")
    assignment = Assignment(
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
    return worker_module.Worker(assignment, 0, OwnControl())


if __name__ == "__main__":
    main()
