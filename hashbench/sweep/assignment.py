"""What the workers of a sweep are told, and how it reaches other processes."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hashbench.experiment.resolved import ResolvedExperiment
from hashbench.listing import OWN_MODULE, import_file
from hashbench.runs.artifacts import ArtifactFolder
from hashbench.runs.base import Run, Workplace
from hashbench.runs.materials import Materials


@dataclass(frozen=True)
class Assignment:
    """What every worker of a sweep is told."""

    db: str
    experiment_id: int
    resolved: ResolvedExperiment
    runs: Mapping[str, Run]
    cache: Path
    threads: int
    max_attempts: int
    # What each worker in turn sees as CUDA_VISIBLE_DEVICES; empty: all there are.
    gpus: tuple[str, ...]
    kinds: tuple[str, ...]  # of the runs to take

    def workplace(self) -> Workplace:
        """What the runs of one process share."""
        materials = Materials(self.resolved.sources, self.cache, self.resolved.tasks)
        return Workplace(self.resolved, self.runs, materials, ArtifactFolder(self.cache))


@dataclass(frozen=True)
class Parcel:
    """An assignment on its way to another process, which imports the user's own files before it opens it."""

    files: tuple[str, ...]
    content: bytes

    @classmethod
    def of(cls, assignment: Assignment) -> Parcel:
        """The assignment, with the files of all embeddings, tasks and runs of the user's own."""
        modules = [module for name, module in sys.modules.items() if name.startswith(OWN_MODULE)]
        return cls(tuple(str(module.__file__) for module in modules), pickle.dumps(assignment))

    def open(self) -> Assignment:
        """The assignment."""
        for file in self.files:
            import_file(Path(file))
        # The content is from our own parent process.
        assignment: Assignment = pickle.loads(self.content)  # noqa: S301
        return assignment
