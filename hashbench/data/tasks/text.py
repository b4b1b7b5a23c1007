"""Tasks of texts: the tables that hold one, notes on them, the base of their kinds, and trivial baselines."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hashbench.common.errors import InputError
from hashbench.common.invisible import invisible_notes
from hashbench.common.measured import MetricRow
from hashbench.data.sources.builtin import NOTE
from hashbench.data.sources.class_labels import is_unlabelled
from hashbench.data.sources.feature_names import named_by_features, values_by_features
from hashbench.data.sources.files import Cells, DataTable
from hashbench.data.sources.fingerprints import digest, file_fingerprint, refuse_changed
from hashbench.data.sources.hub import HubTable, copy_read, hub_facts
from hashbench.data.sources.labels import Classes, listed
from hashbench.data.sources.layout import SPLITS
from hashbench.data.sources.mapped import MappedTexts
from hashbench.data.sources.opening import format_of
from hashbench.data.sources.rows import missing_texts, row_notes
from hashbench.data.sources.sources import Place, Source, SourceKind, SplitTables, find_label_names
from hashbench.data.sources.text_tables import FORMATS_TEXT, TAGGED, ReadOptions
from hashbench.data.tasks.base import CheckedData, SplitOutputs, Task, TaskKind
from hashbench.data.tasks.blocks import BY_ROWS, TaskEntry
from hashbench.data.tasks.text_data import (
    HOLDOUT,
    HeldOut,
    Split,
    TaskData,
    hold_out,
    label_names,
    own_tables,
    reports_elsewhere,
    sample_note,
    sample_rows,
    unread_label_names,
    with_splits,
)
from hashbench.models.text.normal_forms import form_notes
from hashbench.scores.base import evaluate, find_metric, metrics
from hashbench.scores.shares import class_shift

if TYPE_CHECKING:
    from hashbench.data.tasks.text_batches import FinetuningData
    from hashbench.models.coders.base import Coder
    from hashbench.models.text.base import Tokenizer

MAJORITY = "majority"
BAG_OF_WORDS = "bag-of-words"
BAG_OF_PAIRS = "bag-of-pairs"  # this trivial baseline and the next take pairs only
BAG_OF_PAIRS_2 = "bag-of-pairs-2"  # its version 2: numbers alone, no weight of a word
HASHED_WORDS = "hashed-words"


@dataclass(frozen=True)
class LocatedTexts:
    """A task and the tables that hold it, not read yet."""

    task: Task
    # Train and the evaluation splits, but for `holdout`, which is made from train
    tables: dict[str, DataTable]
    origin: str
    kind: SourceKind
    names_file: Path | None = None
    notes: tuple[str, ...] = ()  # on files that are not read

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all that the data are made from: contents of the tables, columns, names of the labels, the
        block of its kind."""
        parts = [f"{split} {table.fingerprint()}" for split, table in sorted(self.tables.items())]
        names = file_fingerprint(self.names_file) if self.names_file else ""
        task = self.task
        more = [] if task.max_rows is None else [f"max_rows {task.max_rows}"]
        more += [] if task.protocol is None else [f"protocol {task.protocol.model_dump_json()}"]
        more += [f"labels {json.dumps(task.labels)}"] if task.labels else []
        more += [f"positive {task.positive}"] if task.positive is not None else []
        more += [f"separator {task.separator}"] if task.separator is not None else []
        is_drawn = HOLDOUT in task.evaluation_splits and task.hold_out != BY_ROWS
        more += [f"held out {task.hold_out}"] if is_drawn else []
        return digest("task", *parts, *task.text, task.label, task.kind.name, names, *task.evaluation_splits, *more)

    def checked_items(self) -> CheckedData:
        """Notes on the data, and the data, which are read so that an invalid label is found."""
        data = self.load()
        return CheckedData(notes=data.notes, texts=data)

    def load(self) -> TaskData:
        """The texts and labels of all splits, read from the tables.

        Raises:
            InputError: a file that is no table, a missing column, a text that is no text, a label that is no label.
        """
        wanted, odd = (*self.task.text, self.task.label), list(self.notes)
        columns = {split: table.read(wanted, odd) for split, table in self.tables.items()}
        where = {split: table.where for split, table in self.tables.items()}
        kind = text_kind(self.task)
        names = self.task.label_names or label_names(self.names_file)
        if self.task.labels and names not in ((), tuple(name for _, name in self.task.labels)):
            odd.append(f"the key labels names the classes, not the file beside train, which names {listed(names)}")
        cells = {
            split: kind.label_cells(self.task, column[self.task.label], where[split])
            for split, column in columns.items()
        }
        features = {split: kind.class_names(table.class_names(self.task.label)) for split, table in self.tables.items()}
        if kind.own_classes is None:
            names = kind.class_names(names)
            cells, names = named_by_features(cells, features, Classes.declared(names, self.task.labels), where)
        else:
            cells = values_by_features(cells, features, where)
        labels, task = kind.read_labels(self.task, cells, where, names)
        splits = {}
        for split, column in columns.items():
            texts = tuple(kind.read_texts(column[name], f"{where[split]}: column {name!r}") for name in task.text)
            splits[split] = Split(texts, labels[split])
            kind.check_rows(splits[split], where[split])
        splits, sampled = sample_rows(splits, self.task.max_rows)
        parts = hold_out(task, splits["train"]) if HOLDOUT in task.evaluation_splits else None
        facts = hub_facts(self.tables.values())
        odd += [facts] if facts else []
        notes = (*odd, *sampled, *self._notes(splits, task.label_names, parts), *task.label_notes)
        if self.kind != "builtin":  # generated texts repeat each other
            notes = (*notes, *text_notes(splits, splits, self.task.select_splits))
        if parts is not None:
            splits["train"], splits[HOLDOUT] = parts.kept, parts.held
        refuse_changed(self, where["train"])
        data = TaskData(task, splits, self.fingerprint, copy_read(self.origin, self.tables["train"]), self.kind, notes)
        return replace(data, notes=(*notes, *undefined_notes(data)))

    def _notes(self, splits: Mapping[str, Split], names: Sequence[str], parts: HeldOut | None) -> tuple[str, ...]:
        """Notes on the splits as they are in the files; `parts`: of train, where rows of it are held out."""
        notes = [NOTE] if self.kind == "builtin" else []
        note = sample_note(self.task, {name: len(split) for name, split in splits.items()})
        notes += [note] if note and self.kind != "builtin" else []
        if parts is not None:
            notes += [f"no validation split: selected on {parts.shown}", *parts.notes(names)]
        notes += shift_notes(self.task, splits, names) if self.kind != "builtin" else []
        return (*notes, *text_kind(self.task).label_notes(splits, names))


