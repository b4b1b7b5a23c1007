"""A data set, and the part of it that models read, described before any training: `hashbench data describe`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from hashbench.common.cache import mark
from hashbench.common.errors import InputError
from hashbench.common.measured import TextCounts
from hashbench.data.corpora.preparing import TRAINING_CHARACTERS, LearnedTexts, learn_vocabulary
from hashbench.data.sources.fingerprints import usable_cache_folder
from hashbench.data.sources.hub import PREFIX, named_place
from hashbench.data.sources.sources import Source, open_sources
from hashbench.data.tasks.base import LocatedTask
from hashbench.data.tasks.blocks import TaskEntry
from hashbench.data.tasks.catalogue import find_task, groups, known_tasks, locate_task, own_task
from hashbench.data.tasks.encoding import encode_task
from hashbench.data.tasks.split_facts import (
    ReadSplit,
    SplitFacts,
    class_shares,
    read_splits,
    split_facts,
    texts_read,
    word_tokens,
)
from hashbench.data.tasks.text import TextKind
from hashbench.data.tasks.text_data import TaskData
from hashbench.models.coders.base import Coder, make_coder
from hashbench.models.embeddings.base import Template
from hashbench.models.objectives.base import reads_items
from hashbench.models.text.base import Tokenizer, make_tokenizer
from hashbench.running.experiment.load import load_experiment
from hashbench.running.experiment.models import resolve_models
from hashbench.running.runs.materials import training_texts

MODEL = "hashformer-md-proj"  # that reads the data where none is named: words, and the bits of their MD5
OF_WORDS = "fertility: tokens of a word between white space, by itself"
ENGLISH = "English"  # the language that parity refers to
VOCABULARY_SIZE = 30_000  # pieces of a vocabulary that has to be learned from the data


@dataclass(frozen=True)
class Way:
    """The tokenizer and coder of a model, which may have to learn from the data first."""

    label: str
    tokenizer: Tokenizer
    coder: Coder
    template: Template = field(default_factory=Template)


@dataclass(frozen=True)
class TextReading:
    """The counts of each split under a way of reading, and under a limit on the tokens of an input."""

    way: Way
    splits: Mapping[str, ReadSplit]
    cut: Mapping[str, TextCounts]
    learned: str  # what was learned from the training texts of the data, "" for nothing


def locate_data(
    data: str,
    sources: Sequence[Source],
    *,
    text: Sequence[str],
    label: str | None,
    metric: str | None,
    separator: str | None = None,
) -> LocatedTask:
    """The task of a name, or the data set in a folder or on the hub (hub:OWNER/NAME), with its columns.

    Raises InputError where it is neither, or has no texts, and for columns of a named task, which has its own.
    """
    at = named_place(data.removeprefix(PREFIX)) if data.startswith(PREFIX) else None
    is_named = data in known_tasks() or not ("/" in data or Path(data).expanduser().exists())
    if at is None and is_named:
        task = find_task(data)  # says what there is
        if text or label or metric or separator:
            raise InputError(f"{data}: is a task of the suite, with columns and a metric of its own; leave these out")
    else:
        columns = (text[0], text[1]) if len(text) == 2 else text[0] if text else "text"
        if len(text) > 2:
            raise InputError(f"--text {text[2]}: a text is one column, or two that make a pair; leave the third out")
        commit = "" if at is None or at.revision is None else f"@{at.revision}"
        place = {"path": data} if at is None else {"hub": f"{at.repository}{commit}", "config": at.config}
        entry = TaskEntry(
            name="described", text=columns, label=label or "label", metric=metric or "accuracy", separator=separator,
            **place,
        )  # fmt: skip
        task = own_task(entry, Path.cwd())
    if not isinstance(task.kind, TextKind):
        raise InputError(f"{data}: is {task.kind.description}; data describe reads texts with labels")
    return locate_task(task, sources)


def ways_of_models(names: Sequence[str]) -> list[Way]:
    """The ways in which models of the suite read texts. Raises InputError for one that reads none."""
    listed = list(dict.fromkeys(names))
    values = {"name": "described", "models": listed, "baseline": "bert-mlm", "tasks": [], "data": "builtin"}
    ways = []
    for label, model in resolve_models(load_experiment(values)).items():
        spec = model.spec
        if reads_items(spec):
            raise InputError(f"--model {label}: reads items, not texts; name models of texts")
        tokenizer = make_tokenizer(spec.text.tokenizer, **spec.text.args)
        ways.append(Way(label, tokenizer, make_coder(spec.code.coder, **spec.code.args), spec.text.template))
    return ways


def read(
    data: TaskData,
    located_task: LocatedTask,
    way: Way,
    *,
    max_length: int,
    progress: Callable[[str], None] | None = None,
) -> TextReading:
    """The counts of the data under a way of reading, whose vocabulary is learned from the training texts if need be."""
    cache, learned = usable_cache_folder(), list[str]()
    mark(cache)
    learned += _learn(way.tokenizer, [located_task], cache, progress)
    if way.coder.needs_fit and not way.coder.fit_pieces(way.tokenizer.pieces):
        learned.append(f"what coder {way.coder.name} knows")
    splits = read_splits(data, way.tokenizer, way.coder, cache / "tasks")
    cut = texts_read(data, way.tokenizer, way.template, max_length, cache).splits
    return TextReading(way, splits, cut, " and ".join(learned))


def _learn(
    tokenizer: Tokenizer, tasks: Sequence[LocatedTask], cache: Path, progress: Callable[[str], None] | None
) -> list[str]:
    """The vocabulary that a tokenizer learns here from training texts of tasks, in words; [] for one that has it."""
    if not tokenizer.needs_training:
        return []
    most = TRAINING_CHARACTERS // len(tasks)
    texts = [LearnedTexts(task.fingerprint, partial(training_texts, task), most) for task in tasks]
    learn_vocabulary(tokenizer, VOCABULARY_SIZE, texts, cache / "vocabularies", progress=progress)
    return [f"a vocabulary of {len(tokenizer.pieces):,} pieces"]


@dataclass(frozen=True)
class Described:
    """The description of a data set, as it is printed."""

    name: str
    origin: str
    facts: Mapping[str, SplitFacts]
    classes: Mapping[str, Mapping[str, float]]  # class -> split -> share
    multi_label: bool  # whether a row may have several classes
    readings: Sequence[TextReading]
    max_length: int
    notes: Sequence[str]

    def tables(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Titles and rows of the tables of the text; shares in percent."""
        yield (
            "texts (words: of tokenizer unicode, with a letter or digit)",
            [
                {
                    "split": split,
                    "rows": of.rows,
                    "repeated": of.repeats.repeated,
                    "also in train": None if split == "train" else of.repeats.in_train,
                    "with an empty text": of.empty,
                    "characters a text": _ratio(of.characters, of.texts),
                    "words a text": _ratio(of.words, of.texts),
                }
                for split, of in self.facts.items()
            ],
        )
        if self.classes:
            yield (
                "rows with each label (%)" if self.multi_label else "shares of classes (%)",
                [
                    {"class": name, **{split: _percent(share) for split, share in shares.items()}}
                    for name, shares in self.classes.items()
                ],
            )
        yield (
            f"read in at most {self.max_length} tokens (shares in %; {OF_WORDS})",
            [row for reading in self.readings for row in self._rows(reading)],
        )

    def _rows(self, reading: TextReading) -> Iterator[dict[str, Any]]:
        for split, of in reading.splits.items():
            facts, cut = self.facts[split], reading.cut[split]
            yield {
                "model": reading.way.label,
                "split": split,
                "tokens a word": _ratio(of.tokens, facts.words),
                "fertility": _ratio(of.words.tokens, of.words.words),
                "words of one token": _percent(of.words.share_single),
                "bytes a token": _ratio(facts.bytes, of.tokens),
                "types": of.types,
                "types sharing a code": _percent(of.types_shared),
                "tokens sharing a code": _percent(of.tokens_shared),
                "unknown tokens": None
                if of.unknown is None
                else _percent(of.unknown.unknown / max(1, of.unknown.tokens)),
                "texts cut": _percent(cut.share_cut),
                "tokens lost": _percent(cut.share_of_tokens_lost),
            }


