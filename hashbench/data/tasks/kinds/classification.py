"""The kind of task of texts with one of several classes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from hashbench.common.errors import InputError, near_match
from hashbench.common.showing import SHOWN_CHARACTERS
from hashbench.data.sources.class_labels import ReadClasses, joined_labels, positive_by_name, read_classes, unseen_note
from hashbench.data.sources.files import Cells
from hashbench.data.sources.labels import Classes, UnseenLabels, label_of, listed
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.text import TextKind
from hashbench.data.tasks.text_baselines import BASELINES
from hashbench.data.tasks.text_data import Split
from hashbench.scores.base import find_metric

# Of the logistic regression: 10 fits short texts better than scikit-learn's 1, which holds words back too much.
C = 10.0
MAX_ITERATIONS = 1_000
# Values of C of the linear support vector machines; the best one is chosen
SVM_C = (0.01, 0.03, 0.1, 0.3, 1.0)
SVM_TOLERANCE = 1e-3  # a tenth of liblinear's own for this solver
MANY_ROWS = 20  # of train; from here on it is strange if there are more classes than half the rows


class Classification(TextKind):
    """The kind of texts with a class.

    Labels are class ids (n,) int64, by the names of the task, of a parquet file, of label_names.json, or of all splits.
    """

    name = "classification"
    outputs = "classes"
    # f1 is not among them, since it needs exactly two classes
    common_metrics: ClassVar[tuple[str, ...]] = ("accuracy", "f1_macro", "matthews")
    baselines = BASELINES

    def read_labels(
        self, task: Task, cells: dict[str, Cells], where: Mapping[str, str], names: Sequence[str]
    ) -> tuple[dict[str, np.ndarray], Task]:
        """Class ids (n,) int64 of each split, and the task with its classes."""
        declared = Classes.declared(names, task.labels)
        read = read_classes(cells, where, declared, task.positive)
        for name in task.metrics:
            if refusal := find_metric(name).refuses(len(read.names)):
                raise InputError(f"task {task.name!r}: {refusal}")
        return read.ids, replace(
            task,
            n_classes=len(read.names),
            label_names=read.names,
            label_order=declared.order if declared else (),
            label_notes=(*read.notes, *(_own_notes(task, read) if "train" in cells else ())),
        )

    def as_trained(self, task: Task, cells: Cells, where: str, *, seen: Collection[int] | None) -> Cells:
        """The cells as names of a trained task's classes.

        A cell may be a name, a spelling of `task.labels`, or a class's place in a declared order.
        """
        names = task.label_names
        for _, name in task.labels:
            if name not in names:
                hint = near_match(name, list(names)) or f"; they are {listed(names)}"
                raise InputError(f"--labels: {name!r} is none of the classes that training saw{hint}")
        classes = Classes.of_trained(names, task.label_order, task.labels)
        converted = [classes.name_of(cell) for cell in cells]
        trained = [name for i, name in enumerate(names) if seen is None or i in seen]
        strange = [cell for cell, name in zip(cells, converted, strict=True) if name is None]
        unseen = [repr(cell)[:SHOWN_CHARACTERS] for cell in strange] + [
            repr(name) for name in converted if name is not None and name not in trained
        ]
        if unseen:
            shown = listed(list(dict.fromkeys(unseen)))
            what = f"{where}: column {task.label!r}: labels that training never saw: {shown}; it saw {listed(trained)}"
            raise UnseenLabels(what, f": {_remedy(strange, trained)}")
        return list(converted)

    def class_counts(self, split: Split, n_classes: int) -> np.ndarray:
        """The number of rows of each class (n_classes,)."""
        return np.bincount(split.labels, minlength=n_classes)

    def label_notes(self, splits: Mapping[str, Split], names: Sequence[str]) -> list[str]:
        """Notes, one a split, on labels that training never saw; their rows count as errors."""
        trained = np.unique(splits["train"].labels)
        unseen = {split: part.labels[~np.isin(part.labels, trained)] for split, part in splits.items()}
        notes = [unseen_note("row", "label", split, ids, names) for split, ids in unseen.items() if len(ids)]
        n_rows = len(splits["train"])
        if n_rows >= MANY_ROWS and len(names) > n_rows / 2:
            notes.append(f"{len(names):,} classes in {n_rows:,} rows of train: is this the column of classes?")
        return notes

    def constant(self, labels: np.ndarray) -> np.generic | np.ndarray:
        """The most frequent class of labels (n,), the smallest of several."""
        return np.bincount(labels).argmax()

    def linear_model(self, labels: np.ndarray, tolerance: float) -> Any:
        """An untrained logistic regression; None where all labels (n,) are one class."""
        from sklearn.linear_model import LogisticRegression

        if len(np.unique(labels)) < 2:
            return None
        return LogisticRegression(C=C, max_iter=MAX_ITERATIONS, tol=tolerance)

    def linear_models(self, labels: np.ndarray) -> list[Any]:
        """Untrained linear support vector machines; [] where all labels (n,) are one class."""
        from sklearn.svm import LinearSVC

        if len(np.unique(labels)) < 2:
            return []
        # The primal solver draws no random numbers
        return [LinearSVC(C=c, dual=False, tol=SVM_TOLERANCE, max_iter=MAX_ITERATIONS) for c in SVM_C]


def _own_notes(task: Task, read: ReadClasses) -> list[str]:
    """Notes on the classes: classes without rows, names that may be several, and which class a metric counts."""
    present = {number for ids in read.ids.values() for number in ids.tolist()}
    absent = [repr(name) for number, name in enumerate(read.names) if number not in present]
    notes = [f"no row has a label of these classes: {listed(absent)}"] if absent and task.is_own else []
    return notes + joined_labels(read.names) + _counted_note(task, read.names)


def _counted_note(task: Task, names: Sequence[str]) -> list[str]:
    """A note where a metric counts a class of a user's data set that is not the positive one by its name."""
    if not task.is_own or task.positive is not None:
        return []
    notes = []
    for metric in task.metrics:
        number = find_metric(metric).counted_class
        if number is not None and positive_by_name(names) != names[number]:
            other = names[1 - number]
            notes.append(
                f"{metric} is of {names[number]!r} (if {other!r} is the class to find, write positive: {other})"
            )
    return notes


def _remedy(cells: Cells, trained: Sequence[str]) -> str:
    """The remedy for labels of a further set that training never saw; `cells`: labels that are no class of the model.

    Numbers need a mapping where the classes have names and no order.
    """
    if not cells:
        return "leave out or rename the others"
    labels = [label_of(cell) for cell in cells]
    if all(label.kind == "number" for label in labels) and not any(label_of(name).kind == "number" for name in trained):
        numbers = sorted({int(label.text) for label in labels})
        mapping = ",".join(f"{number}=NAME" for number in numbers)
        return f'no order of the classes is declared, so give their names: --labels "{mapping}"'
    return 'leave out or rename the others, or give their names: --labels "LABEL=NAME,..."'


KIND = Classification()
