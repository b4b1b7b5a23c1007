"""A cache folder: its rooms, its mark, how large it is, when it was last used, and which parts of it can be removed.

All in it can be made again but for the weights of `artifacts`, which exports and evaluations read. A sweep and each of
its workers hold a shared lock on the folder while they are at work, so that nothing is removed under them.

A cache bears a mark, which is written before the first thing in it. Nothing is removed from a folder without one, or
from a room that is not of this program, or behind a link: HASHBENCH_CACHE may name any folder of the user's.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hashbench.common.checksums import BAD, MANIFEST, remove
from hashbench.common.errors import InputError
from hashbench.common.showing import printable

VARIABLE, DEFAULT = "HASHBENCH_CACHE", ".hashbench"
LOCK, MEASURING = "in-use.lock", "measuring.lock"
MARK = "hashbench-cache.txt"
MARK_TEXT = "A cache of hashbench.\n"
WEIGHTS = "artifacts"
WAITING = "finetuned"
CHECKPOINTS = "running"
FONTS, FONTS_VARIABLE = "matplotlib", "MPLCONFIGDIR"  # which matplotlib makes before anything else is here
DAY_S = 86_400.0
# The folders of a cache: weights of finished runs (WEIGHTS); weights that wait for runs that read them (WAITING);
# checkpoints and logs of runs that were not done; results that wait for the database (`finished`); and what can be made
# again: type ids, vocabularies, codes, files from other machines (`own`), of Weights & Biases, kernels, fonts, and
# scripts and logs of Slurm jobs.
FOLDERS = (
    WEIGHTS, WAITING, CHECKPOINTS, "finished", "corpora", "vocabularies", "tasks", "codes", "coders", "phrases",
    "measured", "fingerprints", "hub", "own", "wandb", "numba", "slurm", FONTS,
)  # fmt: skip
KEPT = ("finished",)  # never removed: nowhere else
# Beside the folders; the example database is unpacked into ~/.cache/hashbench, which is also a usual place of a cache
OWN_FILE = re.compile(rf"{re.escape(MARK)}|{re.escape(LOCK)}|{re.escape(MEASURING)}|example-[0-9a-f]+\.db")
RUN_ID = re.compile("[0-9a-f]{64}")
# Rooms whose names folders of the user's data have too; what this program makes in them is called by a digest
OF_DATA = ("corpora", "tasks")
BY_DIGEST = re.compile("[0-9a-f]{64}.*", re.DOTALL)
NAME_CHARACTERS = 80  # letters of a name in a message


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


def named_cache() -> Path | None:
    """The folder in HASHBENCH_CACHE; None where that is not set, or empty, which counts as not set."""
    named = os.environ.get(VARIABLE)
    return Path(named).absolute() if named else None


def mark(cache: Path) -> bool:
    """True where a folder bears the mark of a cache, which it gets now if it is new, empty or an older cache.

    A folder with anything else in it gets none: it can be used, and `cleaned` refuses it. Raises nothing: whoever
    writes into a folder that cannot be written gets the error.
    """
    if _has_mark(cache):
        return True
    with contextlib.suppress(OSError):
        cache.mkdir(parents=True, exist_ok=True)
        if not why_no_cache(cache):
            # Whole at once: another process may look at it now
            part = cache / f"{MARK}.{os.getpid()}.part"
            part.write_text(MARK_TEXT, "utf-8")
            os.replace(part, cache / MARK)
    return _has_mark(cache)


def why_no_cache(cache: Path) -> str:
    """Why a folder is no cache of this program, in words; "" for one, for an empty folder, and for one that is missing.

    An older cache has no mark. It has a sweep's lock, or a cache's name, and nothing that is unknown.
    """
    if _has_mark(cache) or not os.path.lexists(cache):
        return ""
    if not cache.is_dir():
        return "it is no folder"
    names = {path.name: path for path in sorted(cache.iterdir()) if not path.name.startswith(f"{MARK}.")}
    if os.environ.get(FONTS_VARIABLE) == str(cache / FONTS):
        names.pop(FONTS, None)
    for name, path in names.items():
        if not (name in FOLDERS and is_folder(path) or OWN_FILE.fullmatch(name) and _is_plain(path)):
            return f"{printable(name[:NAME_CHARACTERS])!r} in it is not of hashbench"
    is_older = not names.keys() & set(FOLDERS) or LOCK in names or cache.name == DEFAULT
    return "" if is_older else f"it has neither {MARK} nor the lock of a sweep"


def folder_of_run(cache: Path, room: str, run_id: str) -> Path:
    """The folder of a run in a room of the cache.

    Here alone the id of a run becomes a path. Raises InputError unless it is one, 64 hexadecimal digits: a database, an
    archive or a file may hold any text in its place.
    """
    if not RUN_ID.fullmatch(run_id):
        shown = printable(run_id[:NAME_CHARACTERS])
        raise InputError(f"run {shown!r}: no id of a run, which has 64 hexadecimal digits; see hashbench db check")
    return cache / room / run_id


@contextlib.contextmanager
def using(cache: Path) -> Iterator[None]:
    """Holds a shared lock on the cache during the block, which keeps `cleaned` out. Many processes may hold it.

    A folder of the user's that is no cache gets no lock: nothing is removed from it anyway.
    """
    cache.mkdir(parents=True, exist_ok=True)
    if not mark(cache):
        yield
        return
    with (cache / LOCK).open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield


def entries(cache: Path) -> list[CacheEntry]:
    """All entries of the folders of a cache, without links, locks, and lists of checksums, which belong to an entry."""
    folders = [folder for folder in sorted(cache.iterdir()) if is_folder(folder)] if cache.is_dir() else []
    all_of = (_entry(path) for room in folders for path in sorted(room.iterdir()) if _is_thing(path))
    return [entry for entry in all_of if entry is not None]


def total_bytes(some: Iterable[CacheEntry]) -> int:
    """Total size of entries in bytes."""
    return sum(entry.n_bytes for entry in some)


def cleaned(
    cache: Path, *, older_than_s: float, named: Collection[str] | None = None, dry_run: bool = False
) -> list[CacheEntry]:
    """Removes the entries last used at least `older_than_s` seconds ago, or none with `dry_run`; returns these entries.

    `named`: ids of the runs whose weights stay, the others' go; None: all weights stay. Results that wait for the
    database never go, unless they were set aside as damaged. Raises InputError for a folder that is no cache, while a
    sweep uses it, and where something cannot be removed.
    """
    try:
        if why := why_no_cache(cache):
            raise InputError(
                f"{cache}: is no cache of hashbench ({why}), so nothing was removed; set {VARIABLE} to one"
            )
        if not cache.is_dir() or not any(cache.iterdir()):
            return []
        until = time.time() - older_than_s
        with _alone(cache):
            old = [entry for entry in entries(cache) if entry.used_at <= until]
            going = [entry for entry in old if _may_go(entry, named)]
            if not dry_run:
                _remove(going, cache)
    except OSError as error:
        raise InputError(f"{cache}: {error.strerror} ({error.filename}); see whose files these are") from error
    return going


def remove_leftovers(cache: Path, done: Sequence[str]) -> None:
    """Removes checkpoints and logs of the runs `done`, left by a worker that was killed right after its last result."""
    for run_id in done:
        remove(folder_of_run(cache, CHECKPOINTS, run_id))


def is_folder(path: Path) -> bool:
    """True for a folder, and not for a link to one."""
    return path.is_dir() and not path.is_symlink()


def _may_go(entry: CacheEntry, named: Collection[str] | None) -> bool:
    if entry.room not in FOLDERS or entry.room in OF_DATA and not BY_DIGEST.fullmatch(entry.path.name):
        return False
    if entry.path.name.endswith(BAD):
        return True
    if entry.room == WEIGHTS:
        return named is not None and RUN_ID.fullmatch(entry.path.name) is not None and entry.path.name not in named
    return entry.room not in KEPT


def _remove(going: Sequence[CacheEntry], cache: Path) -> None:
    for entry in going:
        remove(entry.path)
    for lock in _locks(cache):  # nobody waits at one now
        lock.unlink(missing_ok=True)
    if stays := [entry.path for entry in going if os.path.lexists(entry.path)]:
        what = f"{len(stays)} of {len(going)} entries could not be removed, as {stays[0].relative_to(cache)}"
        raise InputError(f"{cache}: {what}; see whose files these are")


def _has_mark(cache: Path) -> bool:
    path = cache / MARK
    with contextlib.suppress(OSError, UnicodeError):
        return _is_plain(path) and path.read_text("utf-8") == MARK_TEXT
    return False


def _is_plain(path: Path) -> bool:
    """True for a file, and not for a link, a pipe or a device."""
    return stat.S_ISREG(path.lstat().st_mode)


def _locks(cache: Path) -> Iterator[Path]:
    for room in FOLDERS:
        if is_folder(cache / room):
            yield from (path for path in (cache / room).glob("*.lock") if _is_plain(path))


@contextlib.contextmanager
def _alone(cache: Path) -> Iterator[None]:
    with (cache / LOCK).open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{cache}: a sweep is using this cache; clean it when the sweep is done") from None
        yield


def _is_thing(path: Path) -> bool:
    """True unless a path is a link, or only belongs to another entry: a lock, or the list of checksums beside a file.

    This program makes no links.
    """
    if path.is_symlink() or path.suffix == ".lock":
        return False
    return not (path.is_file() and path.name.endswith(f".{MANIFEST}"))


def _entry(path: Path) -> CacheEntry | None:
    """The entry at a path; None where another process has just removed it. Looks behind no link."""
    files = [Path(folder, name) for folder, _, names in os.walk(path) for name in names] if path.is_dir() else [path]
    facts = []
    for file in (path, *files):
        with contextlib.suppress(FileNotFoundError):
            facts.append(file.lstat())
    if not facts:
        return None
    used = max(max(fact.st_mtime, fact.st_atime) for fact in facts[1:] or facts)
    return CacheEntry(path, sum(fact.st_size for fact in facts[1:]), 0.0 if path.name.endswith(BAD) else used)
