"""A worker process of the queue's tests: claims and finishes all there is, or holds what it claimed for ever."""

from __future__ import annotations

import sys
import time

from hashbench.common.measured import MetricRow
from hashbench.store.engine import open_store
from hashbench.store.queue import claim, pending
from hashbench.store.result import Result, finish


def main(place: str, experiment_id: int, worker: str, mode: str, lease_s: float) -> None:
    """Print the id of every run that was claimed."""
    store = open_store(place)
    print("ready", flush=True)
    sys.stdin.readline()  # all begin together
    while pending(store, experiment_id, 2):
        held = claim(store, experiment_id, worker=worker, lease_s=lease_s, max_attempts=2)
        if held is None:
            time.sleep(0.005)
            continue
        print(held.run_id, flush=True)
        if mode == "hold":
            time.sleep(3600)
        finish(store, held, Result([MetricRow("accuracy", 0.5, "validation")]))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], float(sys.argv[5]))
