"""How good the estimate of the time left is: stored sweeps played again, run by run, in the order they finished in.

    python benchmarks/time_left.py --db results.db.example glue_tiny eelbert_tiny proformer_tiny

Runs of the sweep are handed to the estimate one after the other, as one worker finishes them, with the seconds that
each took; nothing of other sweeps is known. Printed is estimate over truth after parts of the sweep's time. Before a
tenth nothing is promised; from there on the aim is a factor of two.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hashbench.running.experiment.identity import whole  # noqa: E402
from hashbench.running.sweep import estimate  # noqa: E402
from hashbench.store.engine import open_results  # noqa: E402
from hashbench.store.planning import Run  # noqa: E402
from hashbench.store.status import find_experiment  # noqa: E402

PARTS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 0.9)
RUNS = """
SELECT r.id, r.kind, r.model, r.encoder, r.task, r.spec, a.seconds
FROM experiment_run er JOIN run r ON r.id = er.run_id JOIN attempt a ON a.id = r.finished_attempt
WHERE er.experiment_id = :experiment AND r.state = 'done' AND a.seconds IS NOT NULL ORDER BY a.ended_at, er.position
"""


class Replayed(estimate.TimeEstimate):
    """An estimate that knows of the first runs of a stored sweep alone."""

    def __init__(self, runs: list[Run], seconds: list[float], rows: dict[str, int]) -> None:
        self._taken, self.n_done = dict(zip((run.id for run in runs), seconds, strict=True)), 0
        super().__init__(None, runs, 1, rows)

    def refresh(self) -> None:
        """The runs that have ended by now."""
        self.take({run.id: self._taken[run.id] for run in self._runs[: self.n_done]})


def replay(db: str, name: str) -> None:
    """Prints a line a part of the sweep's time."""
    store = open_results(db)
    experiment = find_experiment(store, name)
    rows = {row["id"]: row for row in store.query(RUNS, experiment=experiment.id)}.values()
    runs = [
        Run(row["id"], row["kind"], row["model"], row["encoder"], whole(json.loads(row["spec"])), row["task"])
        for row in rows
    ]
    seconds = [row["seconds"] for row in rows]
    config = experiment.config
    tasks = config["provenance"]["tasks"] if "provenance" in config else {}
    estimated = Replayed(runs, seconds, {task: about["rows"]["train"] for task, about in tasks.items()})
    total, elapsed, parts = sum(seconds), 0.0, list(PARTS)
    print(f"\n{name}: {len(runs)} runs, {total / 60:.0f} minutes of work")
    for n, took in enumerate(seconds, 1):
        elapsed += took
        if not parts or elapsed < parts[0] * total or n == len(runs):
            continue
        while parts and elapsed >= parts[0] * total:
            parts.pop(0)
        estimated.n_done = n
        left, truth = estimated.seconds_left(), total - elapsed
        said = "nothing is said" if left is None else f"{left / truth:5.2f} of the truth ({left:,.0f} s)"
        print(f"  after {elapsed / total:4.0%}, {n:3d} runs, {truth:7,.0f} s are left: {said}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--db", default="results.db.example")
    parser.add_argument("names", nargs="*", default=["glue_tiny", "eelbert_tiny", "proformer_tiny"])
    arguments = parser.parse_args()
    for each in arguments.names:
        replay(arguments.db, each)
