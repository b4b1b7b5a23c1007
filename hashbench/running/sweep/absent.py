"""Substitutes for data and weights that are not at hand, with which a dry run plans an experiment nevertheless.

Their fingerprints say what is missing, so that the spec of a run does too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from hashbench.common.errors import NotAtHand
from hashbench.data.sources.documents import CorpusSource
from hashbench.data.sources.files import DataTable
from hashbench.data.sources.sources import SourceKind
from hashbench.data.sources.weights import RANDOM
from hashbench.data.tasks.base import CheckedData, Task
from hashbench.running.experiment.models import ResolvedModel
from hashbench.running.experiment.resolved import model_block
from hashbench.store.planning import Run

MARK = "not at hand: "
MARKED = re.compile(f'"{MARK}([^"]+)"')
Found = TypeVar("Found")
Instead = TypeVar("Instead")


@dataclass
class MissingInputs:
    """The errors of a plan about what is not at hand; with `refused` the first one is raised."""

    refused: bool = True
    errors: list[NotAtHand] = field(default_factory=list)

    def found_or(self, find: Callable[[], Found], otherwise: Callable[[], Instead]) -> Found | Instead:
        """The result of `find`, or of `otherwise` where what it finds is not at hand."""
        try:
            return find()
        except NotAtHand as error:
            if self.refused:
                raise
            self.errors.append(error)
            return otherwise()


@dataclass(frozen=True)
class AbsentTask:
    """A known task whose data are not at hand."""

    task: Task
    origin: str = "not at hand"
    kind: SourceKind = "hub"
    tables: Mapping[str, DataTable] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """The mark of what is missing."""
        return f"{MARK}task {self.task.name}"

    def load(self) -> Any:
        """Raises NotAtHand."""
        raise NotAtHand(self.fingerprint)

    def checked_items(self) -> CheckedData:
        """No notes."""
        return CheckedData()


@dataclass(frozen=True)
class AbsentCorpus(CorpusSource):
    """A known corpus that is not at hand."""

    @cached_property
    def fingerprint(self) -> str:
        """The mark of what is missing."""
        return f"{MARK}corpus {self.name}"


def block_without_weights(model: ResolvedModel, size: str) -> dict[str, Any]:
    """The part of a spec on a model (`model_block`) whose published weights are not at hand."""
    training = replace(model.spec.training, weights=RANDOM)
    block = model_block(replace(model, spec=replace(model.spec, training=training)), size)
    return {**block, "weights": {"sha256": f"{MARK}weights {model.spec.training.weights}"}}


def missing_of(runs: Sequence[Run]) -> dict[str, tuple[str, ...]]:
    """Names of missing data by run id, as 'corpus wikipedia', of the runs that it needs too."""
    missing: dict[str, tuple[str, ...]] = {}
    for run in runs:  # each after the runs that it needs
        own = MARKED.findall(json.dumps(run.spec, ensure_ascii=False))
        needed = [what for need in run.needs for what in missing.get(need, ())]
        missing[run.id] = tuple(sorted({*own, *needed}, key=turn_of))
    return missing


def turn_of(what: str) -> tuple[int, str]:
    """A key for sorting names of what is missing: weights, then corpora, then tasks."""
    return ["weights", "corpus", "task"].index(what.partition(" ")[0]), what
