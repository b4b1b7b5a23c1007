"""The kind of task of minimal pairs: which of two sentences a pre-trained model takes for the better one.

Models are not fine-tuned on it. Scored is whether the good sentence has the higher score (Warstadt et al. 2020), by the
sum over its tokens, their mean and their minimum; equal scores count one half.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from pydantic import Field

from hashbench.common.errors import InputError
from hashbench.common.measured import MetricRow
from hashbench.data.sources.files import FileTable, ReadOptions
from hashbench.data.sources.layout import FORMATS_TEXT, SPLITS, find_splits, named_splits
from hashbench.data.sources.sources import Place, Source
from hashbench.data.tasks.base import SplitOutputs, Task, TaskKind
from hashbench.data.tasks.blocks import Strict, TaskEntry
from hashbench.data.tasks.pairs import SPLIT, LocatedPairs, PairData, PairTask
from hashbench.models.text.types import TypeTable
from hashbench.models.text.words import WordTokenizer
from hashbench.scores.base import evaluate, metrics
from hashbench.scores.pairs import METRICS, outcomes

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
        folder = (base / Path(entry.path).expanduser()).absolute()
        task = PairTask(
            name=entry.name,
            kind=self,
            text=tuple(entry.text),
            label=entry.label if "label" in entry.model_fields_set else "",
            metrics=tuple(dict.fromkeys((entry.metric, *(metric.name for metric in METRICS)))),
            select_metric=entry.metric,
            select_splits=(SPLIT,),
            report_splits=(SPLIT,),
            folder=folder,
            reading=ReadOptions(entry.delimiter, None, entry.on_bad_lines == "skip"),
            files=None if entry.splits is None else {str(split): name for split, name in entry.splits.items()},
            max_rows=entry.max_rows,
        )
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
        """A trivial baseline's outcomes (n, 5) and the paradigms; `words`: those of the corpora with their counts."""
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
