"""Tasks and corpora in the sources: the first source that has a task is taken, and what each source has is listed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from hashbench.data.builtin import Generated
from hashbench.data.files import FORMATS_TEXT, Table
from hashbench.data.hub import HubTable
from hashbench.data.sources import LABEL_NAMES, Place, Source, locate_corpus, names_of
from hashbench.errors import InputError
from hashbench.tasks.base import Task
from hashbench.tasks.blocks import Phrases
from hashbench.tasks.catalogue import known_tasks
from hashbench.tasks.links import FILE, LocatedLinks, links_in, locate_links
from hashbench.tasks.own_data import HOLDOUT, SPLIT_FILES, own_tables, with_splits
from hashbench.tasks.phrases import LocatedPhrases
from hashbench.tasks.text_data import LocatedTask, TaskData, sample_note

InFiles = LocatedTask | LocatedLinks
AnyTask = InFiles | LocatedPhrases


def locate_task(task: Task, sources: Sequence[Source]) -> AnyTask:
    """The task in the first source that has it; an own data set in its folder.

    Raises:
        InputError: none has it, or the first that has it lacks a split.
    """
    if task.folder is not None:
        return _locate_own(task, task.folder)
    if isinstance(task.protocol, Phrases):
        return LocatedPhrases(task, tuple(locate_corpus(name, sources) for name in task.protocol.corpora))
    for source in sources:
        if located := find_in(source, task):
            return located
    files = f"entities/{FILE}.parquet"
    if not task.of_items:
        files = f"{task.collection}/{task.name}/train.parquet and the evaluation splits"
    raise InputError(
        f"task {task.name!r}: not in {names_of(sources)}; a data folder holds {files}; add one: --data FOLDER"
    )


def find_in(source: Source, task: Task) -> InFiles | None:
    """The task as a source has it, None where it has it not. Raises InputError where a split is missing."""
    if task.kind == "entities":
        return links_in(source, task)
    if task.of_items:
        return None
    splits = ("train", *task.evaluation_splits)
    place = Place(
        f"{task.collection}/{task.name}",
        SPLIT_FILES if task.splits_as_found else {split: (split,) for split in splits},
        task.hub,
        Generated(task.name, (*task.text, task.label)) if task.builtin else None,
    )
    found = source.find_tables(place)
    if found is None:
        return None
    needed = ("train", "test") if task.splits_as_found else splits
    for split in needed:
        if split not in found.tables:
            raise InputError(f"{found.where}: no {split} split; put a {split} file there ({FORMATS_TEXT})")
    names_file = None
    if task.splits_as_found:
        task, names_file = with_splits(task, found.tables), found.names_file
    if found.rows:
        task = replace(task, official_rows=found.rows)
    return LocatedTask(task, found.tables, found.origin, found.kind, names_file=names_file)


def load_task(task: Task, sources: Sequence[Source]) -> TaskData:
    """The data of a task of texts, from the first source that has it."""
    data = locate_task(task, sources).load()
    assert isinstance(data, TaskData)  # page-link sets are located by those who know what to do with them
    return data


@dataclass(frozen=True)
class Available:
    """A line of `hashbench data list`."""

    kind: Literal["task", "corpus"]
    name: str
    source: str  # of the hub: repository and revision
    rows: dict[str, int | None]  # split -> rows, None where only reading would tell
    note: str = ""  # what is wrong with it, or that it is a sample


def available(sources: Sequence[Source]) -> list[Available]:
    """What each source holds; what is wrong with a task or corpus stands in its note. The hub is asked for its own."""
    return [line for source in sources for line in (*_available_tasks(source), *_available_corpora(source))]


def _available_tasks(source: Source) -> Iterator[Available]:
    for task in known_tasks().values():
        try:
            located = find_in(source, task)
        except InputError as error:
            yield Available("task", task.name, source.name, {}, str(error))
            continue
        if located:
            published = task.official_rows if located.kind == "hub" else {}
            rows = {split: table.n_rows() or published.get(split) for split, table in located.tables.items()}
            first = next(iter(located.tables.values()))
            note = _problem(first) or ("" if located.kind == "builtin" else sample_note(located.task, rows))
            yield Available("task", task.name, _shown(source, first), rows, note)


def _available_corpora(source: Source) -> Iterator[Available]:
    for name in source.corpora():
        try:
            corpus = source.find_corpus(name)
        except InputError as error:
            yield Available("corpus", name, source.name, {}, str(error))
            continue
        table = corpus.table if corpus else None
        yield Available("corpus", name, _shown(source, table), {}, _problem(table))


def _shown(source: Source, table: Table | None) -> str:
    """What a list calls a source: of the hub the repository and the commit, "newest" where none was fixed yet."""
    if not isinstance(table, HubTable):
        return source.name
    return f"{source.name} {table.repository}@{(table.known_revision() or 'newest')[:12]}"


def _problem(table: Table | None) -> str:
    """What keeps a table of the hub from being read."""
    return table.problem() if isinstance(table, HubTable) else ""


def _locate_own(task: Task, folder: Path) -> AnyTask:
    if task.kind == "entities":
        if (links := locate_links(folder, task, kind="own")) is None:
            raise InputError(f"{folder}: {FILE}.parquet is gone; put it back")
        return links
    tables = own_tables(folder, f"task {task.name!r}")
    wanted = {"train", *task.evaluation_splits} - {HOLDOUT}
    missing = [split for split in sorted(wanted) if split not in tables]
    if missing:
        raise InputError(f"{folder}: the {missing[0]} split is gone; put it back")
    names = folder / LABEL_NAMES
    return LocatedTask(
        task,
        {split: table for split, table in tables.items() if split in wanted},
        origin=f"own data set {folder.name}",
        kind="own",
        names_file=names if names.exists() else None,
    )
