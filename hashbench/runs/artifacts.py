"""Where runs leave the files that other runs, exports and people read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from hashbench.errors import InputError
from hashbench.store.engine import Store
from hashbench.store.result import Artifact
from hashbench.store.status import artifacts

SHORT = 12  # letters of a run id in a message


@dataclass(frozen=True)
class ModelFiles:
    """The files of one trained model."""

    folder: Path

    @property
    def weights(self) -> Path:
        """Weights of embedding and encoder."""
        return self.folder / "weights.safetensors"

    @property
    def head(self) -> Path:
        """Weights of the head."""
        return self.folder / "head.safetensors"

    def at(self, step: int) -> Path:
        """Weights of embedding and encoder at an earlier step of the training."""
        return self.folder / f"step-{step}.safetensors"

    @property
    def coder(self) -> Path:
        """The items and maps of a coder that was fitted on items."""
        return self.folder / "coder.npz"


@dataclass(frozen=True)
class ArtifactFolder:
    """The files of all runs below one cache folder."""

    cache: Path

    @property
    def root(self) -> Path:
        """The folder to which the store's artifact URLs are relative."""
        return self.cache / "artifacts"

    def files(self, run_id: str) -> ModelFiles:
        """The files that a run leaves for good."""
        return ModelFiles(self.root / run_id)

    def waiting(self, run_id: str) -> ModelFiles:
        """The files that a run leaves until the runs that wait for it are done."""
        return ModelFiles(self.cache / "finetuned" / run_id)

    def stored(self, kind: str, path: Path) -> Artifact:
        """A file under the root as the store names it."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return Artifact(kind, path.relative_to(self.root).as_posix(), path.stat().st_size, digest)


def kept_files(store: Store, run_id: str, folder: ArtifactFolder, *, with_head: bool) -> dict[str, Path]:
    """The files of a finished training by kind: weights, and its head. Raises InputError where they are not there."""
    files = {each.kind: folder.root / each.url for each in artifacts(store, run_id)}
    short = run_id[:SHORT]
    for kind in ("weights", "head") if with_head else ("weights",):
        if kind not in files:
            again = f"hashbench db void {short} --db {store.name} --reason weights, then sweep with keep_weights=best"
            raise InputError(f"run {short}: its weights were not kept; {again}")
        if not files[kind].is_file():
            raise InputError(f"run {short}: {files[kind]} is gone; set HASHBENCH_CACHE to where it was swept")
    return files