def shift_notes(task: Task, splits: Mapping[str, Split], names: Sequence[str]) -> list[str]:
    """Notes, one a reported split, on class shares that differ from train's by more than chance."""
    kind = text_kind(task)
    reported = [split for split in task.report_splits if split in splits]
    train = kind.class_counts(splits["train"], len(names))
    if train is None:
        return []
    others = [(split, kind.class_counts(splits[split], len(names))) for split in reported]
    rows = {split: (len(splits["train"]), len(splits[split])) if kind.multi_label else None for split in reported}
    notes = [class_shift(train, other, names, split, rows[split]) for split, other in others if other is not None]
    return [note for note in notes if note]


def text_notes(splits: Mapping[str, Split], about: Collection[str], selected: Collection[str]) -> list[str]:
    """Notes on the texts of the splits `about`, counted in all; `selected`: splits that are selected on."""
    noted = {split: splits[split] for split in about}
    texts = {split: part.texts for split, part in noted.items()}
    return [
        *missing_texts(noted),
        *row_notes(splits, about=about, selected=selected),
        *form_notes(texts),
        *invisible_notes(texts),
    ]


def cells_as_texts(cells: Cells, where: str) -> Sequence[str]:
    """Cells as texts; a missing one is an empty text."""
    if isinstance(cells, MappedTexts):
        return cells.filled()
    for row, cell in enumerate(cells, start=1):
        if cell is not None and not isinstance(cell, str):
            raise InputError(f"{where}: row {row}: {type(cell).__name__}, not text; name a column of texts")
    return ["" if cell is None else str(cell) for cell in cells]


