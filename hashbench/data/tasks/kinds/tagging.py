"""The kind of task of words with tags: named entities, slots, parts of a text (token classification).

The data hold a list of words and a list of tags a row (parquet, JSONL), or have CoNLL's form. A label of a row is
the ids of its words' tags. A text is its words joined by a space, so noise leaves every tag with its word: it changes
letters of words and neither adds nor removes one. A blank within a word becomes a no-break space.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hashbench.common.errors import InputError, located, near_match
from hashbench.data.sources.class_labels import joined_labels, refuse_all_unseen, unseen_note
from hashbench.data.sources.feature_names import refuse_repeated
from hashbench.data.sources.files import Cells
from hashbench.data.sources.labels import Classes, UnseenLabels, apart, variant_key
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.text import TextKind
from hashbench.data.tasks.text_data import Split, TaskData, by_word
from hashbench.models.text.tags import NO_WORD, OUTSIDE, SCHEME, TAG, TagScheme, iobes, words_of
from hashbench.models.text.unicode import offsets_from

if TYPE_CHECKING:
    from hashbench.data.tasks.text_batches import FinetuningData
    from hashbench.models.coders.base import Coder
    from hashbench.models.text.base import Tokenizer

# What to do about tags without names
TAGS_REMEDY = "name the tags in label_names.json, or in the entry's key labels"
TAG_CHARACTERS = 40  # characters of a wrong cell that a message repeats
NO_BREAK = "\u00a0"
COUNTS = 2 * 4  # columns of float32 as large as the four counts in int64 that outputs are


def most_frequent_tag(data: TaskData, splits: Sequence[str], *, for_test: bool = False) -> dict[str, np.ndarray]:
    """Counts of spans (n, 4) of each split where each word gets its most frequent tag in train.

    A word that train lacks gets the most frequent tag of all.
    """
    tags_of: dict[str, Counter[int]] = defaultdict(Counter)
    train = data.splits["train"]
    for text, tags in zip(train.texts[0], train.labels, strict=True):
        for word, tag in zip(words_of(text), tags, strict=True):
            tags_of[word][tag] += 1
    best = {word: min(counts, key=lambda tag: (-counts[tag], tag)) for word, counts in tags_of.items()}
    overall: Counter[int] = sum(tags_of.values(), Counter())
    usual = min(overall, key=lambda tag: (-overall[tag], tag))
    counts_of_splits = {}
    for split in splits:
        part = data.splits[split]
        predicted = [tuple(best.get(word, usual) for word in words_of(text)) for text in part.texts[0]]
        counts_of_splits[split] = TagScheme(data.label_names).counts(padded(part.labels), padded(predicted))[:, 1:]
    return counts_of_splits


def padded(tags: Sequence[tuple[int, ...]] | np.ndarray) -> np.ndarray:
    """Ids of tags of each row -> (n, W), filled up with NO_WORD."""
    table = np.full((len(tags), max(1, max(map(len, tags), default=1))), NO_WORD, np.int64)
    for row, ids in enumerate(tags):
        table[row, : len(ids)] = ids
    return table


class Tagging(TextKind):
    """The kind of words with tags. Labels are tuples of tag ids (n,), one a word; scored are counts of spans (n, 4)."""

    name = "tagging"
    takes_noise = False  # a word with a tag stays a word
    description = "a task of tags of words"
    outputs = "spans"
    head = "tagging"
    common_metrics = ("span_f1", "span_precision", "span_recall", "word_accuracy")
    baselines = {"most-frequent-tag": most_frequent_tag}
    exported = False

    def read_texts(self, cells: Cells, where: str) -> list[str]:
        """Lists of words, as texts. Raises InputError for a cell that is none, or an empty word."""
        return [" ".join(self._words(cell, f"{where}: row {row}")) for row, cell in enumerate(cells, start=1)]

    def read_labels(
        self, task: Task, cells: dict[str, Cells], where: Mapping[str, str], names: Sequence[str]
    ) -> tuple[dict[str, np.ndarray], Task]:
        """Ids of tags, tuples (n,) of each split, and the task with its tags, the one outside first."""
        declared = Classes.declared(names, task.labels)
        tags = {
            split: [
                self._tags(cell, f"{where[split]}: row {row}", declared) for row, cell in enumerate(column, start=1)
            ]
            for split, column in cells.items()
        }
        all_tags = tuple(map(iobes, declared.names)) if declared else self._found(tags, where)
        with located(next(iter(where.values()))):
            refuse_repeated(all_tags)
        if len(all_tags) < 2:
            raise InputError(f"{next(iter(where.values()))}: every tag is {OUTSIDE}; a task needs spans")
        spans = {split: {tag for row in rows for tag in row} - {OUTSIDE} for split, rows in tags.items()}
        refuse_all_unseen(spans, where)
        ids = {tag: number for number, tag in enumerate(all_tags)}
        labels = {}
        for split, rows in tags.items():
            labels[split] = np.empty(len(rows), object)
            for row, row_tags in enumerate(rows):
                for tag in row_tags:
                    if tag not in ids:
                        hint = near_match(tag, list(all_tags)) or "; leave out or rename it"
                        raise InputError(f"{where[split]}: row {row + 1}: tag {tag!r} is none of this task{hint}")
                labels[split][row] = tuple(ids[tag] for tag in row_tags)
        return labels, replace(
            task,
            n_classes=len(all_tags),
            label_names=all_tags,
            label_order=tuple(map(iobes, declared.order)) if declared else (),
        )

    def class_names(self, names: Sequence[str]) -> tuple[str, ...]:
        return tuple(map(iobes, names))

    def as_trained(self, task: Task, cells: Cells, where: str, *, seen: Collection[int] | None) -> Cells:
        """Lists of tags as names of a trained task's tags, where they are numbers or spellings of `task.labels`."""
        declared = Classes.of_trained(task.label_names, task.label_order, task.labels)
        return [
            self._tags(cell, f"{where}: row {row}", declared, '--labels "0=TAG,..."')
            for row, cell in enumerate(cells, 1)
        ]

    def check_rows(self, split: Split, where: str) -> None:
        """Raises InputError where a row has another number of tags than words."""
        for row, (text, tags) in enumerate(zip(split.texts[0], split.labels, strict=True), start=1):
            if (words := len(words_of(text))) != len(tags):
                raise InputError(f"{where}: row {row}: {len(tags)} tags for {words} words; give each word one")

    def right_outputs(self, task: Task, split: Split) -> np.ndarray:
        """Counts of spans (n, 4) of a split where each word has its right tag."""
        tags = padded(split.labels)
        return TagScheme(task.label_names).counts(tags, tags)[:, 1:]

    def class_counts(self, split: Split, n_classes: int) -> np.ndarray:
        """The number of words with each tag (n_classes,)."""
        return np.bincount([tag for tags in split.labels for tag in tags], minlength=n_classes)

    def label_notes(self, splits: Mapping[str, Split], names: Sequence[str]) -> list[str]:
        """Notes, one a split, on tags that training never saw; their words count as errors."""
        trained = {tag for tags in splits["train"].labels for tag in tags}
        unseen = {
            split: [tag for tags in part.labels for tag in tags if tag not in trained] for split, part in splits.items()
        }
        notes = [unseen_note("word", "tag", split, ids, names) for split, ids in unseen.items() if ids]
        return notes + joined_labels({name[2:] for name in names} - {""}, "each counts as one type")

    def batches(self, data: TaskData, tokenizer: Tokenizer, coder: Coder, **settings: Any) -> FinetuningData:
        from hashbench.data.tasks.text_batches import TaggingData

        return TaggingData(data, tokenizer, coder, **settings)

    def tokenized_parts(self, data: TaskData) -> tuple[TaskData, dict[str, np.ndarray]]:
        """The data with each word, and the space before it, as one text, and where the words of each text begin."""
        offsets = {split: offsets_from([len(tags) for tags in part.labels]) for split, part in data.splits.items()}
        return by_word(data), offsets

    def stored_outputs(self, data: TaskData) -> dict[str, tuple[int, int]]:
        return {split: (rows, COUNTS) for split, (rows, _) in super().stored_outputs(data).items()}

    def targets(self, task: Task, split: Split) -> np.ndarray:
        """The number of spans of each row (n,)."""
        gold = padded(split.labels)
        return TagScheme(task.label_names).counts(gold, gold)[:, 0]

    def _words(self, cell: object, where: str) -> list[str]:
        if not isinstance(cell, list) or not all(isinstance(word, str) for word in cell):
            raise InputError(
                f"{where}: {repr(cell)[:TAG_CHARACTERS]} is no list of words; take parquet, JSONL with lists, "
                "or a .conll file"
            )
        if not cell:
            raise InputError(f"{where}: has no words; leave the row out")
        if "" in cell:
            raise InputError(f"{where}: word {cell.index('') + 1} is empty; write it or leave it out with its tag")
        return [word.replace(" ", NO_BREAK) for word in cell]

    def _tags(self, cell: object, where: str, declared: Classes | None, remedy: str = TAGS_REMEDY) -> list[str]:
        if not isinstance(cell, list):
            raise InputError(f"{where}: {repr(cell)[:TAG_CHARACTERS]} is no list of tags; give each word one")
        cell = [tag.strip() if isinstance(tag, str) else tag for tag in cell]
        tags = [iobes((declared.name_of(tag) if declared else None) or tag) for tag in cell]
        for tag in tags:
            if isinstance(tag, int):
                raise UnseenLabels(f"{where}: tag {tag} is a number without a name", f"; {remedy}")
            if not isinstance(tag, str) or not TAG.fullmatch(tag):
                raise InputError(f"{where}: tag {repr(tag)[:TAG_CHARACTERS]} is outside the scheme; a tag is {SCHEME}")
        return tags

    def _found(self, tags: Mapping[str, list[list[str]]], where: Mapping[str, str]) -> tuple[str, ...]:
        """The tags that occur. Raises InputError where two of their types may be one."""
        there: set[str] = set()
        types: dict[str, str] = {}
        for split, rows in tags.items():
            new = sorted({tag for row in rows for tag in row} - there - {OUTSIDE})
            there.update(new)
            for tag in new:
                if (first := types.setdefault(variant_key(tag[2:]), tag[2:])) != tag[2:]:
                    raise InputError(
                        f"{where[split]}: types of tags {apart(first, tag[2:])}: one type in two spellings, or two "
                        "types? list the tags in the task's entry, labels: [...], or join them, labels: {SPELLING: TAG}"
                    )
        return (OUTSIDE, *sorted(there - {OUTSIDE}))


KIND = Tagging()
