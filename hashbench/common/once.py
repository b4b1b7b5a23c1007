"""Files and folders that are made once, however many workers ask at the same time, and whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from hashbench.common.checksums import Damaged, is_listed, remove, seal, set_aside
from hashbench.common.shared import SharedFolder
from hashbench.common.showing import tell


def make_once(
    path: Path,
    build: Callable[[Path], None],
    *,
    older: Callable[[Path], bool] | None = None,
    listed: bool = True,
    shared: SharedFolder | None = None,
) -> Path:
    """`path`, a file or a folder, made by `build` where it is not there, or not what was written.

    `build` gets a path beside it where nothing is, and makes the file or folder there; it takes its name once it is
    whole. A worker that is killed leaves a partial one that the next one removes; the others wait at a lock that the
    system gives up with its holder. What an earlier version made without checksums is made again, unless `older` finds
    it right. `listed` False: no cache, so it gets no checksums and stays as it is. `shared`: where other machines may
    have put it, and where it is put for them.
    """
    if not _is_here(path, listed):
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.lock"):
            if not _is_right(path, older, listed):  # made while we waited
                partial = path.with_name(f"{path.name}.partial")
                remove(partial)
                if shared is None or not shared.fetch(path, partial):
                    remove(partial)
                    build(partial)
                if listed:
                    seal(path, partial)
                os.replace(partial, path)
    if shared is not None:
        shared.put(path)
    return path


def _is_here(path: Path, listed: bool) -> bool:
    """True where `path` can be used as it is; looked up without the lock, so another worker may just be mending it."""
    try:
        return path.exists() and (not listed or is_listed(path))
    except (Damaged, FileNotFoundError):
        return False


def _is_right(path: Path, older: Callable[[Path], bool] | None, listed: bool) -> bool:
    """True where `path` can be used as it is; what cannot is out of the way afterwards."""
    if not path.exists() or not listed:
        return path.exists()
    try:
        if is_listed(path):
            return True
    except Damaged as damage:
        set_aside(path, damage)
        return False
    if older is not None and older(path):
        seal(path)
        tell(f"{path}: an earlier version made it; it is right, and has checksums from now on")
        return True
    if older is not None:
        set_aside(path, f"{path}: is not what it should be, and has no checksums")
        return False
    tell(f"{path}: an earlier version made it without checksums; made again")
    remove(path)
    return False
