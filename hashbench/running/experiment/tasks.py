"""The tasks of an experiment, by name, group or own data set."""

from __future__ import annotations

from hashbench.common.errors import InputError, located
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.catalogue import expand_tasks, find_task, own_task, under_protocol
from hashbench.running.experiment.load import Loaded


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
    protocols = []
    for task in named:
        with located(loaded.where(task.kind.name)):
            protocols += under_protocol([task], loaded.experiment.task_blocks, loaded.folder)
    return protocols


def exported_tasks(loaded: Loaded) -> set[str]:
    """Names of the tasks of an experiment whose models can become a folder."""
    return {task.name for task in expand_tasks(loaded.experiment.tasks, loaded.folder) if task.kind.exported}


def task_of(loaded: Loaded, name: str) -> Task:
    """A task of the experiment by its name."""
    entry = loaded.task_entry(name)
    task = find_task(name) if entry is None else own_task(entry, loaded.folder)
    return under_protocol([task], loaded.experiment.task_blocks, loaded.folder)[0]
