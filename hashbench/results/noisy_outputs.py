"""Outputs that robustness runs stored, and those of the fine-tunings they started from.

All in the order of an export, by target, so that a sweep's own database and an export give the same draws.
"""

from __future__ import annotations

import numpy as np
from sqlalchemy import RowMapping

from hashbench.results import queries
from hashbench.store.engine import Store
from hashbench.store.result import Predictions, unpack

Arrays = dict[tuple[str, str], tuple[np.ndarray, np.ndarray]]  # (split, condition) -> outputs, targets


def outputs_of(store: Store, attempt: int) -> Arrays:
    """Everything that an attempt stored; empty where it stored no predictions."""
    found = [_ordered(row) for row in store.query(queries.OUTPUTS_OF_ATTEMPT, attempt=attempt)]
    return {(one.split, one.condition): (one.outputs, one.targets) for one in found}


def finetuned_outputs(store: Store, experiment: int) -> dict[tuple[str, str, int, str], np.ndarray]:
    """Outputs of an experiment's fine-tunings by (task, model, seed, split)."""
    rows = store.query(queries.OUTPUTS_OF_FINETUNINGS, experiment=experiment)
    return {(row["task"], row["model"], row["seed"], row["split"]): _ordered(row).outputs for row in rows}


def _ordered(row: RowMapping) -> Predictions:
    outputs, targets = unpack(row["outputs"]), unpack(row["targets"])
    stored = Predictions(row["split"], "best", outputs, targets, row["index_fingerprint"], row["condition"])
    return stored.in_order_of_targets()
