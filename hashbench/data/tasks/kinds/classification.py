"""The kind of task of texts with one of several classes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hashbench.common.errors import InputError
from hashbench.data.sources.files import Cells
from hashbench.data.sources.labels import names_of, read_classes, unseen_note
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.text import BASELINES, TextKind
from hashbench.data.tasks.text_data import Split
from hashbench.scores.registry import find_metric

# Of the logistic regression. 10 fits short texts better than scikit-learn's 1, which holds words back too much.
C = 10.0
MAX_ITERATIONS = 1_000
SHOWN = 8  # labels that a message lists


class Classification(TextKind):
    """The kind of texts with a class.

    Labels are class ids (n,) int64, by the names of the task, of label_names.json, or of all splits.
    """

    name = "classification"
    outputs = "classes"
    # f1 is not among them, since it needs exactly two classes
    common_metrics = ("accuracy", "f1_macro", "matthews")
    baselines = BASELINES

    def read_labels(
        self, task: Task, cells: dict[str, Cells], where: Mapping[str, str], names: Sequence[str]
    ) -> tuple[dict[str, np.ndarray], Task]:
        """Class ids (n,) int64 of each split, and the task with its classes."""
        labels, names = read_classes(cells, where, names)
        for name in task.metrics:
            if refusal := find_metric(name).refuses(len(names)):
                raise InputError(f"task {task.name!r}: {refusal}")
        return labels, replace(task, n_classes=len(names), label_names=tuple(names))

    def as_trained(self, task: Task, cells: Cells, where: str, *, seen: Collection[int] | None) -> Cells:
        """The cells as names of a trained task's classes. A cell may hold a name, or the number of a class."""
        names = task.label_names
        given_names, strange = names_of(cells, names)
        trained = [name for i, name in enumerate(names) if seen is None or i in seen]
        unseen = [
            *strange,
            *(repr(name) for name in dict.fromkeys(given_names) if name is not None and name not in trained),
        ]
        if unseen:
            listed = ", ".join(unseen[:SHOWN]) + (", ..." if len(unseen) > SHOWN else "")
            raise InputError(
                f"{where}: column {task.label!r}: labels that training never saw: {listed}; it saw "
                f"{', '.join(trained[:SHOWN])}: leave out or rename the others"
            )
        return list(given_names)

    def label_notes(self, splits: Mapping[str, Split], names: Sequence[str]) -> list[str]:
        """Notes, one a split, on labels that training never saw; their rows count as errors."""
        trained = np.unique(splits["train"].labels)
        unseen = {split: part.labels[~np.isin(part.labels, trained)] for split, part in splits.items()}
        return [unseen_note("row", "label", split, ids, names) for split, ids in unseen.items() if len(ids)]

    def constant(self, labels: np.ndarray) -> np.generic:
        """The most frequent class of labels (n,), the smallest of several."""
        return np.bincount(labels).argmax()

    def linear_model(self, labels: np.ndarray, tolerance: float) -> Any:
        """An untrained logistic regression; None where labels (n,) are of one class."""
        from sklearn.linear_model import LogisticRegression

        if len(np.unique(labels)) < 2:
            return None
        return LogisticRegression(C=C, max_iter=MAX_ITERATIONS, tol=tolerance)


KIND = Classification()
