"""A task, and the interface of a kind of task.

A kind is one file of `kinds/` that ends in `KIND`: a subclass of `TextKind` or `ItemKind`, or of `TaskKind` itself. All
that differs between two kinds is an attribute or a method of these objects. Their names are stored, and files of users
hold them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np

from hashbench.common.errors import NotAtHand
from hashbench.common.measured import MetricRow
from hashbench.data.sources.files import DataTable
from hashbench.data.sources.hub import HubPlace
from hashbench.data.sources.sources import Hub, Source, SourceKind, names_of
from hashbench.data.sources.text_tables import PLAIN, ReadOptions
from hashbench.data.tasks.blocks import BY_GROUPS, HoldOut, Strict, TaskEntry

if TYPE_CHECKING:  # kinds are listed to check the names in a file: that loads nothing that trains
    from hashbench.data.sources.loader import LoadedData

# The rule that reproduces all eight intervals of the HashFormers paper's table 5
EVALUATIONS_PER_EPOCH = 5


@dataclass(frozen=True)
class Task:
    """A task as a record: its columns, metrics, splits and locations.

    A text is one column, or two that make a pair; of every metric more is better.
    """

    name: str
    kind: TaskKind
    text: tuple[str, ...]
    label: str = "label"
    metrics: tuple[str, ...] = ("accuracy",)  # all are stored at every evaluation
    select_metric: str = "accuracy"
    select_splits: tuple[str, ...] = ("validation",)  # several are selected on together, as one set
    report_splits: tuple[str, ...] = ("validation",)
    evaluation_stride: int = 1  # how many times the common interval lies between two evaluations
    # 1: regression; None: an own data set, known once its labels are read
    n_classes: int | None = None
    label_names: tuple[str, ...] = ()
    # Its classes by the numbers that they may have in data: () for no declared order, None: as label_names
    label_order: tuple[str, ...] | None = None
    # As an entry of `tasks` writes them: a label of the files with the name that it means; of a list the name twice
    labels: tuple[tuple[str, str], ...] = ()
    positive: str | None = None  # the class of two whose F1 it is, as an entry writes it; None: the second
    separator: str | None = None  # between the names of several labels in one cell; None: cells are lists
    label_notes: tuple[str, ...] = ()  # on how the labels were read
    # Split -> rows of the published data set
    official_rows: dict[str, int] = field(default_factory=dict)
    folder: Path | None = None  # of an own data set in files; None: looked for in the sources
    reading: ReadOptions = PLAIN  # of an own data set's files
    files: Mapping[str, str] | None = None  # of an own data set's splits, where they are named
    max_rows: int | None = None  # of each split of an own data set, a seeded sample; None: all
    collection: str = ""  # the part of a data folder that holds it
    # For one of many tasks of one form, called COLLECTION:PART: which one; its folder in the collection
    part: str = ""
    # What tasks are grouped by in tables, as language and script
    traits: dict[str, str] = field(default_factory=dict)
    # Without a validation split it is selected on a tenth of train; test must be there
    splits_as_found: bool = False
    # Whether the tasks of its collection have the same texts, each in its language, in the same splits
    parallel: bool = False
    hub: HubPlace | None = None
    builtin: bool = False  # whether the built-in data have it
    hold_out: HoldOut = BY_GROUPS  # how rows of train are held out, where no split or no value is given
    protocol: Strict | None = None  # the experiment's block of its kind, where the kind has one

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        return (*self.text, self.label)

    @property
    def is_pair(self) -> bool:
        """True where a text is a pair of two columns."""
        return len(self.text) == 2

    @property
    def is_own(self) -> bool:
        """True where this is a user-defined data set: a folder, or one of the hub that an entry names."""
        return self.folder is not None or (self.hub is not None and self.hub.own)

    @property
    def evaluation_splits(self) -> tuple[str, ...]:
        """The sets to select on, then the sets that are only reported on."""
        return tuple(dict.fromkeys(self.select_splits + self.report_splits))

    @property
    def home(self) -> str:
        """The task's folder within a data folder."""
        return f"{self.collection}/{self.part or self.name}"

    def evaluation_every(self, steps_per_epoch: int, per_epoch: int | None = None) -> int:
        """Steps between two evaluations: the paper's rule, or `per_epoch` evaluations an epoch."""
        if per_epoch is not None:
            return -(-steps_per_epoch // per_epoch)
        return -(-steps_per_epoch // EVALUATIONS_PER_EPOCH) * self.evaluation_stride


class LocatedTask(Protocol):
    """A task whose data were found and not read yet."""

    @property
    def task(self) -> Task:
        """The task, adapted to the data that were found."""

    @property
    def origin(self) -> str:
        """Where the data were found, in words."""

    @property
    def kind(self) -> SourceKind:
        """The kind of source in which the data were found."""

    @property
    def tables(self) -> Mapping[str, DataTable]:
        """The tables that hold the task's data, by split or file; none where it is made of corpora."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of all that the data are made from."""

    def load(self) -> Any:
        """The task's data, read now. Raises InputError for data that do not fit the task."""

    def checked_items(self) -> CheckedData:
        """The result of checking that the data are usable."""


class CheckedData(NamedTuple):
    """Result of checking a task's data: the number of items (None for texts), notes, and the data (texts only)."""

    n_items: int | None = None
    notes: tuple[str, ...] = ()
    texts: Any = None


class SplitOutputs(NamedTuple):
    """Outputs on one split, and the targets that they are scored against."""

    # (n,) class ids or values, (n, C) logits, or the columns of rankings (n, 3 + m)
    outputs: np.ndarray
    targets: np.ndarray  # (n,), or (n, C) of several labels a row


class TaskKind(ABC):
    """Interface of a kind of task: where its data are, how they are read, its trivial baselines, what is scored."""

    name: ClassVar[str]  # as stored
    description: ClassVar[str]  # as messages name a task of it
    reads_items: ClassVar[bool]  # whether a model must read items to learn it, not texts
    # Whether models are fine-tuned on it; else they are scored on it as they were pre-trained
    learned: ClassVar[bool] = True
    # Whether training texts may have noise (`finetune.noise`)
    takes_noise: ClassVar[bool] = False
    # Whether a row may have several classes, or none: labels are (n, C), 1 where it has one; an output above 0 is one
    multi_label: ClassVar[bool] = False
    baselines: ClassVar[Mapping[str, Callable[..., Any]]]  # trivial ones by their stored names
    # Baselines that need the word counts of the pre-training's corpora (argument `words` of `predictions`)
    reads_words: ClassVar[frozenset[str]] = frozenset()
    # Baselines that predict the same for every text
    constant_baselines: ClassVar[frozenset[str]] = frozenset()
    # Baselines that put their size in int8 under "bytes" into the dictionary `facts` of `predictions`
    sized_baselines: ClassVar[frozenset[str]] = frozenset()
    own_on_hub: ClassVar[bool] = False  # whether `own_task` takes data sets of the hub
    exported: ClassVar[bool] = True  # whether a model that learned a task of it can be written into a folder
    # Its block of the experiment file, whose key is the kind's name
    block: ClassVar[type[Strict] | None] = None
    block_help: ClassVar[str] = ""  # of what tasks the block speaks, for the list of keys

    @abstractmethod
    def batches(self, *arguments: Any, **options: Any) -> LoadedData:
        """Batches of the data for training and evaluations. A class that makes them may be assigned in its place."""

    @abstractmethod
    def takes(self, entry: TaskEntry) -> bool:
        """True where an entry of `tasks` describes a user-defined data set of this kind."""

    def own_task(self, entry: TaskEntry, base: Path) -> Task:
        """The task of a user-defined data set, its path relative to `base`; its files are listed, not read.

        One of the hub (`own_on_hub`) is listed when it is located.
        """
        raise NotImplementedError(f"{self.name} takes no entry of tasks")

    @abstractmethod
    def find_in(self, source: Source, task: Task) -> LocatedTask | None:
        """The task located in a source, None where the source has none of it. Raises InputError for a missing split."""

    def locate_own(self, task: Task, folder: Path) -> LocatedTask:
        """The task of a user-defined data set, located in its folder. Raises InputError where a file is gone."""
        raise NotImplementedError(f"{self.name} has no own data sets")

    @abstractmethod
    def files_of(self, task: Task) -> str:
        """The files in which a data folder would hold the task, as a message names them."""

    def locate(self, task: Task, sources: Sequence[Source]) -> LocatedTask:
        """The task located in the first source that has it; a user-defined data set in its folder.

        Raises:
            InputError: none has it, or the first that has it lacks a split.
        """
        if task.folder is not None:
            return self.locate_own(task, task.folder)
        for source in (Hub(),) if task.is_own else sources:
            if located := self.find_in(source, task):
                return located
        raise NotAtHand(
            f"task {task.name!r}: not in {names_of(sources)}; a data folder holds {self.files_of(task)}; "
            "add one: --data FOLDER"
        )

    def baselines_of(self, task: Task) -> list[str]:
        """The stored names of the trivial baselines that a task of this kind has."""
        return list(self.baselines)

    def checked_block(self, block: Strict, base: Path) -> Strict:
        """The kind's block of the experiment file in folder `base`, checked. Raises InputError for missing files."""
        return block

    def protocol_spec(self, task: Task) -> dict[str, Any]:
        """The part of a run's identity that comes from the kind's block, under the kind's name."""
        return {} if task.protocol is None else {self.name: task.protocol.model_dump()}

    def class_counts(self, split: Any, n_classes: int) -> np.ndarray | None:
        """How often each class (n_classes,) is a label of the split; None for labels that are no classes."""
        return None

    def targets(self, task: Task, split: Any) -> np.ndarray:
        """The targets (n,), or (n, C) of several labels a row, that a split's outputs are scored against."""
        labels: np.ndarray = split.labels
        return labels

    @abstractmethod
    def predictions(self, baseline: str, data: Any) -> dict[str, SplitOutputs]:
        """Predictions of a trivial baseline, and the targets, on each split that is evaluated."""

    def tokenized_parts(self, data: Any) -> tuple[Any, dict[str, np.ndarray]]:
        """The data with each text that is tokenized by itself as one, and where the parts of each text begin.

        Offsets (n + 1,) by split; here a text is one part.
        """
        return data, {split: np.arange(len(part) + 1) for split, part in data.splits.items()}

    def stored_outputs(self, data: Any) -> dict[str, tuple[int, int]]:
        """Rows and columns (n, c) of the outputs that a run stores of each evaluated split; {}: only runs know them."""
        return {}

    @abstractmethod
    def scores(self, task: Task, result: SplitOutputs) -> list[MetricRow]:
        """All scores of the outputs on a split that are stored; the rows do not name the split yet."""
