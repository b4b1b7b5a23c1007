"""Publishing results with their examples: the texts of stored runs, from data at hand (`hashbench db publish`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hashbench.common.errors import InputError
from hashbench.data.tasks.text_data import TaskData
from hashbench.results.publishing.records import SplitTexts
from hashbench.results.read.samples import Sample
from hashbench.running.experiment.stored import task_data_of_run
from hashbench.store.engine import Store


class StoredTexts:
    """The texts of a store's samples, read from data sources, and lines on the terms of these data."""

    def __init__(self, store: Store, data: Sequence[str]) -> None:
        self._store, self._sources = store, data
        self._read: dict[str, TaskData] = {}
        self.terms: list[str] = []

    def __call__(self, sample: Sample) -> SplitTexts:
        """The texts of a sample's rows.

        Raises InputError where the data at hand are others than the run's, or the rows are not those of its outputs.
        """
        run = next(iter(sample.scores.values())).run
        key = f"{sample.task} {run.fingerprint}"
        if key not in self._read:
            self._read = {key: task_data_of_run(self._store, run.run_id, self._sources)}  # runs come task by task
        data = self._read[key]
        part = data.splits.get(sample.split)
        if part is None or not np.array_equal(part.labels, sample.targets):
            raise InputError(f"the rows of {sample.split} are not those of the stored outputs; give other --data")
        if (line := terms(data)) not in self.terms:
            self.terms.append(line)
        return SplitTexts(list(zip(*part.texts, strict=True)), data.label_names)


def terms(data: TaskData) -> str:
    """A line on the terms under which the texts of a task may be passed on, as far as they are known here."""
    if data.kind == "builtin":
        return f"{data.task.name}: the examples hold generated texts, which are free"
    if data.task.is_own or data.task.hub is None:
        return f"{data.task.name}: the examples hold texts of {data.origin}; its terms decide who may have them"
    place = f"{data.task.hub.repository} on the hub"
    return f"{data.task.name}: the examples hold its texts; read the terms of {place} before you pass them on"
