"""Files and folders that are made once, however many workers ask at the same time, and whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from hashbench.checksums import Damaged, is_listed, remove, seal, set_aside, tell


def make_once(
    path: Path, build: Callable[[Path], None], *, older: Callable[[Path], bool] | None = None, listed: bool = True
) -> Path:
    """`path`, a file or a folder, made by `build` where it is not there, or not what was written.

    `build` gets a path beside it where nothing is, and makes the file or folder there; it takes its name once it is
    whole. A worker that is killed leaves a partial one that the next one removes; the others wait at a lock that the
    system gives up with its holder. What an earlier version made without checksums is made again, unless `older` finds
    it right. `listed` False: no cache, so it gets no checksums and stays as it is.
    """
    try:
        if path.exists() and (not listed or is_listed(path)):
            return path
    except (Damaged, FileNotFoundError):
        pass  # perhaps another worker is just mending it
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{path}.lock"):
        if _is_right(path, older, listed):  # made while we waited
            return path
        partial = path.with_name(f"{path.name}.partial")
        remove(partial)
        build(partial)
        if listed:
            seal(path, partial)
        os.replace(partial, path)
    return path


def _is_right(path: Path, older: Callable[[Path], bool] | None, listed: bool) -> bool:
    """Whether `path` can be used as it is; what cannot is out of the way afterwards."""
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
    tell(f"{path}: an earlier version made it without checksums; made again")
    remove(path)
    return False
