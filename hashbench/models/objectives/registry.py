"""The objectives by name: the suite's, and those of plug-ins."""

from __future__ import annotations

from collections.abc import Mapping

from hashbench.common.registry import registered
from hashbench.models.embeddings.base import ModelSpec
from hashbench.models.objectives.base import Objective, TaskHead


def objectives() -> Mapping[str, Objective]:
    """All objectives by name, those of texts first. Raises InputError where two have one name."""
    return dict(sorted(registered("objective").items(), key=lambda item: (item[1].reads_items, item[0])))


def task_head(head: str | type) -> type[TaskHead]:
    """The head class of a kind of task: the registered one of this name, or `head` itself where it is a class."""
    if isinstance(head, str):
        named: type[TaskHead] = registered("head")[head]
        return named
    if not issubclass(head, TaskHead):
        raise TypeError(f"{head.__module__}.{head.__name__} is no head; derive it from {TaskHead.__module__}.TaskHead")
    return head


def objective_of(spec: ModelSpec) -> Objective | None:
    """The objective of a model; None where it has none and learns its task alone."""
    return None if spec.training.objective is None else objectives()[spec.training.objective]


def pretrains(spec: ModelSpec) -> bool:
    """True where a model is pre-trained on corpora; without an objective, or on items, it learns its task alone."""
    objective = objective_of(spec)
    return objective is not None and not objective.reads_items


def scores_texts(spec: ModelSpec) -> bool:
    """True where a model is pre-trained on corpora with an objective that scores texts without fine-tuning."""
    objective = objective_of(spec)
    return pretrains(spec) and objective is not None and objective.probe is not None


def reads_items(spec: ModelSpec) -> bool:
    """True where a model reads items of page links or phrases in place of texts."""
    objective = objective_of(spec)
    return objective is not None and objective.reads_items
