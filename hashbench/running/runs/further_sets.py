"""Runs that evaluate a trained model on a further labelled set of its task: a user's table.

Such sets are AdvGLUE, or the test set of another year."""

from __future__ import annotations

import csv
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from hashbench.common.errors import InputError, located
from hashbench.data.sources.class_labels import is_unlabelled, respelled
from hashbench.data.sources.feature_names import have_numbers, named_by_features, named_by_order, values_by_features
from hashbench.data.sources.files import DataTable, FileTable, find_table
from hashbench.data.sources.fingerprints import digest, file_fingerprint
from hashbench.data.sources.hub import PREFIX, HubPlace, HubTable, copy_read, hub_facts, named_place
from hashbench.data.sources.labels import Classes, UnseenLabels
from hashbench.data.sources.layout import SPLITS, is_table, listed, only_table, whole
from hashbench.data.sources.opening import ending_of
from hashbench.data.sources.sources import SourceKind, find_label_names
from hashbench.data.sources.text_tables import FORMATS_TEXT, PLAIN, MissingColumn, ReadOptions
from hashbench.data.tasks.base import CheckedData, Task
from hashbench.data.tasks.text import shift_notes, text_kind, text_notes, undefined_notes
from hashbench.data.tasks.text_data import HOLDOUT, Split, TaskData, label_names, reports_elsewhere

FURTHER = "test"  # the name of its one split
PAIRS = "pairs"  # the name of the split of a set of pairs
IN_ORDER = ("test", "validation")  # which file of a folder is taken first
SPLIT_FILES = ("train", "validation", "dev", "test")  # names of files that say nothing of their data


@dataclass(frozen=True)
class FurtherSet:
    """A further labelled set of the task that a model was trained on; its table is located but not read."""

    # With the columns of the set and the classes of the training.
    task: Task
    table: DataTable
    trained_on: str  # name of the task of the training
    # Classes (ids) that the training had; None: all that it knows by name
    seen: Collection[int] | None = field(default=None, repr=False)
    # Data of the training, whose rows are compared with the set's rows; None: not at hand
    trained: TaskData | None = field(default=None, repr=False, compare=False)
    kind: SourceKind = "own"
    # True where an experiment file names the set (`pairs.py`): no option names its columns or labels, and a text may be
    # in several rows, each with another form of it
    has_forms: bool = False

    @property
    def origin(self) -> str:
        """The file, or the data set on the hub, and the task of the training, as tables print them."""
        files = self.table.paths if isinstance(self.table, FileTable) else ()
        place = files[0].name if files else copy_read(self.table.where, self.table)
        return f"further set {place} for models trained on {self.trained_on}"

    @property
    def tables(self) -> Mapping[str, DataTable]:
        """The table of the set, under the name of its one split."""
        return {self.split: self.table}

    @property
    def split(self) -> str:
        """The name of its one split."""
        return PAIRS if self.has_forms else FURTHER

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the table's content, of its columns and of the task that gives the labels their meaning."""
        labels = [f"labels {json.dumps(self.task.labels)}"] if self.task.labels else []
        labels += [f"separator {self.task.separator}"] if self.task.separator is not None else []
        names = [f"names {file_fingerprint(self.names_file)}"] if self.names_file else []
        more = (*labels, *names)
        return digest("further", self.table.fingerprint(), *self.task.text, self.task.label, self.trained_on, *more)

    @property
    def names_file(self) -> Path | None:
        """The file label_names.json beside the table or in the folder of the set; None where there is none."""
        if not isinstance(self.table, FileTable):
            return None
        files, folder = self.table.paths, self.task.folder
        return find_label_names(folder if folder and folder.is_dir() else files[0].parent, files)

    def checked_items(self) -> CheckedData:
        """Notes on the rows, all of which are read. Raises InputError as `load` does."""
        return CheckedData(notes=self.load().notes)

    def load(self) -> TaskData:
        """Texts and labels of the set.

        Raises:
            InputError: no such column, no row, a text that is no text, a label that training never saw.
        """
        task, where, kind = self.task, self.table.where, text_kind(self.task)
        notes: list[str] = []
        try:
            columns = self.table.read((*task.text, task.label), notes)
        except InputError as error:
            if self.has_forms or not _lacks_column(error):
                raise
            options = "the task reads pairs: --text, twice," if task.is_pair else "--text"
            raise InputError(f"{error}; {options} and --label name the columns") from error
        declared = Classes.of_trained(task.label_names, task.label_order, task.labels)
        labelled = kind.label_cells(task, columns[task.label], where)
        features, cells_read = {FURTHER: kind.class_names(self.table.class_names(task.label))}, {FURTHER: labelled}
        in_order = kind.class_names(label_names(self.names_file)) if kind.own_classes is None else ()
        named_in = where
        if in_order and not features[FURTHER] and have_numbers(labelled):
            features, cells_read = {FURTHER: in_order}, {FURTHER: named_by_order(labelled, in_order)}
            named_in = str(self.names_file)
        if kind.own_classes is None:
            try:
                named, _ = named_by_features(cells_read, features, declared, {FURTHER: named_in})
            except InputError as error:
                if self.has_forms:
                    raise
                raise InputError(f'{error}; for this set alone: --labels "LABEL=NAME,..."') from error
        else:
            named = values_by_features(cells_read, features, {FURTHER: where})
        try:
            cells = kind.as_trained(task, named[FURTHER], where, seen=self.seen)
        except UnseenLabels as error:
            if not self.has_forms:
                raise
            raise InputError(f"{error.what}; leave out or rename the others") from error
        trained = replace(task, labels=(), positive=None)  # the cells are names in the order of the training
        labels, task = kind.read_labels(trained, {FURTHER: cells}, {FURTHER: where}, task.label_names)
        texts = tuple(kind.read_texts(columns[name], f"{where}: column {name!r}") for name in task.text)
        rows = Split(texts, labels[FURTHER])
        kind.check_rows(rows, where)
        notes += [facts] if (facts := hub_facts([self.table])) else []
        notes += [*respelled(named, {FURTHER: cells}), *task.label_notes, *self._notes(rows, task)]
        data = TaskData(task, {self.split: rows}, self.fingerprint, self.origin, self.kind)
        return replace(data, notes=(*notes, *undefined_notes(data)))

    def _notes(self, rows: Split, task: Task) -> list[str]:
        """The notes that a task with these rows as its test set would get, each text once if it has several forms."""
        name = self.split
        if self.has_forms:
            first = {texts: row for row, texts in reversed(list(enumerate(zip(*rows.texts, strict=True))))}
            rows = rows.take(np.array(sorted(first.values())))
        if self.trained is None:
            not_known = "whether its rows are in train is not known: the data of the training are not at hand"
            return [not_known, *text_notes({name: rows}, [name], ())]
        trained, kind = self.trained, text_kind(task)
        selected = [split for split in trained.task.select_splits if split not in (HOLDOUT, name)]
        train = (trained.with_held_out_rows() if HOLDOUT in trained.splits else trained).splits["train"]
        splits = {"train": train, **{split: trained.splits[split] for split in selected}, name: rows}
        of_train = kind.label_notes({"train": train}, task.label_names)
        of_both = kind.label_notes({"train": train, name: rows}, task.label_names)
        return [
            *shift_notes(task, splits, task.label_names),
            *(note for note in of_both if note not in of_train),
            *text_notes(splits, [name], selected),
        ]


