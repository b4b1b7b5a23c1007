"""Files that come with the program: the experiments, by name, and the example database.

An installed wheel has them as package data, the database compressed (`hatch_build.py` at the top of the repository); a
checkout has them in its top folder.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import lzma
import os
import shutil
import tempfile
import weakref
from pathlib import Path

from hashbench.common.atomic import atomic_write
from hashbench.common.errors import InputError, near_match
from hashbench.common.showing import tell

PACKAGE = Path(__file__).resolve().parents[1]
PACKED = PACKAGE / "shipped"  # exists in an installed wheel alone
EXAMPLE = "example"  # the name of the example database, as in --db example
YAML = (".yaml", ".yml")
KEPT_DIGITS = 16  # of the SHA-256 in the name of an unpacked database


def experiments() -> dict[str, Path]:
    """The files of the experiments that come with the program, by name, in alphabetical order."""
    folder = PACKED / "experiments" if PACKED.is_dir() else PACKAGE.parent / "experiments"
    return {file.stem: file for file in sorted(folder.glob("*.yaml"))}


def experiment_file(name: str | Path) -> Path:
    """The file that an experiment is named by: a path, or NAME for NAME.yaml here, else for the one of the program.

    A file of the working folder that hides an experiment of the program is named on stderr. What is none of these is
    returned as it is: whoever reads it says what is wrong.

    >>> experiment_file("quickstart").name, str(experiment_file("folder/quickstart"))
    ('quickstart.yaml', 'folder/quickstart')
    """
    path, shipped = Path(name), experiments()
    if not is_plain(str(name)):
        return path
    own = next((file for file in (path, Path(f"{name}.yaml")) if file.is_file()), None)
    if own is not None and str(name) in shipped:
        _tell_once(f"{name}: the file {own} of this folder, not the experiment of this name that comes with hashbench")
    return own or shipped.get(str(name), path)


def is_plain(name: str) -> bool:
    """True for a name without folders and without the ending of a YAML file."""
    return Path(name).name == name and Path(name).suffix not in YAML


def hint_of(path: Path) -> str:
    """Hint for a missing experiment file; "" if no shipped experiment has a similar name."""
    names = list(experiments())
    if path.stem in names and path.suffix in YAML:
        return f"; the experiment of that name that comes with hashbench is written {path.stem}"
    if not is_plain(str(path)):
        return ""
    return f", and no experiment has this name{near_match(str(path), names)} (list: hashbench experiments)"


def example_here() -> Path | None:
    """The file `example` of the working folder, which hides the example database and is named on stderr; else None."""
    own = Path(EXAMPLE)
    if not own.exists():
        return None
    _tell_once(f"--db {EXAMPLE}: the file {own.resolve()}, not the example database that comes with hashbench")
    return own


@functools.cache
def example_database() -> Path:
    """The example database as a SQLite file, which must not be changed.

    That of a wheel is unpacked once, into the user's cache folder, or for this process alone where that cannot be
    written. Raises InputError where the installation has none.
    """
    packed = PACKED / "example.db.xz"
    if not packed.is_file():
        plain = PACKAGE.parent / "results.db.example"
        if not plain.is_file():
            raise InputError(f"{EXAMPLE}: this installation has no example database; install a wheel of hashbench")
        return plain
    data = packed.read_bytes()
    name = f"example-{hashlib.sha256(data).hexdigest()[:KEPT_DIGITS]}.db"
    cache = Path(os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache")) / "hashbench"
    with contextlib.suppress(OSError):
        return _unpacked(data, cache / name)
    folder = Path(tempfile.mkdtemp(prefix="hashbench-"))
    weakref.finalize(example_database, shutil.rmtree, folder, ignore_errors=True)
    return _unpacked(data, folder / name)


def _unpacked(data: bytes, path: Path) -> Path:
    """The file at `path`, unpacked if it does not exist."""
    if not path.is_file():
        with atomic_write(path) as part:
            part.write_bytes(lzma.decompress(data))
            part.chmod(0o444)
    return path


@functools.cache
def _tell_once(line: str) -> None:
    tell(line)
