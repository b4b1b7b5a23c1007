"""Outputs that can be stored and read again: made smaller where their metrics allow it, refused before a training else.

A reader takes arrays of at most `packing.MOST_BYTES`. Class ids in place of logits keep every score, interval and
paired test of the metrics that read the largest logit alone; rounded logits would not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hashbench.common.errors import InputError
from hashbench.data.tasks.base import Task
from hashbench.scores.base import Metric, metric_of
from hashbench.store import packing
from hashbench.store.result import NOT_STORED, Predictions, Result

FLOAT_BYTES = 4  # of an output of a head


def check_outputs(task: Task, data: Any) -> None:
    """Raises InputError where the outputs of runs on these data would be larger than any reader takes, with the size.

    `data`: the task's, of any kind. A run of a user-defined kind, whose outputs are not known here, stores its scores
    in any case (`storable`).
    """
    for split, (rows, columns) in task.kind.stored_outputs(data).items():
        size = stored_bytes(rows, columns, _metrics(task.metrics))
        if size > packing.MOST_BYTES:
            raise InputError(
                f"task {task.name!r}: {split} has {rows:,} rows and {columns:,} outputs a row, {size:,} bytes, and no "
                f"reader takes more than {packing.MOST_BYTES:,}; take fewer rows (max_rows), or metrics that read the "
                f"class of the largest output alone (of its metrics: {', '.join(task.metrics)})"
            )


def stored_bytes(rows: int, columns: int, read_by: Sequence[Metric]) -> int:
    """Bytes of outputs (rows, columns) float32 as they are stored: all of them, or, where too many, as metrics read.

    >>> stored_bytes(7_000, 20_000, ()), stored_bytes(7_000, 2, ())
    (560000000, 56000)
    """
    whole = rows * columns * FLOAT_BYTES
    if whole <= packing.MOST_BYTES or not rows:
        return whole
    row = np.arange(columns, dtype=np.float32)[None] + np.float32(0.5)  # (1, c), of the class with the largest id
    return rows * _smaller(row, read_by).nbytes


def storable(result: Result) -> Result:
    """The result with outputs that can be read again: too large ones as their metrics read them, else left out.

    The scores stay, and a note says whose outputs were left out.
    """
    if all(packing.fits(item.outputs) and packing.fits(item.targets) for item in result.predictions):
        return result
    kept, left_out = [], []
    for item in result.predictions:
        small = item if packing.fits(item.outputs) else _compact(item, result)
        if packing.fits(small.outputs) and packing.fits(small.targets):
            kept.append(small)
        else:
            left_out.append(f"{item.split} {item.outputs.shape} {item.outputs.dtype}")
    what = f"{', '.join(dict.fromkeys(left_out))}: larger than {packing.MOST_BYTES:,} bytes, or no rows of numbers"
    notes = {**result.notes, NOT_STORED: what} if left_out else result.notes
    return replace(result, predictions=kept, notes=notes)


def _compact(item: Predictions, result: Result) -> Predictions:
    """The outputs as the metrics with a score on their split read them, if every score of them stays what it is."""
    read_by = _metrics(row.name for row in result.metrics if row.split == item.split)
    small = _smaller(item.outputs, read_by)
    equal = (metric.scored(item.targets, small) == metric.scored(item.targets, item.outputs) for metric in read_by)
    return replace(item, outputs=small) if small is not item.outputs and all(equal) else item


def _smaller(outputs: np.ndarray, read_by: Sequence[Metric]) -> np.ndarray:
    """Outputs (n, ...) in the one smaller form that all of the metrics have; themselves where there is none."""
    forms = [metric.compact(outputs) for metric in read_by]
    same = all(form.dtype == forms[0].dtype and np.array_equal(form, forms[0]) for form in forms)
    return forms[0] if forms and same and forms[0].nbytes < outputs.nbytes else outputs


def _metrics(names: Iterable[str]) -> list[Metric]:
    return [metric for name in dict.fromkeys(names) if (metric := metric_of(name)) is not None]
