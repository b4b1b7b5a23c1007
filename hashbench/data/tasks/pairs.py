"""Minimal pairs: a good and a bad sentence in each row, and the paradigm that it belongs to; their tables and data.

Paradigms may belong to groups of several levels, which are further columns. A set has one split, which is scored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hashbench.common.errors import InputError
from hashbench.common.invisible import invisible_notes
from hashbench.common.measured import PARADIGMS_NOTE, Paradigms
from hashbench.data.sources.files import Cells, DataTable
from hashbench.data.sources.fingerprints import digest, refuse_changed
from hashbench.data.sources.hub import SHORT_COMMIT, HubTable
from hashbench.data.sources.rows import plain, row_notes
from hashbench.data.sources.sources import SourceKind
from hashbench.data.tasks.base import CheckedData, Task
from hashbench.data.tasks.text_data import Split, TaskData
from hashbench.models.text.normal_forms import form_notes
from hashbench.models.text.words import WordTokenizer

SPLIT = "test"
ONE_PARADIGM = "all pairs"  # the paradigm of a set without a column of them


@dataclass(frozen=True)
class PairTask(Task):
    """A task of minimal pairs: its columns of good and bad sentences, of paradigms ("": none), and of their groups."""

    groups: Mapping[str, str] = field(default_factory=dict)  # level -> column
    renamed: Mapping[str, str] = field(default_factory=dict)  # name of a group in the files -> its name here

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read: sentences, paradigms, groups."""
        return tuple(dict.fromkeys((*self.text, *([self.label] if self.label else []), *self.groups.values())))


@dataclass(frozen=True)
class PairData(TaskData):
    """Minimal pairs: the texts of the one split are the good and the bad sentences, its labels paradigms (n,)."""

    paradigms: Paradigms = Paradigms((), {}, ())

    @property
    def further_notes(self) -> dict[str, str]:
        """The paradigms with their groups."""
        return {PARADIGMS_NOTE: self.paradigms.note()}

    def by_sentence(self) -> TaskData:
        """The sentences as texts by themselves: the good ones, then the bad ones."""
        good, bad = self.pairs.texts
        split = Split(([*good, *bad],), np.concatenate([self.pairs.labels] * 2))
        return TaskData(self.task, {SPLIT: split}, digest("sentences", self.fingerprint), self.origin, self.kind)

    @property
    def pairs(self) -> Split:
        """The sentences and paradigms of all pairs."""
        return self.splits[SPLIT]


