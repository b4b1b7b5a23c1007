"""A store with a failed and a planned run, for the tests of commands on stores."""

from __future__ import annotations

from hashbench.store.engine import open_store
from hashbench.store.planning import Run, add_experiment
from hashbench.store.queue import claim, fail

SPEC = {"kind": "finetune", "seed": 0}
FIRST, SECOND = "a" * 64, "b" * 64


def make_store(path: str) -> None:
    """Writes the store: experiment `small`, FIRST failed, SECOND planned."""
    store = open_store(path)
    rows = [
        Run(id=FIRST, kind="finetune", model="bert-mlm", encoder="tiny", spec=SPEC, task="cola", seed=0),
        Run(id=SECOND, kind="floor", model="majority", encoder="tiny", spec=SPEC, task="cola"),
    ]
    number = add_experiment(store, "small", {"name": "small"}, rows, baseline="bert-mlm")
    held = claim(store, number, worker="w", lease_s=60, max_attempts=1)
    assert held is not None
    fail(store, held, "out of memory", log="some log")
    store.close()
