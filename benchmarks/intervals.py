"""Draws of examples: every metric of all models on all tasks of an experiment, against a plain loop with scikit-learn.

    python benchmarks/intervals.py --db results.db glue_tiny
    python benchmarks/intervals.py --simulated            # predictions of the same sizes, where a database has none

Ours draws 10,000 times, all models on the same examples, and recomputes the metric in every draw. The loop takes rows
by index and calls `hashbench.scores` (scikit-learn, scipy) once a draw and model; it is timed on a few draws of every
task and its time multiplied, which is said. Times are of the processor, since other work on the machine is not ours;
one thread.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is loaded

import argparse  # noqa: E402
import statistics  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from collections.abc import Sequence  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hashbench.results.read.evidence import Evidence  # noqa: E402
from hashbench.results.read.measured import measure  # noqa: E402
from hashbench.scores.base import evaluate, find_metric  # noqa: E402
from hashbench.scores.draws import DRAWS, drawn  # noqa: E402
from hashbench.store.engine import open_store  # noqa: E402

GOAL_S = 10.0
MODELS = 14
# examples and metric of each task of glue_tiny as it was run; class 1 is SHARE of them
SIZES = {
    "cola": (1043, "matthews"), "sst2": (872, "accuracy"), "mrpc": (408, "accuracy"), "stsb": (1500, "spearman"),
    "qqp": (3497, "f1"), "mnli": (9815, "accuracy"), "qnli": (1000, "accuracy"), "rte": (277, "accuracy"),
}  # fmt: skip


@dataclass(frozen=True)
class Work:
    """The outputs of all models on one task."""

    task: str
    metric: str
    targets: np.ndarray
    outputs: Sequence[np.ndarray]


def stored(db: str, experiment: str) -> list[Work]:
    """What the experiment's own table reads, of every model and floor that kept predictions."""
    store = open_store(db, create=False, read_only=True)
    measured = measure(store, experiment)
    evidence = Evidence(store, measured)
    found = []
    for task in measured.tasks():
        samples = [evidence.own(entry, task) for entry in measured.entries]
        known = [sample for sample in samples if sample is not None and sample.stored]
        outputs = [sample.outputs(seed) for sample in known for seed in sample.stored]
        if outputs:
            found.append(Work(task, known[0].metric, known[0].targets, outputs))
    return found


def simulated() -> list[Work]:
    """Predictions at random, of the sizes of the real ones."""
    random = np.random.default_rng(0)
    found = []
    for task, (n, metric) in SIZES.items():
        if find_metric(metric).outputs == "values":
            targets, outputs = random.integers(0, 26, n) / 5, [random.standard_normal(n) for _ in range(MODELS)]
        else:
            targets, outputs = random.integers(0, 2, n), [random.integers(0, 2, n) for _ in range(MODELS)]
        found.append(Work(task, metric, targets, outputs))
    return found


def loop_seconds(work: Work, draws: int) -> float:
    """Processor time of a plain loop over this many draws."""
    random = np.random.default_rng(0)
    evaluate([work.metric], work.targets, work.outputs[0])  # the first call imports scikit-learn
    began = time.process_time()
    for _ in range(draws):
        rows = random.integers(0, len(work.targets), len(work.targets))
        for one in work.outputs:
            evaluate([work.metric], work.targets[rows], one[rows])
    return time.process_time() - began


def main() -> None:
    """A line for each task, then the sums and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", nargs="?", default="glue_tiny")
    parser.add_argument("--db", default="results.db")
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--loop", type=int, default=5, help="draws of the plain loop; its time is multiplied")
    arguments = parser.parse_args()
    works = simulated() if arguments.simulated else stored(arguments.db, arguments.experiment)
    if not works:
        sys.exit(f"{arguments.db}: no stored predictions of {arguments.experiment}; take --simulated")
    rounds = [round_of(works, arguments.loop) for _ in range(arguments.rounds)]
    ours, theirs = (statistics.median(seconds) for seconds in zip(*rounds, strict=True))
    ratios = [loop / own for own, loop in rounds]
    print(f"{DRAWS:,} draws: {ours:.2f} s of processor time (goal: {GOAL_S:.0f} s)")
    print(f"plain loop: {theirs:,.0f} s, from {arguments.loop} draws a task")
    print(f"ratio {statistics.median(ratios):.0f} ({min(ratios):.0f} to {max(ratios):.0f} in {len(ratios)} rounds)")


def round_of(works: Sequence[Work], draws: int) -> tuple[float, float]:
    """Processor seconds of all draws and of the plain loop; a line for each task."""
    ours = theirs = 0.0
    for work in works:
        began = time.process_time()
        drawn(work.metric, work.targets, work.outputs, seed=0)
        own = time.process_time() - began
        loop = loop_seconds(work, draws) * DRAWS / draws
        ours, theirs = ours + own, theirs + loop
        size = f"{len(work.targets):6,} examples x {len(work.outputs)} runs"
        times = f"{own:6.2f} s  loop {loop:9,.0f} s  {loop / own:6,.0f} x"
        print(f"{work.task:8s} {work.metric:9s} {size}  {times}", flush=True)
    return ours, theirs


if __name__ == "__main__":
    main()