@dataclass(frozen=True)
class FurtherRequest:
    """Options of `hashbench evaluate`: the set, and how it differs from the task that the model was trained on."""

    on: Path  # or hub:OWNER/NAME, with :CONFIG and @COMMIT where there are
    name: str | None = None  # of the set in tables; None: the file's, of a folder the folder's
    text: tuple[str, ...] = ()  # columns; () and None: the task's columns
    label: str | None = None
    labels: str | None = None  # as 0=no,1=yes: a label of the set, and its class; None: as in the task
    separator: str | None = None  # between several labels in one cell; None: as in the task

    def of(self, trained_on: Task) -> FurtherSet:
        """The further set that the options name, as one of the task `trained_on`; its rows are not read.

        Raises:
            InputError: no such file, several that could be it, another number of text columns.
        """
        at, path = self.place(), self.on.expanduser().absolute()
        if self.labels is not None and text_kind(trained_on).own_classes is not None:
            raise InputError(f"--labels: task {trained_on.name!r} predicts numbers; leave --labels out")
        if self.separator is not None and not trained_on.kind.multi_label:
            raise InputError(f"--separator: task {trained_on.name!r} has one label a row; leave --separator out")
        columns, label = self.text or trained_on.text, self.label or trained_on.label
        table = find_set(path, trained_on.reading) if at is None else _set_on_hub(at, label)
        if len(columns) != len(trained_on.text):
            wanted = f"{len(trained_on.text)} text column{'s' if trained_on.is_pair else ''}"
            raise InputError(f"--text: task {trained_on.name!r} has {wanted}; give --text so many times")
        if label in columns or len(set(columns)) < len(columns):
            raise InputError("--text, --label: name the same column; name different ones")
        labels = trained_on.labels if self.labels is None else spelled_labels(self.labels)
        name = self.name or (default_name(path) if at is None else at.repository.rpartition("/")[2])
        separator = self.separator or trained_on.separator
        task = replace(trained_on, labels=labels, name=name, text=columns, label=label, separator=separator)
        return further_set(task, table, at or path, trained_on.name)

    def place(self) -> HubPlace | None:
        """The data set of the hub that is named, None for a path. Raises InputError for a name that is none."""
        text = str(self.on)
        if not text.startswith(PREFIX):
            return None
        with located("--on"):
            return named_place(text.removeprefix(PREFIX))

    def check(self) -> None:
        """Raises InputError where there is no such file, and for a name that no data set of the hub has."""
        if self.place() is None:
            find_set(self.on.expanduser().absolute())


