"""The kind of task of minimal pairs: which of two sentences a pre-trained model takes for the better one.

Models are not fine-tuned on it. Scored is whether the good sentence has the higher score (Warstadt et al. 2020), by the
sum over its tokens, their mean and their minimum; equal scores count one half.

A row of a set has a good and a bad sentence, and perhaps the paradigm that it belongs to. Paradigms may belong to
groups of several levels, which are further columns. A set has one split, which is scored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from pydantic import Field

from hashbench.common.errors import InputError
from hashbench.common.invisible import invisible_notes
from hashbench.common.measured import PARADIGMS_NOTE, MetricRow, Paradigms
from hashbench.data.sources.files import Cells, DataTable, FileTable
from hashbench.data.sources.fingerprints import digest, refuse_changed
from hashbench.data.sources.hub import HubTable, copy_read, hub_facts
from hashbench.data.sources.layout import SPLITS, find_splits, named_splits
from hashbench.data.sources.rows import plain, row_notes
from hashbench.data.sources.sources import Place, Source, SourceKind
from hashbench.data.sources.text_tables import FORMATS_TEXT, ReadOptions
from hashbench.data.tasks.base import CheckedData, SplitOutputs, Task, TaskKind
from hashbench.data.tasks.blocks import Strict, TaskEntry
from hashbench.data.tasks.text_data import Split, TaskData
from hashbench.models.text.normal_forms import form_notes
from hashbench.models.text.types import TypeTable
from hashbench.models.text.words import WordTokenizer
from hashbench.scores.base import evaluate, metrics
from hashbench.scores.minimal_pairs import METRICS, outcomes

COLLECTION = "minimal_pairs"  # the kind, and the folder in a data folder
COLUMNS = ("sentence_good", "sentence_bad")


class PairsBlock(Strict):
    """How much of the sets of minimal pairs is scored; the same for all models of an experiment."""

    max_pairs: int | None = Field(
        default=None, gt=0, description="pairs of each paradigm at most, drawn with a fixed seed; null: all"
    )


def shorter_sentence(words: Sequence[str]) -> tuple[float, float, float, float]:
    """Scores by which the sentence of fewer words is the better one, as the sum over words of -1 makes it."""
    return (-float(len(words)), -1.0, -1.0, float(len(words)))


def unigrams(words: Sequence[str], log_share: Callable[[str], float]) -> tuple[float, float, float, float]:
    """Scores by how frequent the words of a sentence are, whatever their order."""
    values = [log_share(word) for word in words] or [0.0]
    total = math.fsum(values)  # in any order the same
    return (total, total / len(values), min(values), float(len(words)))


class MinimalPairs(TaskKind):
    """The kind of pairs of a good and a bad sentence, which models score as they were pre-trained."""

    name = COLLECTION
    description = "a task of minimal pairs"
    reads_items = False
    learned = False
    exported = False
    own_on_hub = True
    block = PairsBlock
    block_help = "of tasks of minimal pairs"
    baselines = {"unigrams": unigrams, "shorter-sentence": shorter_sentence}
    reads_words = frozenset({"unigrams"})

    def batches(self, *arguments: Any, **options: Any) -> NoReturn:
        """Raises TypeError: no model is trained on minimal pairs."""
        raise TypeError(f"{self.name}: models are scored on it, not trained")

    def takes(self, entry: TaskEntry) -> bool:
        return entry.links is None and entry.metric in metrics("pairs")

    def own_task(self, entry: TaskEntry, base: Path) -> PairTask:
        """The task of a user-defined set: a test file with a column of good sentences and one of bad ones."""
        where = f"task {entry.name!r}"
        if isinstance(entry.text, str) or len(set(entry.text)) < 2:
            raise InputError(f"{where}: text names two columns, of the good and of the bad sentence: text: [good, bad]")
        if entry.labels or entry.positive:
            raise InputError(f"{where}: minimal pairs have no classes; leave labels and positive out")
        task = PairTask(
            name=entry.name,
            kind=self,
            text=tuple(entry.text),
            label=entry.label if "label" in entry.model_fields_set else "",
            metrics=tuple(dict.fromkeys((entry.metric, *(metric.name for metric in METRICS)))),
            select_metric=entry.metric,
            select_splits=(SPLIT,),
            report_splits=(SPLIT,),
            hub=entry.hub_place(),
            max_rows=entry.max_rows,
        )
        if entry.path is None:
            return task
        folder = (base / Path(entry.path).expanduser()).absolute()
        reading = ReadOptions(entry.delimiter, None, entry.on_bad_lines == "skip")
        files = None if entry.splits is None else {str(split): name for split, name in entry.splits.items()}
        task = replace(task, folder=folder, reading=reading, files=files)
        self.locate_own(task, folder)
        return task

    def find_in(self, source: Source, task: Task) -> LocatedPairs | None:
        assert isinstance(task, PairTask)
        located = source.find_tables(Place(task.home, {SPLIT: SPLITS[SPLIT]}, task.hub))
        if located is None:
            return None
        # On the hub the one split may have any name.
        table = next(iter(located.tables.values()), None)
        if table is None:
            raise InputError(f"{located.where}: no {SPLIT} split; put a {SPLIT} file there ({FORMATS_TEXT})")
        if task.is_own and isinstance(table, HubTable):
            task = replace(task, hub=table.place)
        return LocatedPairs(task, table, located.origin, located.kind, located.notes)

    def locate_own(self, task: Task, folder: Path) -> LocatedPairs:
        assert isinstance(task, PairTask)
        if not folder.is_dir():
            what = "is a file; path is the folder that holds it" if folder.is_file() else "no such folder; check path"
            raise InputError(f"task {task.name!r}: {folder}: {what} (it is relative to the experiment file)")
        listing = find_splits(folder) if task.files is None else named_splits(folder, task.files)
        if SPLIT not in listing.files:
            there = f" ({', '.join(listing.files)} is there)" if listing.files else ""
            remedy = f"name the file of the pairs {SPLIT}.csv, or write splits: {{{SPLIT}: FILE}}"
            raise InputError(f"{folder}: no {SPLIT} split{there}; {remedy}")
        table = FileTable(listing.files[SPLIT], task.reading)
        unread = [f"not read: {split} (minimal pairs are in {SPLIT})" for split in listing.files if split != SPLIT]
        return LocatedPairs(task, table, f"own data set {folder.name}", "own", (*listing.notes, *unread))

    def files_of(self, task: Task) -> str:
        return f"{task.home}/{SPLIT}.parquet"

    def predictions(self, baseline: str, data: PairData, words: TypeTable | None = None) -> dict[str, SplitOutputs]:
        """A trivial baseline's outcomes (n, 5) and the paradigms; `words`: the corpora's, with their counts."""
        score: Callable[..., Sequence[float]] = self.baselines[baseline]
        arguments = (_log_shares(words),) if baseline in self.reads_words and words is not None else ()
        read = WordTokenizer().tokenize
        good, bad = ([score(read(text), *arguments) for text in texts] for texts in data.pairs.texts)
        return {SPLIT: SplitOutputs(pair_outcomes(data, np.array(good), np.array(bad)), data.pairs.labels)}

    def scores(self, task: Task, result: SplitOutputs) -> list[MetricRow]:
        return list(evaluate(task.metrics, result.targets, result.outputs).values())


def pair_outcomes(data: PairData, good: np.ndarray, bad: np.ndarray) -> np.ndarray:
    """The stored outputs (n, 5) of pairs whose sentences have these scores (n, 4): sum, mean, minimum, tokens."""
    return outcomes(good, bad, np.array(data.paradigms.same_words)[data.pairs.labels])


def _log_shares(words: TypeTable) -> Callable[[str], float]:
    """The function from a word to the logarithm of its share of a corpus, each word counted once more than it occurs.

    What does not occur has the share of one that never did.
    """
    total = float(np.sum(words.counts) + len(words) + 1)
    logs = dict(zip(words.strings(), np.log((np.asarray(words.counts) + 1.0) / total).tolist(), strict=True))
    unseen = float(-np.log(total))
    return lambda word: logs.get(word, unseen)


KIND = MinimalPairs()


def pair_task(name: str, **columns: Any) -> PairTask:
    """A named task of minimal pairs in minimal_pairs/NAME of a data folder; `columns`: as of a PairTask."""
    task = PairTask(
        name=name,
        kind=KIND,
        text=COLUMNS,
        label="",
        metrics=tuple(metric.name for metric in METRICS),
        select_metric=METRICS[0].name,
        select_splits=(SPLIT,),
        report_splits=(SPLIT,),
        collection=COLLECTION,
    )
    return replace(task, **columns)


SPLIT = "test"
ONE_PARADIGM = "all pairs"  # the paradigm of a set without a column of paradigms


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
        facts = hub_facts([self.table])
        notes = (*odd, *([facts] if facts else []), *sampled, *_notes(split, paradigms))
        refuse_changed(self, where)
        return PairData(
            task, {SPLIT: split}, self.fingerprint, copy_read(self.origin, self.table), self.kind, notes, paradigms
        )


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
    """For each paradigm whether all its pairs hold the same words on both sides, in another order."""
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
