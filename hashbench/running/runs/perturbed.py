"""Texts for `robustness`: a task's under seeded noise, and a user's table of texts, each with another form of it.

The table has the columns of the task, the column `perturbed` (of a task of two texts `perturbed_COLUMN` for each), and
`kind`, as "ocr". Texts and forms are read as a further set of the task each, with the classes of its training.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from hashbench.common.errors import InputError, located
from hashbench.common.progress import progress
from hashbench.common.showing import SHOWN_CHARACTERS
from hashbench.data.perturbations.base import WORD, counted, n_words, perturbations
from hashbench.data.perturbations.letters import seen_among, with_forms
from hashbench.data.sources.files import DataTable
from hashbench.data.sources.fingerprints import digest
from hashbench.data.sources.sources import SourceKind
from hashbench.data.tasks.base import CheckedData, LocatedTask, Task
from hashbench.data.tasks.text import cells_as_texts
from hashbench.data.tasks.text_data import Split, TaskData
from hashbench.models.text.types import TypeTable
from hashbench.models.text.words import WordTokenizer
from hashbench.results.read.robustness import FEW_ROWS, few_rows
from hashbench.running.experiment.load import Loaded
from hashbench.running.experiment.resolved import ResolvedExperiment
from hashbench.running.runs.further_sets import PAIRS, FurtherSet, find_set, further_set, with_classes

KIND_COLUMN, FORM_COLUMN = "kind", "perturbed"
LONGEST_KIND = 40  # characters of the name of a kind, which heads a column of tables
UNPERTURBED = ""  # the label of texts as they are
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


@dataclass(frozen=True)
class PerturbedTask:
    """A task whose splits are its reporting sets under each perturbation, and facts about these texts."""

    data: TaskData
    # Split of `data` -> (reporting set, label: "" or "swap=0.05")
    parts: dict[str, tuple[str, str]]
    facts: dict[tuple[str, str], float]  # (name, label) -> a share or a count

    def labels(self) -> list[str]:
        """The labels of perturbations, as "swap=0.05", each once; first the empty one of unperturbed texts."""
        return list(dict.fromkeys(label for _, label in self.parts.values()))

    def splits_of(self, label: str) -> list[str]:
        """Names of the splits of `data` whose texts have a perturbation, given by its label."""
        return [name for name, (_, split_label) in self.parts.items() if split_label == label]


def perturb_task(
    data: TaskData, settings: Mapping[str, Any], corpus: TypeTable | None, pairs: TaskData | None = None
) -> PerturbedTask:
    """The task under each perturbation and rate of `settings` (perturbations, rates with 0, seed), and its pairs.

    `corpus`: types of the words that a pre-training saw; None where there is none. `pairs`: the user's texts with other
    forms of them, which count under the first reporting set, with the labels "KIND=0" and "KIND=1".
    """
    reported = data.task.report_splits
    seen = None if corpus is None else _seen(data, corpus)
    splits: dict[str, Split] = {}
    parts: dict[str, tuple[str, str]] = {}
    changed: dict[str, int] = {}
    rates = [rate for rate in settings["rates"] if rate > 0]
    for split in reported:
        splits[split], parts[split] = data.splits[split], (split, UNPERTURBED)
        for kind in settings["perturbations"]:
            progress(f"perturbing {split}", step=False)
            for rate, (texts, n) in _columns_at(data.splits[split], kind, rates, settings["seed"], seen).items():
                label = f"{kind}={rate:g}"
                changed[label] = changed.get(label, 0) + n
                splits[f"{split}~{label}"] = replace(data.splits[split], texts=texts)
                parts[f"{split}~{label}"] = (split, label)
    for label, rows in ({} if pairs is None else pairs.splits).items():
        splits[f"{PAIRS}~{label}"], parts[f"{PAIRS}~{label}"] = rows, (reported[0], label)
    key = json.dumps([settings, None if corpus is None else corpus.fingerprint], sort_keys=True, default=list)
    task = replace(data.task, select_splits=(), report_splits=tuple(splits))
    perturbed_data = replace(data, task=task, splits=splits, fingerprint=digest("perturbed", data.fingerprint, key))
    perturbed_task = PerturbedTask(perturbed_data, parts, {})
    facts = _facts(perturbed_task, corpus, changed) | ({} if pairs is None else _pair_facts(pairs))
    return replace(perturbed_task, facts=facts)


def _pair_facts(pairs: TaskData) -> dict[tuple[str, str], float]:
    """Numbers about pairs under the label of each kind's forms: rows, and those with a form equal to the text."""
    facts: dict[tuple[str, str], float] = {}
    for kind, equal in equal_texts(pairs.splits).items():
        label = label_of(kind, FORM)
        facts["pair_rows", label], facts["pair_rows_equal", label] = len(pairs.splits[label]), equal
    return facts


def _columns_at(
    split: Split, kind: Any, rates: Sequence[float], seed: int, seen: frozenset[str] | None
) -> dict[float, tuple[tuple[list[str], ...], int]]:
    """The text columns of a split under a perturbation, and the number of words that it changed, by its rate."""
    columns_at: dict[float, list[list[tuple[str, int]]]] = {rate: [] for rate in rates}
    for column in split.texts:
        rows = [counted(text, kind, rates, seed=seed, seen=seen) for text in column]
        for place, rate in enumerate(rates):
            columns_at[rate].append([row[place] for row in rows])
    return {
        rate: (tuple([text for text, _ in rows] for rows in columns), sum(n for rows in columns for _, n in rows))
        for rate, columns in columns_at.items()
    }


def _seen(data: TaskData, corpus: TypeTable) -> frozenset[str]:
    """The words of the reporting sets, and their forms, that occur in the corpus."""
    texts = (text for split in data.task.report_splits for column in data.splits[split].texts for text in column)
    words = frozenset(word.lower() for text in texts for word in WORD.findall(text))
    return seen_among(with_forms(words), corpus)


def _facts(
    perturbed_task: PerturbedTask, corpus: TypeTable | None, n_changed: Mapping[str, int]
) -> dict[tuple[str, str], float]:
    """Numbers about the texts under each label: words, share of changed words, shares of unseen tokens and types.

    `n_changed`: words that a perturbation changed, by its label.
    """
    facts: dict[tuple[str, str], float] = {}
    splits = perturbed_task.data.splits
    plain = [text for split in perturbed_task.splits_of(UNPERTURBED) for text in _texts(splits[split])]
    total = sum(map(n_words, plain))
    facts["words", UNPERTURBED] = total
    for label in perturbed_task.labels():
        texts = [text for split in perturbed_task.splits_of(label) for text in _texts(splits[split])]
        if label in n_changed and total:
            facts["words_changed", label] = n_changed[label] / total
        if corpus is not None and texts:
            facts["unseen_tokens", label], facts["unseen_types", label] = _unseen(texts, corpus)
    return facts


def _unseen(texts: Sequence[str], corpus: TypeTable) -> tuple[float, float]:
    """Shares of the texts' tokens and of their types (words and punctuation) that the corpus does not have."""
    interner = WordTokenizer().interner()
    interner.add(list(texts))
    types, _ = interner.finish()
    if not len(types):
        return 0.0, 0.0
    strings = types.strings()
    seen = seen_among(frozenset(strings), corpus)
    missing = [i for i, string in enumerate(strings) if string not in seen]
    return float(types.counts[missing].sum() / types.counts.sum()), len(missing) / len(types)


def _texts(split: Split) -> list[str]:
    return [text for column in split.texts for text in column]
