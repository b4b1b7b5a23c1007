"""Pairs for `robustness`: a user's table of texts, each with another form of it and the name of the noise in that form.

The table has the columns of the task, the column `perturbed` (of a task of two texts `perturbed_COLUMN` for each), and
`kind`, as "ocr". Texts and forms are read as a further set of the task each, with the classes of its training.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from hashbench.common.errors import InputError, located
from hashbench.common.showing import SHOWN_CHARACTERS
from hashbench.data.perturbations.base import perturbations
from hashbench.data.sources.files import DataTable
from hashbench.data.sources.fingerprints import digest
from hashbench.data.sources.sources import SourceKind
from hashbench.data.tasks.base import CheckedData, LocatedTask, Task
from hashbench.data.tasks.text import cells_as_texts
from hashbench.data.tasks.text_data import Split, TaskData
from hashbench.results.read.robustness import FEW_ROWS, few_rows
from hashbench.running.experiment.load import Loaded
from hashbench.running.experiment.resolved import ResolvedExperiment
from hashbench.running.runs.further_sets import FurtherSet, find_set, further_set, with_classes

KIND_COLUMN, FORM_COLUMN = "kind", "perturbed"
LONGEST_KIND = 40  # characters of the name of a kind, which heads a column of tables
CLEAN, FORM = 0, 1  # the rate of the texts as they are, and that of their other form


@dataclass(frozen=True)
class TextPairs:
    """A table of texts and other forms of them, located but not read."""

    texts: FurtherSet
    forms: FurtherSet

    kind: ClassVar[SourceKind] = "own"

    @property
    def task(self) -> Task:
        """The task that the texts are of."""
        return self.texts.task

    @property
    def origin(self) -> str:
        """The file, as tables print it."""
        return f"pairs {Path(self.texts.table.where).name}"

    @property
    def tables(self) -> Mapping[str, DataTable]:
        """The table, under the name of the texts' split."""
        return self.texts.tables

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the table, and of the columns that are read."""
        return digest("pairs", self.texts.fingerprint, self.forms.fingerprint, KIND_COLUMN)

    def checked_items(self) -> CheckedData:
        """Notes on the rows, all of which are read. Raises InputError as `load` does."""
        return CheckedData(notes=self.load().notes)

    def load(self) -> TaskData:
        """Of each kind the texts and their forms, row by row, as splits "KIND=0" and "KIND=1"; needs the classes.

        Raises:
            InputError: no such column, no row, a text that is no text, an empty form, a label that training never saw,
                a kind that cannot be a name, or is that of a perturbation.
        """
        texts, forms = self.texts.load(), self.forms.load().splits[self.forms.split]
        plain, where = texts.splits[self.texts.split], self.texts.table.where
        self._refuse_empty(forms, where)
        kinds = self._kinds(where)
        splits: dict[str, Split] = {}
        for kind in dict.fromkeys(kinds):
            rows = np.flatnonzero([other == kind for other in kinds])
            splits[label_of(kind, CLEAN)], splits[label_of(kind, FORM)] = plain.take(rows), forms.take(rows)
        equal = equal_texts(splits)
        notes = [few_rows(kind, n) for kind, n in Counter(kinds).items() if n < FEW_ROWS]
        notes += [
            f"{kind}: {n:,} of {len(splits[label_of(kind, FORM)]):,} rows have a perturbed text equal to the text"
            for kind, n in equal.items()
            if n
        ]
        return replace(texts, splits=splits, fingerprint=self.fingerprint, notes=(*notes, *texts.notes))

    def _refuse_empty(self, forms: Split, where: str) -> None:
        for name, column in zip(self.forms.task.text, forms.texts, strict=True):
            for row, text in enumerate(column, start=1):
                if not text.strip():
                    raise InputError(f"{where}: row {row}: column {name!r} is empty; write the text's other form in it")

    def _kinds(self, where: str) -> list[str]:
        """The kind of each row."""
        cells = self.texts.table.read((KIND_COLUMN,))[KIND_COLUMN]
        kinds = [kind.strip() for kind in cells_as_texts(cells, f"{where}: column {KIND_COLUMN!r}")]
        for row, kind in enumerate(kinds, start=1):
            if not kind or "=" in kind or not kind.isprintable() or len(kind) > LONGEST_KIND:
                raise InputError(
                    f"{where}: row {row}: kind {kind[:SHOWN_CHARACTERS]!r} cannot be the name of a noise; "
                    f"write a name of at most {LONGEST_KIND} characters without '=', as ocr"
                )
            if kind in perturbations():
                raise InputError(
                    f"{where}: row {row}: kind {kind!r} is the name of a perturbation, whose results are others; "
                    "rename it"
                )
        return kinds


def find_pairs(path: Path, trained_on: Task, option: str) -> TextPairs:
    """The pairs of a task in a table, whose rows are not read; `option`: what names the path in messages.

    Raises InputError where there is no table, and for a task with a column that is named like one of the pairs'.
    """
    table = find_set(path, trained_on.reading, option=option)
    several = trained_on.is_pair
    names = tuple(f"{FORM_COLUMN}_{column}" if several else FORM_COLUMN for column in trained_on.text)
    if taken := [name for name in (*names, KIND_COLUMN) if name in trained_on.columns]:
        raise InputError(
            f"{option} {path}: column {taken[0]!r} is one of task {trained_on.name!r} itself, and has another meaning "
            "in pairs; rename it in the task's data"
        )
    texts = further_set(trained_on, table, path, trained_on.name, has_forms=True)
    forms = further_set(replace(trained_on, text=names), table, path, trained_on.name, has_forms=True)
    return TextPairs(texts, forms)


def pairs_of(loaded: Loaded, tasks: Sequence[LocatedTask]) -> dict[str, LocatedTask]:
    """The tables of `robustness.pairs`, by task. Raises InputError with file and line for one that is not there."""
    block = loaded.experiment.robustness_block
    pairs: dict[str, LocatedTask] = {}
    for task in tasks:
        name = task.task.name
        if block is not None and name in block.pairs:
            path = loaded.folder / Path(block.pairs[name]).expanduser()
            with located(loaded.where("robustness", "pairs", name)):
                pairs[name] = find_pairs(path, task.task, "robustness.pairs:")
    return pairs


def pair_notes(resolved: ResolvedExperiment, data: Any) -> list[str]:
    """Notes on the pairs of a task, which are read whole; none where it has none. Raises InputError for wrong rows."""
    pairs = resolved.pairs.get(data.task.name)
    if not isinstance(pairs, TextPairs):
        return []
    return [f"{pairs.origin}: {note}" for note in for_training(pairs, data).load().notes]


def for_training(pairs: TextPairs, trained: TaskData) -> TextPairs:
    """The pairs with the classes of the data that models were trained on."""
    return TextPairs(with_classes(pairs.texts, trained), replace(with_classes(pairs.forms, trained), trained=None))


def equal_texts(splits: Mapping[str, Split]) -> dict[str, int]:
    """The number of rows whose form equals the text, by kind, of the splits of pairs."""
    equal = {}
    for label, forms in splits.items():
        kind, _, rate = label.rpartition("=")
        if int(rate) == FORM:
            both = zip(
                zip(*splits[label_of(kind, CLEAN)].texts, strict=True), zip(*forms.texts, strict=True), strict=True
            )
            equal[kind] = sum(text == form for text, form in both)
    return equal


def label_of(kind: str, rate: int) -> str:
    """The label of a kind's texts or of their forms, as a perturbation's.

    >>> label_of("ocr", FORM)
    'ocr=1'
    """
    return f"{kind}={rate}"
