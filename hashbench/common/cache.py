"""The content of a cache folder: how large it is, when it was last used, and which parts of it can be removed.

All in it can be made again but for the weights of `artifacts`, which exports and evaluations read. A sweep and each of
its workers hold a shared lock on the folder while they are at work, so that nothing is removed under them.
"""

from __future__ import annotations

import contextlib
import fcntl
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from hashbench.common.checksums import BAD, MANIFEST, remove
from hashbench.common.errors import InputError

LOCK = "in-use.lock"
WEIGHTS = "artifacts"
CHECKPOINTS = "running"
DAY_S = 86_400.0
# What the folders of a cache hold, in words.
FOLDERS = {
    WEIGHTS: "weights of finished runs: exports and evaluations read them",
    "finetuned": "weights that wait for the runs that read them",
    CHECKPOINTS: "checkpoints and logs of runs that were not done",
    "finished": "results that wait for the database",
    "corpora": "corpora as type ids",
    "tasks": "data sets as type ids",
    "codes": "codes of types",
    "coders": "what coders learned of a corpus",
    "phrases": "corpora as items",
    "measured": "what was measured of models before their runs",
    "fingerprints": "checksums of input files",
    "hub": "what was asked of the hub",
    "own": "files of one's own, from another machine",
    "wandb": "files of Weights & Biases, as `tracking` wrote them",
    "numba": "machine code of kernels, where the installation cannot be written",
    "matplotlib": "its list of fonts, where the home folder cannot be written",
}
KEPT = ("finished",)  # never removed: nowhere else


@dataclass(frozen=True)
class CacheEntry:
    """A file or folder directly in one of the cache's folders, made and removed as a whole."""

    path: Path
    n_bytes: int
    used_at: float  # seconds since 1970

    @property
    def room(self) -> str:
        """The name of the cache's folder that contains it."""
        return self.path.parent.name


@dataclass(frozen=True)
class CacheRoom:
    """A folder directly in the cache, such as `corpora`, with its entries."""

    name: str
    entries: tuple[CacheEntry, ...]  # one at least

    @property
    def n_bytes(self) -> int:
        """Total size of its entries in bytes."""
        return total_bytes(self.entries)

    @property
    def used_at(self) -> float:
        """The latest time at which one of its entries was used, in seconds since 1970."""
        return max(entry.used_at for entry in self.entries)

    @property
    def holds(self) -> str:
        """The purpose of the folder, in words."""
        return FOLDERS[self.name] if self.name in FOLDERS else "not of this program"


@contextlib.contextmanager
def using(cache: Path) -> Iterator[None]:
    """Holds a shared lock on the cache during the block, which keeps `cleaned` out. Many processes may hold it."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / LOCK).open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield


def entries(cache: Path) -> list[CacheEntry]:
    """All entries of the folders of a cache, without locks and without lists of checksums, which belong to an entry."""
    folders = [folder for folder in sorted(cache.iterdir()) if folder.is_dir()] if cache.is_dir() else []
    return [_entry(path) for room in folders for path in sorted(room.iterdir()) if _is_thing(path)]


def rooms(cache: Path) -> list[CacheRoom]:
    """The folders of a cache that have at least one entry."""
    return [CacheRoom(name, tuple(held)) for name, held in groupby(entries(cache), key=lambda entry: entry.room)]


def total_bytes(some: Iterable[CacheEntry]) -> int:
    """Total size of entries in bytes."""
    return sum(entry.n_bytes for entry in some)


def cleaned(cache: Path, *, older_than_s: float, weights: bool = False, dry_run: bool = False) -> list[CacheEntry]:
    """Removes the entries last used at least `older_than_s` seconds ago, or none with `dry_run`; returns these entries.

    Weights of finished runs are removed only with `weights`; results that wait for the database never, unless they were
    set aside as damaged. Raises InputError while a sweep uses the folder.
    """
    if not cache.is_dir():
        return []
    spared = KEPT if weights else (*KEPT, WEIGHTS)
    until = time.time() - older_than_s
    with _alone(cache):
        old = [entry for entry in entries(cache) if entry.used_at <= until]
        going = [entry for entry in old if entry.room not in spared or entry.path.name.endswith(BAD)]
        for entry in going if not dry_run else ():
            remove(entry.path)
        for lock in cache.glob("*/*.lock") if not dry_run else ():  # nobody waits at one now
            lock.unlink(missing_ok=True)
    return going


def remove_leftovers(cache: Path, done: Sequence[str]) -> None:
    """Removes checkpoints and logs of the runs `done`, left by a worker that was killed right after its last result."""
    for run_id in done:
        remove(cache / CHECKPOINTS / run_id)


@contextlib.contextmanager
def _alone(cache: Path) -> Iterator[None]:
    with (cache / LOCK).open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{cache}: a sweep is using this cache; clean it when the sweep is done") from None
        yield


def _is_thing(path: Path) -> bool:
    """True unless a path only belongs to another entry: a lock, or the list of checksums beside a file."""
    return path.suffix != ".lock" and not (path.is_file() and path.name.endswith(f".{MANIFEST}"))


def _entry(path: Path) -> CacheEntry:
    files = [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]
    facts = [file.stat() for file in (path, *files)]
    used = max(max(fact.st_mtime, fact.st_atime) for fact in facts[1:] or facts)
    return CacheEntry(path, sum(fact.st_size for fact in facts[1:]), 0.0 if path.name.endswith(BAD) else used)