@dataclass(frozen=True)
class DescribedLanguages:
    """The description of parallel tasks, the same texts in several languages, as it is printed."""

    name: str
    origin: str
    rows: Sequence[Mapping[str, Any]]
    notes: Sequence[str]

    def tables(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Title and rows of the table of the text; shares in percent."""
        title = f"languages (all splits; shares in %; {OF_WORDS}; parity: tokens over those of {ENGLISH})"
        yield title, [dict(row) for row in self.rows]


def describe_languages(
    name: str,
    sources: Sequence[Source],
    ways: Sequence[Way],
    progress: Callable[[str], None] | None = None,
) -> DescribedLanguages:
    """The description of a group of parallel tasks: each language's words and tokens, and tokens over English ones.

    What a tokenizer has to learn, it learns from the training texts of all languages together. Raises InputError.
    """
    places = [locate_task(find_task(task), sources) for task in groups()[name]]
    cache = usable_cache_folder()
    mark(cache)
    rows, notes = [], []
    for way in ways:
        learned = _learn(way.tokenizer, places, cache, progress)
        notes += [f"{way.label}: learned from the training texts of all languages: {', '.join(learned)}"] * bool(
            learned
        )
        tokens: dict[str, tuple[dict[str, int], int]] = {}  # language -> rows by split, and tokens
        of_way = []
        for place in places:
            data = place.load()
            columns = [column for part in data.splits.values() for column in part.texts]
            words, encoded = word_tokens(columns, way.tokenizer), encode_task(data, way.tokenizer, cache / "tasks")
            n = sum(len(column.ids) for of_split in encoded.splits.values() for column in of_split)
            language = place.task.traits["language"]
            tokens[language] = {split: len(part) for split, part in data.splits.items()}, n
            of_way.append({
                "model": way.label, "task": place.task.name, "language": language, "tokens": n, "words": words.words,
                "fertility": _ratio(words.tokens, words.words),
                "words of one token": _percent(words.share_single),
            })  # fmt: skip
        sizes, english = tokens.get(ENGLISH, ({}, 0))
        for row in of_way:
            of_splits, n = tokens[str(row["language"])]
            rows.append(row | {"parity": _ratio(n, english) if of_splits == sizes else None})
    return DescribedLanguages(name, places[0].origin, rows, notes)


def describe_data(
    name: str,
    data: Sequence[str],
    *,
    models: Sequence[str],
    text: Sequence[str],
    label: str | None,
    metric: str | None,
    max_length: int,
    separator: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Described | DescribedLanguages:
    """The description of a task of the sources `data`, of the data set in a folder, or of a group of parallel tasks.

    It is read as each of the models does. Raises InputError for wrong input.
    """
    ways = ways_of_models(models or (MODEL,))
    sources = open_sources(tuple(data), Path.cwd())
    members = groups().get(name, ())
    if members and all(find_task(task).parallel for task in members):
        if text or label or metric or separator:
            raise InputError(f"{name}: are tasks of the suite, with columns and a metric of their own; leave these out")
        return describe_languages(name, sources, ways, progress)
    place = locate_data(name, sources, text=text, label=label, metric=metric, separator=separator)
    loaded = place.load()
    assert isinstance(loaded, TaskData)  # of a kind of texts
    readings = [read(loaded, place, way, max_length=max_length, progress=progress) for way in ways]
    learned = [
        f"{reading.way.label}: learned from the training texts of these data: {reading.learned}"
        for reading in readings
        if reading.learned
    ]
    return Described(
        name, loaded.origin, split_facts(loaded), class_shares(loaded), loaded.task.kind.multi_label, readings,
        max_length, [*learned, *loaded.notes],
    )  # fmt: skip


def _ratio(number: int, of: int) -> float | None:
    return _short(number / of) if of else None


def _percent(share: float | None) -> float | None:
    return None if share is None else _short(100 * share)


def _short(value: float) -> float:
    return float(f"{value:.3g}")
