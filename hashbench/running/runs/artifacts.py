"""Paths of the files that runs leave for other runs, for exports and for people."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from hashbench.common.cache import CHECKPOINTS, NAME_CHARACTERS, WAITING, WEIGHTS, folder_of_run
from hashbench.common.checksums import FileSum, manifest_of, read_listing, remove
from hashbench.common.errors import InputError
from hashbench.common.shared import SharedFolder, make_once
from hashbench.common.shipped import EXAMPLE
from hashbench.common.showing import RUN_ID_LETTERS, printable
from hashbench.store.engine import Store
from hashbench.store.result import Artifact
from hashbench.store.status import artifacts

PLACE = "HASHBENCH_ARTIFACTS"  # the variable in place of --artifacts


class NotThere(Exception):
    """Raised and caught in this module: a file is neither in the cache nor in the shared folder."""


@dataclass(frozen=True)
class ModelFiles:
    """The files of one trained model."""

    folder: Path

    @property
    def weights(self) -> Path:
        """File of the weights of embedding and encoder."""
        return self.folder / "weights.safetensors"

    @property
    def head(self) -> Path:
        """File of the weights of the head."""
        return self.folder / "head.safetensors"

    def at(self, step: int) -> Path:
        """File of the weights of embedding and encoder at an earlier step of the training."""
        return self.folder / f"step-{step}.safetensors"

    @property
    def coder(self) -> Path:
        """File of the items and hash maps of a coder that was fitted on items."""
        return self.folder / "coder.npz"


@dataclass(frozen=True)
class ArtifactFolder:
    """The files of all runs below one cache folder, and the folder in which machines share them, if there is one."""

    cache: Path
    shared: SharedFolder | None = None

    @classmethod
    def of_environment(cls, cache: Path) -> ArtifactFolder:
        """The artifact folder of a cache, shared at the URL in HASHBENCH_ARTIFACTS, if that is set."""
        url = os.environ.get(PLACE, "")
        return cls(cache, SharedFolder.at(url, cache) if url else None)

    @classmethod
    def at(cls, cache: Path, url: str) -> ArtifactFolder:
        """The artifact folder of a cache, shared at a URL that was checked before; not shared if the URL is empty."""
        return cls(cache, SharedFolder(url, cache) if url else None)

    @property
    def root(self) -> Path:
        """The folder to which the store's artifact URLs are relative."""
        return self.cache / WEIGHTS

    def files(self, run_id: str) -> ModelFiles:
        """Paths of the files that a run leaves for good."""
        return ModelFiles(folder_of_run(self.cache, WEIGHTS, run_id))

    def waiting(self, run_id: str) -> ModelFiles:
        """Paths of the files that a run leaves until the runs that need it are done."""
        return ModelFiles(folder_of_run(self.cache, WAITING, run_id))

    def running(self, run_id: str) -> Path:
        """The folder of a run that is being carried out, for its checkpoints and logs."""
        return folder_of_run(self.cache, CHECKPOINTS, run_id)

    def stored_at(self, url: str) -> Path:
        """The path of a file of the store by its URL, "ID/NAME". Raises InputError for any other one."""
        run_id, _, name = url.partition("/")
        if name != Path(name).name or name in ("", "..") or not name.isprintable():
            raise InputError(
                f"artifact {printable(url[:NAME_CHARACTERS])!r}: no name of a run's file; see hashbench db check"
            )
        return folder_of_run(self.cache, WEIGHTS, run_id) / name

    def stored(self, kind: str, path: Path) -> Artifact:
        """The store's entry for a file under the root that a run has just written, which is shared too."""
        self.share(path)
        listing = read_listing(manifest_of(path))
        written = FileSum.of(path) if listing is None else listing[path.name]
        return Artifact(kind, path.relative_to(self.root).as_posix(), written.bytes, written.sha256)

    def share(self, path: Path) -> None:
        """Copies a file of the cache to the shared folder, if there is one."""
        if self.shared is not None:
            self.shared.put(path)

    def has(self, path: Path, sums: Collection[FileSum] = ()) -> bool:
        """True when a file that a run left is here undamaged, if need be fetched from the shared folder.

        A damaged one is set aside with a line. `sums`: the file's stored checksums; a file with one of
        them is fetched, and a file that an earlier version left without checksums must match one.
        """

        def fetch(part: Path) -> None:
            if self.shared is None or not self.shared.fetch(path, part, sums):
                raise NotThere

        try:
            make_once(path, fetch, older=lambda file: not sums or FileSum.of(file) in sums)
        except NotThere:
            return False
        self.share(path)
        return True

    def remove(self, path: Path) -> None:
        """Removes a file or folder from the cache and from the shared folder."""
        remove(path)
        if self.shared is not None:
            self.shared.remove(path)


def objective_head(weights: Path) -> Path:
    """File of the head of a pre-training's objective, beside the weights of embedding and encoder."""
    return weights.with_suffix(".head.safetensors")


def sum_of(artifact: Artifact) -> FileSum:
    """Bytes and SHA-256 of a file as its row in the store gives them."""
    return FileSum(artifact.bytes, artifact.sha256)


def kept_files(store: Store, run_id: str, folder: ArtifactFolder, *, with_head: bool) -> dict[str, Path]:
    """Paths of the files that a finished training kept, by kind. Raises InputError for missing weights or head."""
    stored = {artifact.kind: artifact for artifact in artifacts(store, run_id)}
    files = {kind: folder.stored_at(artifact.url) for kind, artifact in stored.items()}
    short = run_id[:RUN_ID_LETTERS]
    for kind in ("weights", "head") if with_head else ("weights",):
        if kind not in files:
            again = f"hashbench db void {short} --db {store.name} --reason weights, then sweep with keep_weights=best"
            if store.name == EXAMPLE:  # which is only read, and never had any
                again = "the example database has none; sweep its experiment yourself (hashbench sweep NAME)"
            raise InputError(f"run {short}: its weights were not kept; {again}")
        if not folder.has(files[kind], [sum_of(stored[kind])]):
            remedy = f"set HASHBENCH_CACHE to where it was swept, or {PLACE} to where it was shared"
            raise InputError(f"run {short}: {files[kind]} is gone; {remedy}")
    return files