def further_set(
    task: Task, table: DataTable, place: Path | HubPlace, trained_on: str, *, has_forms: bool = False
) -> FurtherSet:
    """The set in a table at `place`; `task` has its columns, and all else of the task that was trained on."""
    further, at = (
        FurtherSet(task, table, trained_on, has_forms=has_forms),
        place if isinstance(place, HubPlace) else None,
    )
    task = replace(
        task, select_splits=(), report_splits=(further.split,), official_rows={}, hub=at, builtin=False, files=None,
        folder=place if isinstance(place, Path) else None,
    )  # fmt: skip
    return replace(further, task=task)


def _set_on_hub(at: HubPlace, label: str) -> HubTable:
    """A data set on the hub: its test split, else validation, if rows of it have labels, else its only split."""
    at = at.at_commit()
    there, where = list(at.listing().splits), f"hub {at.repository}"
    names = {split: SPLITS[split] for split in IN_ORDER}
    named = [name for split in IN_ORDER for name in there if name.lower() in names[split]]
    for name in named or (there if len(there) == 1 else []):
        table = HubTable(at, name)
        try:
            cells = table.read([label])[label]
        except InputError as error:
            if _lacks_column(error):
                raise InputError(f"{error}; --label names the column") from error
            raise
        if not is_unlabelled(cells):
            return table
    what = "no row of its test or validation split has a label" if named else "no test or validation split"
    raise InputError(f"--on {where}: {what}; it has {', '.join(there)}")


def _lacks_column(error: InputError) -> bool:
    """True for the error of a table without a requested column, also behind the name of a table."""
    return any(isinstance(of, MissingColumn) for of in (error, error.__cause__))


def default_name(path: Path) -> str:
    """The default name of a set: its file or folder, after the folder above if it has the name of a split.

    data/subj/test.csv is subj-test.
    """
    name = path.name if path.is_dir() else path.name.removesuffix(ending_of(path))
    above = path.resolve().parent.name
    return f"{above}-{name}" if above and name in SPLIT_FILES else name


def spelled_labels(text: str) -> tuple[tuple[str, str], ...]:
    """The pairs of spelling and class in the option --labels; quotes around a pair keep a comma in a name.

    >>> spelled_labels('0=no, "1=yes, sir"')
    (('0', 'no'), ('1', 'yes, sir'))
    """
    parts = next(csv.reader([text], skipinitialspace=True), [])
    pairs = tuple((spelling.strip(), name.strip()) for spelling, _, name in (part.partition("=") for part in parts))
    if not pairs or not all(spelling and name for spelling, name in pairs):
        raise InputError(f'--labels {text!r}: is not of the form "0=no,1=yes": a label of the set, then its class')
    if len({spelling for spelling, _ in pairs}) < len(pairs):
        raise InputError(f"--labels {text!r}: names a label twice; name each once")
    return pairs


def find_set(path: Path, reading: ReadOptions = PLAIN, *, option: str = "--on") -> FileTable:
    """The table of a file, or of a folder: test, else validation, else the only file.

    `option`: what names the path. Raises InputError where it is no table, or several could be it.
    """
    if not path.exists():
        raise InputError(f"{option} {path}: no such file or folder; check the path")
    if not path.is_dir():
        if not is_table(path):
            raise InputError(f"{option} {path}: a table is a {FORMATS_TEXT} file; convert it")
        return FileTable((path,), reading)
    files = sorted(file for file in path.iterdir() if is_table(file))
    if only_table(path):
        return FileTable(whole(files, path), reading)
    for name in IN_ORDER:
        if (table := find_table(path, SPLITS[name], reading)) is not None:
            return table
    if len(files) == 1:
        return FileTable(whole(files, path), reading)
    there = listed(path, files) or "no table"
    raise InputError(
        f"{option} {path}: no test or validation file ({FORMATS_TEXT}) in the folder, which has {there}; name one"
    )


def with_classes(further: FurtherSet, trained: TaskData) -> FurtherSet:
    """The set with the classes of the model's training data, and with their ids there."""
    n_classes, order = trained.task.n_classes, trained.task.label_order
    task = replace(further.task, n_classes=n_classes, label_names=trained.label_names, label_order=order)
    counts = text_kind(trained.task).class_counts(trained.splits["train"], len(trained.label_names))
    seen = None if counts is None else frozenset(np.flatnonzero(counts).tolist())
    return replace(further, task=task, seen=seen, trained=trained)


def behind_train(rows: TaskData, trained: TaskData) -> TaskData:
    """The data of a further set, with the whole train set of its task for a trivial baseline to learn from."""
    learned = trained.with_held_out_rows() if reports_elsewhere(trained.task) else trained
    return rows.with_train(learned.splits["train"], learned.fingerprint)