class TextKind(TaskKind):
    """Base of the kinds of task of texts with labels; a subclass says what a label is."""

    reads_items = False
    takes_noise = True
    constant_baselines = frozenset({MAJORITY})
    own_on_hub = True
    sized_baselines = frozenset({BAG_OF_WORDS, BAG_OF_PAIRS_2, HASHED_WORDS})
    description = "a task of texts"
    outputs: ClassVar[str]  # what its metrics score
    # The head that learns it: the name of one of models/objectives/, or a class that the kind's file brings
    head: ClassVar[str | type] = "classification"
    # Stored beside the metric that an own data set asks for
    common_metrics: ClassVar[tuple[str, ...]]
    # Outputs for an own data set; None: known once its labels are read
    own_classes: ClassVar[int | None] = None

    def read_texts(self, cells: Cells, where: str) -> Sequence[str]:
        """The texts of a column. Raises InputError for a cell that is none."""
        return cells_as_texts(cells, where)

    def label_cells(self, task: Task, cells: Cells, where: str) -> Cells:
        """The cells of the column of labels, a list where a row has several. Raises InputError for one that is none."""
        return cells

    @abstractmethod
    def read_labels(
        self, task: Task, cells: dict[str, Cells], where: Mapping[str, str], names: Sequence[str]
    ) -> tuple[dict[str, np.ndarray], Task]:
        """Labels (n,) or (n, C) of each split, and the task with its classes known. `names`: what a file calls them."""

    def class_names(self, names: Sequence[str]) -> tuple[str, ...]:
        """Names of classes that a file declares, as this kind spells them."""
        return tuple(names)

    def as_trained(self, task: Task, cells: Cells, where: str, *, seen: Collection[int] | None) -> Cells:
        """Labels of another data set, converted for `read_labels` to the classes of a trained task.

        `seen`: the classes (ids) that training had; None: all. Raises InputError for labels that training never saw.
        """
        return cells

    def check_rows(self, split: Split, where: str) -> None:  # noqa: B027  # most labels fit any text
        """Raises InputError where a label does not fit its text."""

    def right_outputs(self, task: Task, split: Split) -> np.ndarray:
        """Outputs (n, ...) of a split that are right on each row, as a trivial baseline would give them."""
        return split.labels

    @abstractmethod
    def label_notes(self, splits: Mapping[str, Split], names: Sequence[str]) -> list[str]:
        """Notes on the labels. `names`: of the classes in the order of their ids."""

    def constant(self, labels: np.ndarray) -> np.generic | np.ndarray:
        """The constant prediction that fits labels (n,) best; of several labels a row, (n, C), it is (C,)."""
        raise NotImplementedError(f"{self.name} has no majority")

    def linear_model(self, labels: np.ndarray, tolerance: float) -> Any:
        """An untrained linear model of scikit-learn; None where labels (n,) leave it nothing to learn."""
        raise NotImplementedError(f"{self.name} has no bag of words")

    def linear_models(self, labels: np.ndarray) -> list[Any]:
        """Untrained linear models of scikit-learn to choose among, the one that holds its weights back most first.

        [] where labels (n,) leave them nothing to learn.
        """
        raise NotImplementedError(f"{self.name} has no hashed words")

    def baselines_of(self, task: Task) -> list[str]:
        return [name for name in self.baselines if task.is_pair or name not in (BAG_OF_PAIRS, BAG_OF_PAIRS_2)]

    def batches(self, data: TaskData, tokenizer: Tokenizer, coder: Coder, **settings: Any) -> FinetuningData:
        """Batches of the data for training and evaluations; `settings` as FinetuningData takes them."""
        from hashbench.data.tasks.text_batches import FinetuningData

        return FinetuningData(data, tokenizer, coder, **settings)

    def takes(self, entry: TaskEntry) -> bool:
        return entry.links is None and entry.metric in metrics(self.outputs)

    def own_task(self, entry: TaskEntry, base: Path) -> Task:
        """The task of a user-defined data set; its files are listed, not read.

        With a test split, selection uses validation, or a seeded tenth of train, and test is what is reported. Without
        one validation serves both, as in GLUE.
        """
        where = f"task {entry.name!r}"
        text = (entry.text,) if isinstance(entry.text, str) else tuple(entry.text)
        if len(set(text)) < len(text):
            raise InputError(f"{where}: text names the column {text[0]!r} twice; name two columns, or one: {text[0]}")
        if entry.label in text:
            raise InputError(f"{where}: text and label name the same column; name different ones")
        task = Task(
            name=entry.name,
            kind=self,
            text=text,
            label=entry.label,
            metrics=tuple(dict.fromkeys((entry.metric, *self.common_metrics))),
            select_metric=entry.metric,
            n_classes=self.own_classes,
            labels=self._labels(entry, where),
            positive=entry.positive,
            separator=entry.separator,
            splits_as_found=entry.path is None,
            hub=entry.hub_place(),
            max_rows=entry.max_rows,
        )
        return task if entry.path is None else self._in_folder(task, entry, base / Path(entry.path).expanduser())

    def _in_folder(self, task: Task, entry: TaskEntry, path: Path) -> Task:
        """The task of a data set in a folder, with its splits."""
        where, folder = f"task {entry.name!r}", path.absolute()
        places = None if entry.columns is None else (entry.columns.word, entry.columns.tag)
        reading = ReadOptions(entry.delimiter, places, entry.on_bad_lines == "skip")
        files = None if entry.splits is None else {str(split): name for split, name in entry.splits.items()}
        splits, _ = own_tables(folder, where, reading, files)
        paths = [path for table in splits.values() for path in table.paths]
        if places is not None and paths and not any(format_of(path) == TAGGED for path in paths):
            raise InputError(f"{where}: columns: are of CoNLL files, and {paths[0].name} is none; leave columns out")
        return with_splits(replace(task, folder=folder, reading=reading, files=files), splits)

    def _labels(self, entry: TaskEntry, where: str) -> tuple[tuple[str, str], ...]:
        """The key `labels` of an entry as pairs of spelling and name. Raises InputError where it cannot be meant."""
        if self.own_classes is not None and (entry.labels or entry.positive):
            raise InputError(f"{where}: metric {entry.metric} predicts numbers; leave labels and positive out")
        if entry.positive is not None and find_metric(entry.metric).counted_class is None:
            raise InputError(f"{where}: positive is the class that metric f1 counts; leave it out, or set metric: f1")
        pairs = (
            entry.labels.items() if isinstance(entry.labels, dict) else [(name, name) for name in entry.labels or ()]
        )
        labels = tuple((spelling.strip(), name.strip()) for spelling, name in pairs)
        names, spellings = ([pair[place] for pair in labels] for place in (1, 0))
        if labels and (len(set(names)) < 2 or len(set(spellings)) < len(spellings)):
            raise InputError(f"{where}: labels: needs two or more different names")
        return labels

    def find_in(self, source: Source, task: Task) -> LocatedTexts | None:
        splits = ("train", *task.evaluation_splits)
        place = Place(
            task.home,
            SPLITS if task.splits_as_found else {name: SPLITS[name] if name in SPLITS else (name,) for name in splits},
            task.hub,
            task.name if task.builtin else None,
        )
        located = source.find_tables(place)
        if located is None:
            return None
        if task.is_own:
            return self._own_on_hub(task, located)
        for split in ("train", "test") if task.splits_as_found else splits:
            if split not in located.tables:
                raise InputError(f"{located.where}: no {split} split; put a {split} file there ({FORMATS_TEXT})")
        names_file = None
        if task.splits_as_found:
            task, names_file = with_splits(task, located.tables), located.names_file
        if located.rows:
            task = replace(task, official_rows=located.rows)
        return LocatedTexts(
            task, located.tables, located.origin, located.kind, names_file=names_file, notes=located.notes
        )

    def _own_on_hub(self, task: Task, located: SplitTables) -> LocatedTexts:
        """A user's data set on the hub, without the splits in which no row has a label, as tests of competitions."""
        unlabelled = [
            split
            for split, table in located.tables.items()
            if split != "train" and is_unlabelled(table.read([task.label])[task.label])
        ]
        tables = {split: table for split, table in located.tables.items() if split not in unlabelled}
        notes = [f"not read: {split} (no row of it has a label)" for split in unlabelled]
        train = tables["train"]
        assert isinstance(train, HubTable)
        task = replace(with_splits(task, tables), hub=train.place)
        return LocatedTexts(task, tables, located.origin, located.kind, notes=(*located.notes, *notes))

    def locate_own(self, task: Task, folder: Path) -> LocatedTexts:
        tables, notes = own_tables(folder, f"task {task.name!r}", task.reading, task.files)
        wanted = {"train", *task.evaluation_splits} - {HOLDOUT}
        missing = [split for split in sorted(wanted) if split not in tables]
        if missing:
            raise InputError(f"{folder}: the {missing[0]} split is gone; put it back")
        names_file = find_label_names(folder, tables["train"].paths)
        return LocatedTexts(
            task,
            {split: table for split, table in tables.items() if split in wanted},
            origin=f"own data set {folder.name}",
            kind="own",
            names_file=names_file,
            notes=(*notes, *unread_label_names(folder, names_file)),
        )

    def files_of(self, task: Task) -> str:
        return f"{task.home}/train.parquet and the evaluation splits"

    def predictions(
        self, baseline: str, data: TaskData, splits: Sequence[str] | None = None, **options: Any
    ) -> dict[str, SplitOutputs]:
        """A trivial baseline's predictions, (n, ...), and the targets on `splits` (None: those evaluated).

        `options`: of the baseline. Where rows of train are held out to select on, a test set is predicted from all of
        train, since no trivial baseline is selected on them.
        """
        predict = partial(self.baselines[baseline], **options)
        wanted = data.task.evaluation_splits if splits is None else splits
        if not reports_elsewhere(data.task):
            predicted = predict(data, wanted)
        else:
            predicted = predict(data, [HOLDOUT]) if HOLDOUT in wanted else {}
            others = [split for split in wanted if split != HOLDOUT]
            predicted |= predict(data.with_held_out_rows(), others, for_test=True)
        return {
            split: SplitOutputs(values, self.targets(data.task, data.splits[split]))
            for split, values in predicted.items()
        }

    def stored_outputs(self, data: TaskData) -> dict[str, tuple[int, int]]:
        splits = [split for split in data.task.evaluation_splits if split in data.splits]
        return {split: (len(data.splits[split]), data.n_outputs) for split in splits}

    def scores(self, task: Task, result: SplitOutputs) -> list[MetricRow]:
        return list(evaluate(task.metrics, result.targets, result.outputs).values())


