"""Tasks in the sources: the first source that has a task is taken, and what each source has is listed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from hashbench.common.errors import InputError
from hashbench.data.sources.files import DataTable
from hashbench.data.sources.hub import SHORT_COMMIT, HubTable
from hashbench.data.sources.sources import Source
from hashbench.data.tasks.base import LocatedTask, Task
from hashbench.data.tasks.catalogue import known_tasks
from hashbench.data.tasks.text_data import TaskData, sample_note


def locate_task(task: Task, sources: Sequence[Source]) -> LocatedTask:
    """The task in the first source that has it; an own data set in its folder.

    Raises:
        InputError: none has it, or the first that has it lacks a split.
    """
    return task.kind.locate(task, sources)


def load_task(task: Task, sources: Sequence[Source]) -> TaskData:
    """The data of a task of texts, from the first source that has it."""
    data = locate_task(task, sources).load()
    assert isinstance(data, TaskData)  # the caller knows the kind of the task
    return data


@dataclass(frozen=True)
class Available:
    """A line of `hashbench data list`."""

    kind: Literal["task", "corpus"]
    name: str
    source: str  # of the hub: repository and revision
    rows: dict[str, int | None]  # split -> rows, None where only reading would tell
    note: str = ""  # what is wrong with it, or that it is a sample
    metrics: tuple[str, ...] = ()  # of a task

    @property
    def sizes(self) -> str:
        """Rows of each split in words, '?' where only reading would tell."""
        return ", ".join(f"{split} {'?' if n is None else f'{n:,}'}" for split, n in self.rows.items())


def available(sources: Sequence[Source]) -> list[Available]:
    """What each source holds; what is wrong with a task or corpus stands in its note. The hub is asked for its own."""
    return [line for source in sources for line in (*_available_tasks(source), *_available_corpora(source))]


def _available_tasks(source: Source) -> Iterator[Available]:
    for task in known_tasks().values():
        try:
            located = task.kind.find_in(source, task)
        except InputError as error:
            yield Available("task", task.name, source.name, {}, str(error), task.metrics)
            continue
        if located:
            published = task.official_rows if located.kind == "hub" else {}
            rows = {split: table.n_rows() or published.get(split) for split, table in located.tables.items()}
            first = next(iter(located.tables.values()))
            note = _problem(first) or ("" if located.kind == "builtin" else sample_note(located.task, rows))
            yield Available("task", task.name, _shown(source, first), rows, note, task.metrics)


def _available_corpora(source: Source) -> Iterator[Available]:
    for name in source.corpora():
        try:
            corpus = source.find_corpus(name)
        except InputError as error:
            yield Available("corpus", name, source.name, {}, str(error))
            continue
        table = corpus.table if corpus else None
        try:
            documents = corpus.n_documents() if corpus else None
        except InputError as error:
            yield Available("corpus", name, _shown(source, table), {}, str(error))
            continue
        yield Available("corpus", name, _shown(source, table), {"documents": documents}, _problem(table))


def _shown(source: Source, table: DataTable | None) -> str:
    """What a list calls a source: of the hub the repository and the commit, "newest" where none was fixed yet."""
    if not isinstance(table, HubTable):
        return source.name
    copy = table.known_copy()
    return f"{source.name} {table.place.repository}@{copy.revision[:SHORT_COMMIT] if copy else 'newest'}"


def _problem(table: DataTable | None) -> str:
    """What keeps a table of the hub from being read."""
    return table.problem() if isinstance(table, HubTable) else ""
