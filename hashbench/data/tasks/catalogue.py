"""Kinds of task and named tasks, of the suite and of plug-ins, the tasks that an experiment names, and their data.

A file that ends in `KIND`, `TASKS` or `GROUPS` (a name for several tasks) adds them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from hashbench.common.errors import InputError, near_match
from hashbench.common.registry import registered, unreadable
from hashbench.data.sources.files import DataTable
from hashbench.data.sources.hub import SHORT_COMMIT, HubTable
from hashbench.data.sources.sources import Source
from hashbench.data.tasks.base import LocatedTask, Task, TaskKind
from hashbench.data.tasks.blocks import BY_GROUPS, HoldOut, Strict, TaskEntry
from hashbench.data.tasks.items import ItemKind
from hashbench.data.tasks.text_data import TaskData, sample_note
from hashbench.scores.base import find_metric, metrics


def known_tasks() -> dict[str, Task]:
    """Every named task, of the suite and of plug-ins, by its name."""
    return dict(registered("task"))


def known_kinds() -> dict[str, TaskKind]:
    """Every kind of task by its name."""
    return dict(registered("kind of task"))


def item_kind_of(spec: Mapping[str, Any]) -> tuple[ItemKind, Strict]:
    """The kind of task and its block, from the spec of a run on items. Raises ValueError for any other run."""
    for name, kind in known_kinds().items():
        if isinstance(kind, ItemKind) and kind.block is not None and name in spec:
            return kind, kind.block(**spec[name])
    raise ValueError("a run on no items")


def groups() -> dict[str, tuple[str, ...]]:
    """Names for several tasks, with the names of these. Each is an explicit list: a new task joins none."""
    return dict(registered("group of tasks"))


def find_task(name: str) -> Task:
    """The named task.

    Raises:
        InputError: there is no task of this name.
    """
    tasks = known_tasks()
    if name not in tasks:
        _check_part(name, tasks)
        shown_names = [f"{task.name.removesuffix(task.part)}..." if task.part else task.name for task in tasks.values()]
        near = near_match(name, list(dict.fromkeys([*tasks, *shown_names])))
        hint = near or f"; known are {', '.join(dict.fromkeys(shown_names))}"
        raise InputError(f"unknown task {name!r}{hint} (list: hashbench data list){unreadable()}")
    return tasks[name]


def _check_part(name: str, tasks: Mapping[str, Task]) -> None:
    """Raises InputError for an unknown part of a known collection, as sib200:xxx; the message names known parts.

    A part is also found by what it is grouped by, as a language by its English name.
    """
    collection, colon, part = name.partition(":")
    parts = [task for task in tasks.values() if task.part and task.name == f"{collection}:{task.part}"]
    if not colon or not parts:
        return
    part_of = {word.lower(): task.part for task in parts for word in task.traits.values()}
    part_of |= {task.part.lower(): task.part for task in parts}
    # Codes of one script share half their letters, so that only a slip of the pen is near.
    near = difflib.get_close_matches(part.lower(), list(part_of), n=2, cutoff=0.8)
    nearest = " or ".join(repr(f"{collection}:{other}") for other in dict.fromkeys(part_of[word] for word in near))
    hint = f"did you mean {nearest}?" if nearest else f"there are {', '.join(task.part for task in parts)}"
    raise InputError(f"unknown task {name!r}: {collection} has no {part!r}; {hint} (list: hashbench data list)")


def under_protocol(
    tasks: Sequence[Task], blocks: Mapping[str, Strict], base: Path, hold_out: HoldOut = BY_GROUPS
) -> list[Task]:
    """The tasks, each with the experiment's block of its kind, which sets how items are split and tested.

    `hold_out`: how rows of train are held out. `base` is the folder of the experiment file, from which paths are read.
    Raises InputError for a missing file.
    """
    return [
        replace(task, hold_out=hold_out, protocol=task.kind.checked_block(blocks[task.kind.name], base))
        if task.kind.name in blocks
        else replace(task, hold_out=hold_out)
        for task in tasks
    ]


def expand_tasks(tasks: str | Sequence[str | TaskEntry], base: Path) -> list[Task]:
    """The `tasks` of an experiment file, with a group (`glue`) spelled out.

    `base` is the folder of the experiment file, from which the paths of own data sets are read.

    Raises:
        InputError: an unknown or repeated name, or an own data set that cannot be one.
    """
    expanded: list[Task] = []
    for entry in (tasks,) if isinstance(tasks, str) else tasks:
        if isinstance(entry, TaskEntry):
            expanded.append(own_task(entry, base))
        else:
            expanded.extend(find_task(name) for name in (groups()[entry] if entry in groups() else (entry,)))
    names = [task.name for task in expanded]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"tasks: {name!r} stands there twice; give each task one name")
    return expanded


def own_task(entry: TaskEntry, base: Path) -> Task:
    """The task that an entry of `tasks` describes; its files are listed, not read.

    Raises:
        InputError: a name already taken, an unknown metric, no such folder, no train split.
    """
    where = f"task {entry.name!r}"
    if entry.name in known_tasks():
        raise InputError(f"{where}: this name is a task of the suite; give your data set another one")
    for kind in known_kinds().values():
        if kind.takes(entry):
            if entry.separator is not None and not kind.multi_label:
                remedy = "leave it out, or set metric: label_f1_micro"
                raise InputError(f"{where}: separator: {entry.metric} scores one label a row; {remedy}")
            if entry.hub is not None and not kind.own_on_hub:
                raise InputError(f"{where}: {kind.description} of your own is a folder; give path in place of hub")
            return kind.own_task(entry, base)
    try:
        find_metric(entry.metric, *(metric.outputs for metric in metrics().values() if metric.outputs != "rankings"))
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    raise InputError(f"{where}: no kind of task has metric {entry.metric!r}; see hashbench data list")


def locate_task(task: Task, sources: Sequence[Source]) -> LocatedTask:
    """The task located in the first source that has it; a user-defined data set in its folder.

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
    """The tasks and corpora of each source, with notes on what cannot be read."""
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
        note = _problem(table) or ("; ".join(corpus.notes) if corpus else "")
        yield Available("corpus", name, _shown(source, table), {"documents": documents}, note)


def _shown(source: Source, table: DataTable | None) -> str:
    """The name of a source in a list: of the hub the repository and the commit, "newest" where none was fixed yet."""
    if not isinstance(table, HubTable):
        return source.name
    copy = table.place.known_copy()
    return f"{source.name} {table.place.repository}@{copy.revision[:SHORT_COMMIT] if copy else 'newest'}"


def _problem(table: DataTable | None) -> str:
    """The reason why a table of the hub cannot be read, or an empty text."""
    return table.problem() if isinstance(table, HubTable) else ""
