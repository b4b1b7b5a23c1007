"""The assignment of a sweep's workers, and its packed form for processes of this and other machines."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

from hashbench.common.atomic import atomic_write
from hashbench.common.cache import DEFAULT, mark
from hashbench.common.errors import InputError
from hashbench.common.own_files import digest_in, import_file, own_modules, text_of
from hashbench.common.registry import VARIABLE, plugin_files
from hashbench.running.experiment.resolved import ResolvedExperiment
from hashbench.running.runs.artifacts import ArtifactFolder
from hashbench.running.runs.base import Workplace
from hashbench.running.runs.materials import Materials
from hashbench.store.planning import Run


@dataclass(frozen=True)
class Assignment:
    """All that a worker of a sweep needs: database, experiment, runs, cache, threads, GPUs and shared folder."""

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
    # On a cluster: CPUs and GPUs of each process of a run on several devices; None: this machine's, which sees to it
    process: Mapping[str, float] | None = None

    def workplace(self) -> Workplace:
        """The experiment, its runs, the prepared data and the files that the runs of one process share."""
        folder = self.artifact_folder()
        resolved = self.resolved
        materials = Materials(
            resolved.sources, self.cache, resolved.tasks, folder.shared, corpora=resolved.corpora, pairs=resolved.pairs
        )
        return Workplace(resolved, self.runs, materials, folder)

    def for_elsewhere(self) -> Assignment:
        """The assignment for a process in another folder, which may see other GPUs."""
        return replace(self, db=self.db if "://" in self.db else str(Path(self.db).absolute()), gpus=())

    def artifact_folder(self) -> ArtifactFolder:
        """The files of runs in the cache and in the folder that machines share."""
        return ArtifactFolder.at(self.cache, self.artifacts)


@dataclass(frozen=True)
class OwnFile:
    """A user's Python file with its text, for a machine that may not have it."""

    path: str  # where it lies on the machine that planned
    text: str
    sha256: str
    is_plugin: bool  # whether HASHBENCH_PLUGINS names it or its folder

    @classmethod
    def of(cls, module: ModuleType) -> OwnFile:
        """The file of an imported module, with the text that was imported: it may be edited since, or gone."""
        content, path = text_of(module), Path(str(module.__file__)).resolve()
        named = {file.resolve() for file in plugin_files(os.environ.get(VARIABLE, ""))}
        return cls(str(path), content.decode(), hashlib.sha256(content).hexdigest(), path in named)

    def is_here(self) -> bool:
        """True when this machine has an equal file at the same path."""
        path = Path(self.path)
        return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == self.sha256

    def copy(self, folder: Path) -> Path:
        """Writes the file into a folder; returns its path. Raises InputError where its text is not what was sent."""
        content = self.text.encode()
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise InputError(f"{self.path}: its text did not arrive as it was sent; start the sweep again")
        copied = folder / Path(self.path).name
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_write(copied) as part:
            part.write_bytes(content)
        return copied


def pack(assignment: Assignment) -> bytes:
    """An assignment for another process, perhaps on another machine: `unpack` opens it.

    With it go the plug-ins and the user-defined files that it names, which must be imported before it is unpickled.
    Other files that this process imported belong to other sweeps of it, and may be of no use to a worker.
    """
    content = pickle.dumps(assignment)
    files = [(OwnFile.of(module), digest_in(module.__name__)) for module in own_modules()]
    named = tuple(file for file, digest in files if file.is_plugin or digest.encode() in content)
    return pickle.dumps((named, content))


def unpack(packed: bytes, cache: Path | None = None) -> Assignment:
    """Imports the user-defined files and returns the assignment.

    Files that this machine has not are written to a folder of the cache. From here on HASHBENCH_PLUGINS names the
    plug-ins of the process that planned.
    """
    files, content = files_in(packed)
    paths = [Path(file.path) for file in files]
    if not all(file.is_here() for file in files):
        paths = _copies(files, (cache or Path(DEFAULT)) / "own")
    for path in paths:
        import_file(path)
    named = [str(path) for path, file in zip(paths, files, strict=True) if file.is_plugin]
    if named:  # a process on another machine has another environment
        os.environ[VARIABLE] = os.pathsep.join(named)
    assignment: Assignment = pickle.loads(content)  # noqa: S301
    return assignment


def files_in(packed: bytes) -> tuple[tuple[OwnFile, ...], bytes]:
    """The user-defined files of a packed assignment, and its content."""
    # The bytes are from the process that planned the sweep.
    files, content = pickle.loads(packed)  # noqa: S301
    return files, content


def _copies(files: Sequence[OwnFile], root: Path) -> list[Path]:
    """Writes copies of all user-defined files below `root`, files of one folder together; returns their paths."""
    mark(root.parent)
    digests: dict[Path, str] = {}
    for file in files:
        folder = Path(file.path).parent
        digests[folder] = digests.get(folder, "") + file.sha256
    names = {folder: hashlib.sha256(text.encode()).hexdigest()[:16] for folder, text in digests.items()}
    return [file.copy(root / names[Path(file.path).parent]) for file in files]
