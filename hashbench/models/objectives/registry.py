"""The objectives by name, found by listing this folder and the one named by HASHBENCH_OBJECTIVES."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping
from types import ModuleType

from hashbench.common.listing import by_name, listed_classes, modules_in
from hashbench.models.embeddings.base import ModelSpec
from hashbench.models.objectives.base import Objective, TaskHead

EXTRA_FOLDER = "HASHBENCH_OBJECTIVES"


def objectives() -> Mapping[str, Objective]:
    """All objectives by name, those of texts first. Raises InputError where two have one name."""
    return _objectives(os.environ.get(EXTRA_FOLDER))


@functools.cache
def _objectives(extra_folder: str | None) -> Mapping[str, Objective]:
    modules = modules_in("hashbench.models.objectives", EXTRA_FOLDER, "objectives")
    listed = by_name(modules, "objective", _in_module)
    return dict(sorted(listed.items(), key=lambda item: (item[1].reads_items, item[0])))


def _in_module(module: ModuleType) -> Iterator[tuple[str, Objective]]:
    """The module's objective by its name; none in a file of parts."""
    objective = vars(module).get("OBJECTIVE")
    if isinstance(objective, Objective):
        yield objective.name, objective


def task_head(head: str | type) -> type[TaskHead]:
    """The class of a kind of task's head: the one of this name, or the class that the kind's own file brings."""
    if isinstance(head, str):
        return listed_classes("hashbench.models.objectives", EXTRA_FOLDER, "head", TaskHead, "name")[head]
    if not issubclass(head, TaskHead):
        raise TypeError(f"{head.__module__}.{head.__name__} is no head; derive it from {TaskHead.__module__}.TaskHead")
    return head


def objective_of(spec: ModelSpec) -> Objective | None:
    """The objective of a model; None: it has none, and learns its task alone."""
    return None if spec.training.objective is None else objectives()[spec.training.objective]


def pretrains(spec: ModelSpec) -> bool:
    """Whether a model is pre-trained on corpora; without an objective, or on items, it learns its task alone."""
    objective = objective_of(spec)
    return objective is not None and not objective.reads_items


def reads_items(spec: ModelSpec) -> bool:
    """Whether a model reads items of page links or phrases in place of texts."""
    objective = objective_of(spec)
    return objective is not None and objective.reads_items
