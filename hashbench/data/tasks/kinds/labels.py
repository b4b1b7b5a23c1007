"""The kind of task of texts with several labels each, or none (multi-label classification).

The data hold a list of labels a row, or names that a separator joins. Models have an output for each label, a logit by
itself; a label is predicted where its probability is above 0.5. The trivial baseline `majority` predicts for every text
the labels with the best micro F1 on train. Labels that more than half of train have would be none in most data, and the
most frequent label alone is one of the choices among which this is the best.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from hashbench.data.sources.class_labels import joined_labels, unseen_note
from hashbench.data.sources.files import Cells
from hashbench.data.sources.label_sets import lists_of_labels, read_label_sets
from hashbench.data.sources.labels import Classes, flat, listed
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.kinds.classification import MAX_ITERATIONS, SVM_C, SVM_TOLERANCE, C, Classification
from hashbench.data.tasks.text_data import Split
from hashbench.scores.labels import LabelMicroF1

SPLIT_THEM = "each counts as one label; to split it: separator: {}"


class Labels(Classification):
    """The kind of texts with several labels, or none. Labels are uint8 (n, C), 1 where a row has one."""

    name = "labels"
    description = "a task of several labels a text"
    multi_label = True
    outputs = "multi-label"
    head = "labels"
    common_metrics = ("label_f1_micro", "label_f1_macro")

    def label_cells(self, task: Task, cells: Cells, where: str) -> Cells:
        return lists_of_labels(cells, task.separator, where)

    def read_labels(
        self, task: Task, cells: dict[str, Cells], where: Mapping[str, str], names: Sequence[str]
    ) -> tuple[dict[str, np.ndarray], Task]:
        """Labels (n, C) of each split, and the task with their names."""
        declared = Classes.declared(names, task.labels)
        lists = {
            split: [list(cell) if isinstance(cell, list) else [cell] for cell in of] for split, of in cells.items()
        }
        read = read_label_sets(lists, where, declared)
        present = np.any([of.any(axis=0) for of in read.ids.values()], axis=0)  # (C,)
        absent = [repr(name) for name, there in zip(read.names, present, strict=True) if not there]
        notes = [f"no row has these labels: {listed(absent)}"] if absent and task.is_own and "train" in cells else []
        return read.ids, replace(
            task,
            n_classes=len(read.names),
            label_names=read.names,
            label_order=declared.order if declared else (),
            label_notes=(*read.notes, *notes, *(joined_labels(read.names, SPLIT_THEM) if "train" in cells else ())),
        )

    def as_trained(self, task: Task, cells: Cells, where: str, *, seen: Collection[int] | None) -> Cells:
        """Lists of labels as names of a trained task's labels."""
        names = iter(super().as_trained(task, list(flat(cells)), where, seen=seen))
        return [list(islice(names, len(cell))) for cell in cells if isinstance(cell, list)]

    def class_counts(self, split: Split, n_classes: int) -> np.ndarray:
        """The number of rows with each label (n_classes,)."""
        counts: np.ndarray = split.labels.sum(axis=0, dtype=np.int64)
        return counts

    def label_notes(self, splits: Mapping[str, Split], names: Sequence[str]) -> list[str]:
        """Notes on rows without a label, labels that training never saw, and labels that an evaluated split lacks."""
        notes = []
        trained = splits["train"].labels.any(axis=0)  # (C,)
        for split, part in splits.items():
            if none := int((~part.labels.any(axis=1)).sum()):
                notes.append(f"{none:,} row{'' if none == 1 else 's'} of {split} without a label")
            if rows := int(part.labels[:, ~trained].any(axis=1).sum()):
                unseen = np.flatnonzero(part.labels.any(axis=0) & ~trained)
                notes.append(unseen_note("row", "label", split, unseen, names, rows))
            absent = [repr(names[number]) for number in np.flatnonzero(~part.labels.any(axis=0)).tolist()]
            if absent and split != "train":
                notes.append(f"no row of {split} has these labels, each 0 in label_f1_macro: {listed(absent)}")
        return notes

    def constant(self, labels: np.ndarray) -> np.ndarray:
        """The labels (C,) with the highest micro F1 if they are predicted for all rows of labels (n, C)."""
        return LabelMicroF1().best_labels(labels.sum(axis=0, dtype=np.int64), len(labels))

    def linear_model(self, labels: np.ndarray, tolerance: float) -> Any:
        """An untrained logistic regression a label; None where no label (n, C) varies."""
        from sklearn.linear_model import LogisticRegression

        from hashbench.data.tasks.one_vs_rest import OneVsRest, varies

        if not varies(labels).any():
            return None
        return OneVsRest(partial(LogisticRegression, C=C, max_iter=MAX_ITERATIONS, tol=tolerance))

    def linear_models(self, labels: np.ndarray) -> list[Any]:
        """Untrained linear support vector machines, one a label; [] where no label (n, C) varies."""
        from sklearn.svm import LinearSVC

        from hashbench.data.tasks.one_vs_rest import OneVsRest, varies

        if not varies(labels).any():
            return []
        machine = partial(LinearSVC, dual=False, tol=SVM_TOLERANCE, max_iter=MAX_ITERATIONS)
        return [OneVsRest(partial(machine, C=c)) for c in SVM_C]


KIND = Labels()
