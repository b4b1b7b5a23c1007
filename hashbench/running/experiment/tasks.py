"""The tasks of an experiment, before their data are looked for, and the tasks that a vocabulary is learned on."""

from __future__ import annotations

from pathlib import Path

from hashbench.common.errors import InputError, located
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.catalogue import expand_tasks, find_task, own_task, under_protocol
from hashbench.data.tasks.text import TextKind
from hashbench.models.text.base import CORPUS, TASKS
from hashbench.running.experiment.load import Loaded
from hashbench.store.environment import LEFT_OUT


def find_tasks(loaded: Loaded) -> list[Task]:
    """The tasks of an experiment. Raises InputError with file and line for an unknown one or an unfit metric."""
    tasks = loaded.experiment.tasks
    named: list[Task] = []
    for i, entry in enumerate([tasks] if isinstance(tasks, str) else tasks):
        with located(loaded.where("tasks", i)):
            for task in expand_tasks([entry], loaded.folder):
                if task.name in [other.name for other in named]:
                    raise InputError(f"task '{task.name}' stands twice; rename one of them")
                named.append(task)
    protocols, blocks = [], loaded.experiment.task_blocks
    for task in named:
        with located(loaded.where(task.kind.name)):
            protocols += under_protocol([task], blocks, loaded.folder, loaded.experiment.hold_out)
    return protocols


def exported_tasks(loaded: Loaded) -> set[str]:
    """Names of the tasks of an experiment whose fine-tuned models can be exported."""
    return {task.name for task in expand_tasks(loaded.experiment.tasks, loaded.folder) if task.kind.exported}


def task_of(loaded: Loaded, name: str) -> Task:
    """A task of a stored experiment by its name; relative paths begin in the working folder.

    Raises InputError where its data set is not there.
    """
    entry = loaded.task_entry(name)
    path = None if entry is None else entry.path
    if path is not None and LEFT_OUT in path:
        raise InputError(
            f"{loaded.shown}: task {name!r}: this database is a copy without the paths of data sets; name the one that "
            "it was exported from"
        )
    if path is not None and not Path(path).exists():
        raise InputError(
            f"{loaded.shown}: task {name!r}: no {path}; put it there, or, where the experiment file names it "
            "by a relative path, run this in the folder of the experiment file"
        )
    task = find_task(name) if entry is None else own_task(entry, loaded.folder)
    return under_protocol([task], loaded.experiment.task_blocks, loaded.folder, loaded.experiment.hold_out)[0]


def learned_tasks(loaded: Loaded, learn_on: tuple[str, ...]) -> tuple[Task, ...]:
    """The tasks on whose training texts a vocabulary is learned, by name; `learn_on` is the tokenizer's.

    Raises InputError for a name of no task, a task without texts to learn from, and where `tasks` gives none.
    """
    if set(learn_on) == {CORPUS}:
        return ()
    own = {task.name: task for task in find_tasks(loaded)}
    chosen: dict[str, Task] = {}
    for name in learn_on:
        if name == CORPUS:
            continue
        if name == TASKS:
            named = [task for task in own.values() if isinstance(task.kind, TextKind)]
        else:
            others = [] if name in own else expand_tasks([name], loaded.folder)
            named = (
                [own[name]] if name in own else under_protocol(others, {}, loaded.folder, loaded.experiment.hold_out)
            )
        for task in named:
            if not isinstance(task.kind, TextKind):
                raise InputError(f"learn_on: task {task.name!r} is {task.kind.description}: it has no training texts")
            chosen[task.name] = task
        if not named:
            raise InputError("learn_on: tasks: no task of this experiment has training texts; leave tasks out")
    return tuple(chosen[name] for name in sorted(chosen))
