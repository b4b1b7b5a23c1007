"""The named tasks, and the tasks that an experiment file asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hashbench.errors import InputError, near_match
from hashbench.scores import METRIC_KINDS, find_metric
from hashbench.tasks.base import Task
from hashbench.tasks.blocks import Entities, Phrases, TaskEntry
from hashbench.tasks.links import ENTITIES, own_links
from hashbench.tasks.named import glue, proformer
from hashbench.tasks.own_data import COMMON_METRICS, own_tables, with_splits
from hashbench.tasks.phrases import PHRASES

GROUPS = {**glue.GROUPS}


def known_tasks() -> dict[str, Task]:
    """Every named task."""
    return {task.name: task for task in (*glue.TASKS, *proformer.TASKS, ENTITIES, PHRASES)}


def find_task(name: str) -> Task:
    """The named task.

    Raises:
        InputError: there is no task of this name.
    """
    tasks = known_tasks()
    if name not in tasks:
        hint = near_match(name, list(tasks)) or f"; known are {', '.join(tasks)}"
        raise InputError(f"unknown task {name!r}{hint} (list: hashbench data list)")
    return tasks[name]


def under_protocol(tasks: Sequence[Task], blocks: Mapping[str, Any], base: Path) -> list[Task]:
    """The same tasks, those of items with the experiment's way to split and to test them, by the kind of task.

    `base` is the folder of the experiment file, from which the path of a vocabulary is read. Raises InputError for a
    missing one, before the hub is asked for it.
    """
    return [replace(task, protocol=_with_path(blocks[task.kind], base)) if task.of_items else task for task in tasks]


def _with_path(block: Entities | Phrases, base: Path) -> Entities | Phrases:
    """The block with the path of its vocabulary, where that is a file."""
    if not isinstance(block, Phrases) or block.vocabulary is None:
        return block
    path = base / Path(block.vocabulary).expanduser()
    if path.exists():
        return block.model_copy(update={"vocabulary": str(path)})
    if path.suffix or block.vocabulary.startswith((".", "/", "~")):
        raise InputError(
            f"phrases.vocabulary: no such file {block.vocabulary!r}; it is relative to the experiment file, or a hub "
            "name"
        )
    return block


def expand_tasks(tasks: str | Sequence[str | TaskEntry], base: Path) -> list[Task]:
    """The `tasks` of an experiment file, with a group (`glue`) spelled out.

    `base` is the folder of the experiment file, from which the paths of own data sets are read.

    Raises:
        InputError: an unknown or repeated name, or an own data set that cannot be one.
    """
    found: list[Task] = []
    for entry in (tasks,) if isinstance(tasks, str) else tasks:
        if isinstance(entry, TaskEntry):
            found.append(own_task(entry, base))
        else:
            found.extend(find_task(name) for name in (GROUPS[entry] if entry in GROUPS else (entry,)))
    names = [task.name for task in found]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"tasks: {name!r} stands there twice; give each task one name")
    return found


def own_task(entry: TaskEntry, base: Path) -> Task:
    """The task that an entry of `tasks` describes; its files are listed, not read.

    With a test split, selection uses validation, or a seeded tenth of train, and test is what is reported. Without one
    validation serves both, as in GLUE.

    Raises:
        InputError: a name already taken, an unknown metric, no such folder, no train split.
    """
    where = f"task {entry.name!r}"
    if entry.name in known_tasks():
        raise InputError(f"{where}: this name is a task of the suite; give your data set another one")
    if entry.links is not None:
        return own_links(entry, base)
    try:
        find_metric(entry.metric)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    text = (entry.text,) if isinstance(entry.text, str) else tuple(entry.text)
    if entry.label in text or len(set(text)) < len(text):
        raise InputError(f"{where}: text and label name the same column; name different ones")
    folder = (base / Path(entry.path).expanduser()).absolute()
    splits = own_tables(folder, where)
    kind = METRIC_KINDS[entry.metric]
    task = Task(
        name=entry.name,
        text=text,
        label=entry.label,
        kind=kind,
        metrics=tuple(dict.fromkeys((entry.metric, *COMMON_METRICS[kind]))),
        select_metric=entry.metric,
        n_classes=1 if kind == "regression" else None,
        folder=folder,
    )
    return with_splits(task, splits)