@dataclass(frozen=True)
class LocatedPairs:
    """A task of minimal pairs and the table that holds it, not read yet."""

    task: PairTask
    table: DataTable
    origin: str
    kind: SourceKind
    unread: tuple[str, ...] = ()  # notes on files that are not read

    @property
    def tables(self) -> dict[str, DataTable]:
        """The one table."""
        return {SPLIT: self.table}

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the table, the columns that are read, and what is kept of the rows."""
        task = self.task
        groups = [f"{level} {column}" for level, column in sorted(task.groups.items())]
        more = [] if task.max_rows is None else [f"max_rows {task.max_rows}"]
        more += [] if task.protocol is None else [f"protocol {task.protocol.model_dump_json()}"]
        return digest("pairs", self.table.fingerprint(), *task.text, task.label, *groups, *more)

    def checked_items(self) -> CheckedData:
        """Notes on the pairs, which are read so that a wrong row is found."""
        return CheckedData(notes=self.load().notes)

    def load(self) -> PairData:
        """The pairs, read from the table.

        Raises:
            InputError: a file that is no table, a missing column, an empty sentence, a paradigm in two groups.
        """
        task, where, odd = self.task, self.table.where, list(self.unread)
        cells = self.table.read(task.columns, odd)
        good, bad = (_sentences(cells[name], f"{where}: column {name!r}") for name in task.text)
        named = (
            _names(cells[task.label], f"{where}: column {task.label!r}") if task.label else [ONE_PARADIGM] * len(good)
        )
        names = tuple(sorted(set(named)))
        groups = {
            level: _group_of_each(
                names, named, _names(cells[column], f"{where}: column {column!r}"), task, level, where
            )
            for level, column in task.groups.items()
        }
        numbers = {name: number for number, name in enumerate(names)}
        split = Split((good, bad), np.array([numbers[name] for name in named], np.int64))
        paradigms = Paradigms(names, groups, _hold_same_words(split, len(names)))
        split, sampled = _sample(split, task)
        notes = (*odd, *sampled, *_notes(split, paradigms))
        refuse_changed(self, where)
        return PairData(task, {SPLIT: split}, self.fingerprint, self._copy_read(), self.kind, notes, paradigms)

    def _copy_read(self) -> str:
        """The origin, with the commit of a data set of the hub."""
        at = self.table
        return f"{self.origin}@{at.copy().revision[:SHORT_COMMIT]}" if isinstance(at, HubTable) else self.origin


def _sentences(cells: Cells, where: str) -> list[str]:
    for row, cell in enumerate(cells, start=1):
        if not isinstance(cell, str) or not cell.strip():
            what = "an empty sentence" if cell is None or isinstance(cell, str) else f"{type(cell).__name__}, not text"
            raise InputError(f"{where}: row {row}: {what}; a pair has a good and a bad sentence")
    return [str(cell) for cell in cells]


def _names(cells: Cells, where: str) -> list[str]:
    for row, cell in enumerate(cells, start=1):
        if cell is None or not str(cell).strip():
            raise InputError(f"{where}: row {row}: is empty; name the group of every pair")
    return [str(cell).strip() for cell in cells]


def _group_of_each(
    names: Sequence[str], paradigms: Sequence[str], cells: Sequence[str], task: PairTask, level: str, where: str
) -> tuple[str, ...]:
    """The group of each named paradigm at one level, from the paradigm and the group of each row."""
    group_of: dict[str, str] = {}
    for row, (paradigm, cell) in enumerate(zip(paradigms, cells, strict=True), start=1):
        group = task.renamed.get(cell, cell)
        if group_of.setdefault(paradigm, group) != group:
            both = f"{group_of[paradigm]!r} and {group!r}"
            raise InputError(f"{where}: row {row}: paradigm {paradigm!r} is of {level} {both}; name one of them")
    return tuple(group_of[name] for name in names)


def _hold_same_words(pairs: Split, n_paradigms: int) -> tuple[bool, ...]:
    """Of each paradigm whether all of its pairs hold the same words on both sides, in another order."""
    words = WordTokenizer().tokenize
    same = np.array([sorted(words(good)) == sorted(words(bad)) for good, bad in zip(*pairs.texts, strict=True)])
    others = np.bincount(pairs.labels[~same], minlength=n_paradigms)
    return tuple((others == 0).tolist())


def _sample(pairs: Split, task: PairTask) -> tuple[Split, list[str]]:
    """At most so many pairs of each paradigm as the experiment says, or of all of a user's set; and a note if cut."""
    block = task.protocol.model_dump() if task.protocol is not None else {"max_pairs": None}
    kept = np.arange(len(pairs))
    if (most := block["max_pairs"]) is not None:
        kept = np.concatenate(
            [_drawn(np.flatnonzero(pairs.labels == paradigm), most) for paradigm in np.unique(pairs.labels)]
        )
    if task.max_rows is not None:
        kept = _drawn(kept, task.max_rows)
    note = f"sample: {len(kept):,} of {len(pairs):,} pairs" + (f", at most {most:,} a paradigm" if most else "")
    return (pairs, []) if len(kept) == len(pairs) else (pairs.take(np.sort(kept)), [note])


def _drawn(rows: np.ndarray, most: int) -> np.ndarray:
    """At most so many of the rows (n,), drawn by a fixed seed: (k,)."""
    return np.random.RandomState([most, len(rows)]).permutation(rows)[:most]


def _notes(pairs: Split, paradigms: Paradigms) -> list[str]:
    equal = sum(good == bad for good, bad in zip(*pairs.texts, strict=True))
    nearly_equal = sum(plain(good) == plain(bad) for good, bad in zip(*pairs.texts, strict=True)) - equal
    notes = [f"{equal:,} pairs are twice the same sentence, which counts one half"] if equal else []
    notes += (
        [f"{nearly_equal:,} pairs are twice the same sentence but for case, blanks or invisible characters"]
        if nearly_equal
        else []
    )
    notes += row_notes({SPLIT: Split(pairs.texts, np.zeros(len(pairs), np.int64))})  # whatever their paradigms
    notes += [*form_notes({SPLIT: pairs.texts}), *invisible_notes({SPLIT: pairs.texts})]
    return notes + [f"{len(pairs):,} pairs of {len(paradigms.names):,} paradigms"]
