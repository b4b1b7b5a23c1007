"""Reports as files: whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hashbench.errors import InputError


def write_whole(output: Path, text: str) -> None:
    """Replaces a file in one step, so that nobody ever reads half of it; a device or pipe is written to as it is.

    Raises InputError where that cannot be.
    """
    try:
        if output.exists() and not output.is_file():
            output.write_text(text, encoding="utf-8")
        else:
            _replace(output.resolve(), text)  # a link goes on pointing to its file
    except OSError as error:
        raise InputError(f"--output {output}: {error.strerror}; give a file in a folder that exists") from error


def _replace(output: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=output.parent, prefix=f".{output.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, output.stat().st_mode & 0o777 if output.exists() else 0o666 & ~_umask())
        os.replace(name, output)
    except BaseException:
        os.unlink(name)
        raise


def _umask() -> int:
    """The rights that new files are made without; mkstemp takes all but the owner's."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
