"""Folders that are made once, however many workers ask at the same time, and whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock


def make_once(folder: Path, build: Callable[[Path], None]) -> Path:
    """`folder`, filled by `build` if it is not there yet.

    `build` gets an empty folder beside it, which takes its name once it is whole. A worker that is killed leaves a
    partial folder that the next one removes; the others wait at a lock that the system gives up with its holder.
    """
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if folder.exists():  # made while we waited
            return folder
        partial = folder.with_name(f"{folder.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        build(partial)
        os.replace(partial, folder)
    return folder
