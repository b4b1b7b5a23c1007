"""A task with its data: texts and labels of each split, what they were made from, and what should be said of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from hashbench.data.files import Column, Table
from hashbench.data.fingerprints import digest, file_fingerprint
from hashbench.data.labels import read_classes, read_values
from hashbench.errors import InputError
from hashbench.tasks.base import Task
from hashbench.tasks.own_data import HOLDOUT, label_names, with_classes

SourceKind = Literal["folder", "hub", "builtin", "own"]
HOLDOUT_SHARE = 10  # one training row of ten
BUILTIN_NOTE = "built-in data: a generated toy language; these are not GLUE scores"


@dataclass(frozen=True)
class Split:
    """Texts and labels of one split."""

    texts: tuple[list[str], ...]  # one list for each text column
    labels: np.ndarray  # (n,) int64 class ids, or float32 values

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: np.ndarray) -> Split:
        """Some rows, in the order given."""
        return Split(tuple([column[row] for row in rows] for column in self.texts), self.labels[rows])


@dataclass(frozen=True)
class TaskData:
    """A loaded task."""

    task: Task
    splits: dict[str, Split]
    fingerprint: str  # SHA-256 of the files, or of name and revision
    origin: str
    kind: SourceKind
    notes: tuple[str, ...] = ()

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the classes in the order of their ids; none for a regression."""
        return self.task.label_names

    @property
    def n_outputs(self) -> int:
        """Outputs of a head for this task; 1 is a regression."""
        return self.task.n_classes or 1

    def held_out(self, seed: int = 0) -> TaskData:
        """The same task without its evaluation splits: a seeded tenth of train serves instead, as split `holdout`."""
        kept, held = hold_out(self.splits["train"], seed)
        task = replace(self.task, select_splits=(HOLDOUT,), report_splits=(HOLDOUT,))
        splits = {"train": kept, HOLDOUT: held}
        return replace(self, task=task, splits=splits, fingerprint=digest(self.fingerprint, HOLDOUT, str(seed)))


@dataclass(frozen=True)
class LocatedTask:
    """A task and the tables that hold it, none of them read yet."""

    task: Task
    tables: Mapping[str, Table]  # train and the evaluation splits, but for `holdout`, which is made from train
    origin: str
    kind: SourceKind
    names_file: Path | None = None

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all that the data are made from: contents of the tables, columns, names of the labels."""
        parts = [f"{split} {table.fingerprint()}" for split, table in sorted(self.tables.items())]
        names = file_fingerprint(self.names_file) if self.names_file else ""
        task = self.task
        return digest("task", *parts, *task.text, task.label, task.kind, names, *task.evaluation_splits)

    def load(self) -> TaskData:
        """Read the tables.

        Raises:
            InputError: a file that is no table, a missing column, a text that is no text, a label that is no label.
        """
        columns = {split: table.read((*self.task.text, self.task.label)) for split, table in self.tables.items()}
        where = {split: table.where for split, table in self.tables.items()}
        labels, task = self._labels({split: column[self.task.label] for split, column in columns.items()}, where)
        splits = {}
        for split, column in columns.items():
            texts = tuple(_texts(column[name], f"{where[split]}: column {name!r}") for name in task.text)
            splits[split] = Split(texts, labels[split])
        notes = self._notes(splits)
        if HOLDOUT in task.evaluation_splits:
            splits["train"], splits[HOLDOUT] = hold_out(splits["train"])
        return TaskData(task, splits, self.fingerprint, self.origin, self.kind, notes)

    def _labels(self, columns: dict[str, Column], where: dict[str, str]) -> tuple[dict[str, np.ndarray], Task]:
        if self.task.kind == "regression":
            return read_values(columns, where), self.task
        names = self.task.label_names or (label_names(self.names_file.parent) if self.names_file else ())
        labels, names = read_classes(columns, where, names)
        return labels, with_classes(self.task, names)

    def _notes(self, splits: Mapping[str, Split]) -> tuple[str, ...]:
        notes = [BUILTIN_NOTE] if self.kind == "builtin" else []
        note = sample_note(self.task, {name: len(split) for name, split in splits.items()})
        notes += [note] if note and self.kind != "builtin" else []
        if HOLDOUT in self.task.evaluation_splits:
            n_held = max(1, len(splits["train"]) // HOLDOUT_SHARE)
            notes.append(f"no validation split: selected on a seeded tenth of train ({n_held:,} rows)")
        return (*notes, *_unseen_labels(self.task, splits))


def sample_note(task: Task, rows: Mapping[str, int | None]) -> str:
    """Which splits hold fewer rows than the published data set, "" where none does; None: only reading would tell."""
    sampled = [
        f"{split} {n:,} of {official:,} rows"
        for split, official in task.official_rows.items()
        if (n := rows.get(split)) is not None and n != official
    ]
    return f"sample: {', '.join(sampled)}" if sampled else ""


def hold_out(train: Split, seed: int = 0) -> tuple[Split, Split]:
    """Train as nine tenths and a tenth, chosen by the seed; both keep the order of the rows.

    Raises:
        InputError: too few rows.
    """
    n = len(train)
    if n < 2:
        raise InputError(f"train has {n} row; a tenth of it cannot be held out, so give a validation split")
    # RandomState: NumPy keeps its stream the same in all versions.
    order = np.random.RandomState([seed, HOLDOUT_SHARE]).permutation(n)
    n_held = max(1, n // HOLDOUT_SHARE)
    return train.take(np.sort(order[n_held:])), train.take(np.sort(order[:n_held]))


def _texts(cells: Column, where: str) -> list[str]:
    """Cells as texts; a missing one is an empty text."""
    for row, cell in enumerate(cells, start=1):
        if cell is not None and not isinstance(cell, str):
            raise InputError(f"{where}: row {row}: {type(cell).__name__}, not text; name a column of texts")
    return ["" if cell is None else str(cell) for cell in cells]


def _unseen_labels(task: Task, splits: Mapping[str, Split]) -> list[str]:
    """A note on labels that training never saw; their rows count as errors."""
    if task.kind == "regression":
        return []
    known = np.unique(splits["train"].labels)
    unseen = {split: int((~np.isin(part.labels, known)).sum()) for split, part in splits.items()}
    return [f"{n} rows of {split} have a label that train never has" for split, n in unseen.items() if n]