def no_value(data: TaskData, metric: str, splits: Sequence[str]) -> str:
    """The reason why a metric has no value on splits laid together even where every output is right; "" if it has one.

    The metric itself says it, of outputs that are right.
    """
    task, kind = data.task, text_kind(data.task)
    parts = [data.splits[split] for split in splits]
    targets, right = (np.concatenate([of(task, part) for part in parts]) for of in (kind.targets, kind.right_outputs))
    scored = find_metric(metric).scored(targets, right)
    if scored.value is not None and np.isfinite(scored.value):
        return ""
    reason = scored.reason or "it gives no finite number"
    number = find_metric(metric).counted_class
    counted = "" if number is None else f" (class {number} is {data.label_names[number]!r})"
    constant = len(targets) > 0 and bool((targets == targets[0]).all()) and kind.own_classes is not None
    return f"{reason}{counted}" + (f" (every label is {targets[0]:g}: are there labels?)" if constant else "")


def undefined_notes(data: TaskData, metric: str | None = None) -> list[str]:
    """Notes, one a set of rows, on those on which the metric that selects (None: the task's) has no value.

    The sets are the splits that are selected on, laid together, and each split that is reported.
    """
    task, name = data.task, metric or data.task.select_metric
    notes = []
    for splits in dict.fromkeys((task.select_splits, *((split,) for split in task.report_splits))):
        if splits and (reason := no_value(data, name, splits)):
            chosen = "; no evaluation can be chosen by it" if splits == task.select_splits else ""
            notes.append(f"{name} has no value on {' and '.join(splits)}, even if all is right: {reason}{chosen}")
    return notes


def text_kind(task: Task) -> TextKind:
    """The kind of a task that is known to be of texts."""
    assert isinstance(task.kind, TextKind)
    return task.kind
