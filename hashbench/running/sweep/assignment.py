"""What the workers of a sweep are told, and how it reaches other processes."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hashbench.common.atomic import atomic_write
from hashbench.common.errors import InputError
from hashbench.common.listing import import_file, own_modules
from hashbench.running.experiment.resolved import ResolvedExperiment
from hashbench.running.runs.artifacts import ArtifactFolder
from hashbench.running.runs.base import Run, Workplace
from hashbench.running.runs.materials import Materials


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
    artifacts: str = ""  # URL where machines share files; "" where they share none

    def workplace(self) -> Workplace:
        """What the runs of one process share."""
        folder = self.artifact_folder()
        materials = Materials(self.resolved.sources, self.cache, self.resolved.tasks, folder.shared)
        return Workplace(self.resolved, self.runs, materials, folder)

    def artifact_folder(self) -> ArtifactFolder:
        """The files of runs, here and where machines share them."""
        return ArtifactFolder.at(self.cache, self.artifacts)


@dataclass(frozen=True)
class OwnFile:
    """A Python file of the user's own: its text travels, since another machine need not have it."""

    path: str  # where it lies on the machine that planned
    text: str
    sha256: str
    variable: str  # the environment variable that names its folder; "" where none does

    @classmethod
    def of(cls, path: Path) -> OwnFile:
        """The file as it is now."""
        content = path.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        return cls(str(path.resolve()), content.decode(), digest, _variable_of(path.resolve().parent))

    def is_here(self) -> bool:
        """Whether this machine has the same file in the same place."""
        path = Path(self.path)
        return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == self.sha256

    def copy(self, folder: Path) -> Path:
        """The file in a folder. Raises InputError where its text is not what was sent."""
        content = self.text.encode()
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise InputError(f"{self.path}: its text did not arrive as it was sent; start the sweep again")
        copied = folder / Path(self.path).name
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_write(copied) as part:
            part.write_bytes(content)
        return copied


@dataclass(frozen=True)
class Parcel:
    """An assignment on its way to another process, perhaps on another machine: the user's own files are imported there
    before it is opened."""

    files: tuple[OwnFile, ...]
    content: bytes

    @classmethod
    def of(cls, assignment: Assignment) -> Parcel:
        """The assignment, with the files of all embeddings, tasks and runs of the user's own."""
        paths = [Path(str(module.__file__)) for module in own_modules()]
        # A file that is gone belongs to another sweep of this process: a plan reads those that it needs.
        return cls(tuple(OwnFile.of(path) for path in paths if path.is_file()), pickle.dumps(assignment))

    def open(self, cache: Path | None = None) -> Assignment:
        """The assignment. Own files that this machine has not are written to a folder of the cache; the environment
        names the folders of own files from here on."""
        if all(file.is_here() for file in self.files):
            for file in self.files:
                if file.variable:  # which this process need not have
                    os.environ[file.variable] = str(Path(file.path).parent)
                import_file(Path(file.path))
        else:
            self._import_copies((cache or Path(".hashbench")) / "own")
        # The content is from the process that planned the sweep.
        assignment: Assignment = pickle.loads(self.content)  # noqa: S301
        return assignment

    def _import_copies(self, root: Path) -> None:
        """Imports copies of all own files."""
        for files in self._by_folder():
            names = hashlib.sha256("".join(file.sha256 for file in files).encode()).hexdigest()[:16]
            for file in files:
                copied = file.copy(root / names)
                if file.variable:
                    os.environ[file.variable] = str(root / names)
                import_file(copied)

    def _by_folder(self) -> Iterator[list[OwnFile]]:
        for folder in dict.fromkeys(Path(file.path).parent for file in self.files):
            yield [file for file in self.files if Path(file.path).parent == folder]


def _variable_of(folder: Path) -> str:
    """The environment variable that names a folder of the user's own embeddings, tasks and the like."""
    named = (name for name, value in os.environ.items() if name.startswith("HASHBENCH_") and value)
    return next((name for name in named if Path(os.environ[name]).resolve() == folder), "")
