"""The texts and labels of a task's splits; rows that are held out of train, or drawn as a sample.

A user-defined data set is a folder with train, perhaps validation and test (`sources/layout.py` says in which files).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hashbench.common.errors import InputError
from hashbench.data.sources.files import FileTable
from hashbench.data.sources.fingerprints import digest
from hashbench.data.sources.labels import listed
from hashbench.data.sources.layout import find_splits, named_splits
from hashbench.data.sources.mapped import taken
from hashbench.data.sources.sources import LABEL_NAMES, SourceKind
from hashbench.data.sources.text_tables import FORMATS_TEXT, PLAIN, ReadOptions, check_file
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.blocks import BY_ROWS
from hashbench.data.tasks.holding_out import Contained, drawn_groups, drawn_rows, lost_classes, order_by_chance
from hashbench.models.text.tags import words_of
from hashbench.scores.base import find_metric

HOLDOUT = "holdout"  # a seeded tenth of train, where there is no validation split


@dataclass(frozen=True)
class Split:
    """Texts and labels of one split."""

    texts: tuple[Sequence[str], ...]  # one for each text column: a list, or mapped where it is large
    labels: np.ndarray  # (n,) int64 class ids, or float32 values; (n, C) uint8 of several labels a row

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: np.ndarray) -> Split:
        """The rows (k,), in the order given."""
        return Split(tuple(taken(column, rows) for column in self.texts), self.labels[rows])


@dataclass(frozen=True)
class TaskData:
    """A task with the texts and labels of its splits."""

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

    @property
    def counted(self) -> dict[str, str]:
        """The class that a metric counts, by metric, for metrics that count one of two classes, as f1."""
        classes = {name: find_metric(name).counted_class for name in self.task.metrics}
        return {name: self.label_names[number] for name, number in classes.items() if number is not None}

    @property
    def further_notes(self) -> dict[str, str]:
        """Further notes on the data for tables, by topic."""
        return {}

    def with_held_out_rows(self) -> TaskData:
        """A copy with the rows of split `holdout` put back into train."""
        kept, held = self.splits["train"], self.splits[HOLDOUT]
        texts = tuple([*first, *second] for first, second in zip(kept.texts, held.texts, strict=True))
        return self.with_train(Split(texts, np.concatenate([kept.labels, held.labels])), "with held-out rows")

    def with_train(self, train: Split, what: str) -> TaskData:
        """A copy with another train set, and so another fingerprint; `what`: which one, in words."""
        splits = {**self.splits, "train": train}
        return replace(self, splits=splits, fingerprint=digest(self.fingerprint, "train", what))

    def on_rows(self, number: int, seed: int) -> TaskData:
        """A copy with so many rows of train, drawn by a seed. If a tenth of train selects, a tenth of these rows does.

        Raises InputError for as many rows as there are, or more.
        """
        holds_out = reports_elsewhere(self.task)  # else the held-out rows are reported, and stay
        whole = self.with_held_out_rows() if holds_out else self
        train = whole.splits["train"]
        if number >= len(train):
            raise InputError(
                f"task {self.task.name}: train has {len(train):,} rows, train_rows asks for {number:,}; give fewer, or "
                f"leave it out on this task (finetune.per_task.{self.task.name}.train_rows)"
            )
        rows = np.sort(rows_in_order(train.labels, seed)[:number])
        drawn = whole.with_train(train.take(rows), f"{number} by {seed}")
        note = f"train rows: {number:,} of {len(train):,}, drawn by each run's seed"
        drawn = replace(drawn, notes=(*self.notes, note))
        if not holds_out:
            return drawn
        parts = hold_out(self.task, drawn.splits["train"], seed=0)
        return replace(drawn, splits={**drawn.splits, "train": parts.kept, HOLDOUT: parts.held})

    def held_out(self, seed: int = 0) -> TaskData:
        """A copy in which a seeded tenth of train, as split `holdout`, replaces the evaluation splits."""
        parts = hold_out(self.task, self.splits["train"], seed)
        task = replace(self.task, select_splits=(HOLDOUT,), report_splits=(HOLDOUT,))
        splits = {"train": parts.kept, HOLDOUT: parts.held}
        rule = () if self.task.hold_out == BY_ROWS else (self.task.hold_out,)
        fingerprint = digest(self.fingerprint, HOLDOUT, str(seed), *rule)
        notes = (f"searched on {parts.shown}", *parts.notes(self.label_names))
        return replace(self, task=task, splits=splits, fingerprint=fingerprint, notes=notes)


def by_word(data: TaskData) -> TaskData:
    """The data with each word as one text, the space before it included."""
    splits = {}
    for name, part in data.splits.items():
        words = [word if at == 0 else f" {word}" for text in part.texts[0] for at, word in enumerate(words_of(text))]
        splits[name] = Split((words,), np.zeros(len(words), np.int64))
    return replace(data, splits=splits, fingerprint=digest("words", data.fingerprint))


def rows_in_order(labels: np.ndarray, seed: int) -> np.ndarray:
    """All rows (n,) in an order drawn by a seed, of which every beginning has the classes in their proportions.

    `labels` (n,): integers are classes; others are one class. Of the n_c rows of a class the j-th in a random order has
    the place (j + 1/2) / n_c, so that of the first m rows m n_c / n are of the class, give or take one.

    Of several labels a row, (n, C), a row's class is the rarest of its labels, as that of iterative stratification
    (Sechidis et al. 2011), which gives out the rarest label first; rows without a label are one class. Many such
    classes have few rows, so 1/2 is a random number there, one a class: else a beginning would lack all rare ones.
    """
    n = len(labels)
    random = np.random.RandomState([seed, n])
    order = random.permutation(n)
    is_class = np.issubdtype(labels.dtype, np.integer)
    classes = rarest_labels(labels) if labels.ndim == 2 else labels if is_class else np.zeros(n, np.int64)
    classes = classes[order]
    places = np.empty(n)
    for label in np.unique(classes):
        rows = np.flatnonzero(classes == label)
        offset = random.random_sample() if labels.ndim == 2 else 0.5
        places[rows] = (np.arange(len(rows)) + offset) / len(rows)
    return order[np.argsort(places, kind="stable")]


def rarest_labels(labels: np.ndarray) -> np.ndarray:
    """The rarest of the labels of each row, (n, C) with 1 where it has one -> (n,); -1 for none.

    >>> rarest_labels(np.array([[1, 1], [1, 0], [0, 0]])).tolist()
    [1, 0, -1]
    """
    order = np.argsort(labels.sum(axis=0, dtype=np.int64), kind="stable")  # the rarest first
    rarest: np.ndarray = np.where(labels.any(axis=1), order[labels[:, order].argmax(axis=1)], -1)
    return rarest


def sample_note(task: Task, rows: Mapping[str, int | None]) -> str:
    """A note on splits with another number of rows than the published data set, "" where there are none.

    `rows`: None where only reading would tell.
    """
    sampled = [
        f"{split} {n:,} of {official:,} rows"
        for split, official in task.official_rows.items()
        if (n := rows.get(split)) is not None and n != official
    ]
    return f"sample: {', '.join(sampled)}" if sampled else ""


def sample_rows(splits: Mapping[str, Split], most: int | None) -> tuple[dict[str, Split], list[str]]:
    """The splits with at most `most` rows each, drawn by a fixed seed and in their order, and a note on those cut."""
    kept, sampled = dict(splits), []
    for name, split in splits.items():
        if most is not None and len(split) > most:
            rows = np.random.RandomState([most, len(split)]).permutation(len(split))[:most]
            kept[name] = split.take(np.sort(rows))
            sampled.append(f"{name} {most:,} of {len(split):,} rows")
    return kept, [f"sample: {', '.join(sampled)}"] if sampled else []


@dataclass(frozen=True)
class HeldOut:
    """Train without the rows that are held out, and these; both in the order of the rows."""

    kept: Split
    held: Split
    lying: int  # held-out rows that equal a row that is kept, or lie in one
    lost: tuple[int, ...]  # ids of classes that only held-out rows have

    @property
    def shown(self) -> str:
        """The held-out rows in words, with the share of its rows that lie in rows of train."""
        n = len(self.held)
        share = f"{self.lying:,} ({100 * self.lying / n:.1f} %)"
        return f"a seeded tenth of train ({n:,} row{'' if n == 1 else 's'}), of which {share} lie in rows of train"

    def notes(self, names: Sequence[str]) -> list[str]:
        """A note on classes that train has lost, or none. `names`: of the classes by their ids."""
        lost = [repr(names[number]) for number in self.lost]
        return [f"all rows of these classes are held out, so that training sees none: {listed(lost)}"] if lost else []


def hold_out(task: Task, train: Split, seed: int = 0) -> HeldOut:
    """Train as nine tenths and a tenth, chosen by the seed and the rule of the task (`holding_out.py`).

    Raises:
        InputError: too few rows.
    """
    n = len(train)
    if n < 2:
        raise InputError(f"train has {n} row; a tenth of it cannot be held out, so give a validation split")

    def count(rows: np.ndarray) -> np.ndarray | None:
        return task.kind.class_counts(train.take(rows), len(task.label_names))

    # Rows with one class each are drawn by chance alone, as stored runs have it
    order = rows_in_order(train.labels, seed) if task.kind.multi_label else order_by_chance(n, seed)
    contained = Contained.of(train.texts)
    held = drawn_rows(order) if task.hold_out == BY_ROWS else drawn_groups(contained, order, count)
    kept, lost = np.flatnonzero(~held), tuple(lost_classes(held, count).tolist())
    return HeldOut(train.take(kept), train.take(np.flatnonzero(held)), contained.lying_in(held), lost)


def with_splits(task: Task, splits: Collection[str]) -> Task:
    """The task as these splits allow: selected on validation or a seeded tenth of train, reported on test if possible.

    Published rows of a missing validation split are expected among the rows of train.
    """
    select = "validation" if "validation" in splits else HOLDOUT
    rows = dict(task.official_rows)
    if select == HOLDOUT and "validation" in rows:
        rows["train"] += rows.pop("validation")
    report = ("test",) if "test" in splits else (select,)
    return replace(task, select_splits=(select,), report_splits=report, official_rows=rows)


def reports_elsewhere(task: Task) -> bool:
    """True where rows of train are held out to select on, and others are reported on."""
    return HOLDOUT in task.select_splits and HOLDOUT not in task.report_splits


def own_tables(
    folder: Path, where: str, reading: ReadOptions = PLAIN, files: Mapping[str, str] | None = None
) -> tuple[dict[str, FileTable], tuple[str, ...]]:
    """The table of each split of a user-defined data set, and notes on files that look like a split and are not read.

    `files`: of the splits, where they are named. Raises InputError where it is not plain which files hold a split.
    """
    if not folder.exists():
        raise InputError(f"{where}: no folder {folder}; check path (it is relative to the experiment file)")
    if not folder.is_dir():
        raise InputError(f"{where}: {folder} is a file; path is the folder that holds train ({FORMATS_TEXT})")
    listing = find_splits(folder) if files is None else named_splits(folder, files)
    if "train" not in listing.files:
        there = f"; {'; '.join(listing.notes)}" if listing.notes else ""
        raise InputError(f"{folder}: no train split; put a train file there ({FORMATS_TEXT}, .conll){there}")
    return {split: FileTable(paths, reading) for split, paths in listing.files.items()}, listing.notes


def label_names(path: Path | None) -> tuple[str, ...]:
    """The names in a file label_names.json; none where there is no such file."""
    if path is None:
        return ()
    check_file(path)
    try:
        names = json.loads(path.read_text("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8; write it in UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f'{path}: is not JSON; it holds a list of names, ["no", "yes"]') from error
    is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not is_list or len({name.strip() for name in names}) < len(names):
        raise InputError(f'{path}: is not a list of different names; it looks like ["no", "yes"]')
    return tuple(name.strip() for name in names)


def unread_label_names(folder: Path, read: Path | None) -> list[str]:
    """A note on files in a folder, or in one of its folders, that are named like label_names.json and are not read."""
    there = sorted(path for pattern in ("*", "*/*") for path in folder.glob(pattern))
    unread = [
        str(path.relative_to(folder))
        for path in there
        if path != read and re.sub(r"[^a-z]", "", path.name.lower()).startswith("labelnames")
    ]
    return [f"not read: {', '.join(unread)} (names of classes are in {LABEL_NAMES} beside train)"] if unread else []
