"""User-defined Python files as modules: each text is imported once, and is another module than any other text."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Mapping
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from hashbench.common.errors import InputError, first_line

OWN_MODULE = "hashbench_own_"  # begins the name of a module that is a user-defined file
_own_modules: dict[str, ModuleType] = {}  # by name: looked up too often to go through all of sys.modules
_running: list[Path] = []  # files that run now because they are imported


def import_file(path: Path) -> ModuleType:
    """A Python file as a module, imported once a process. Raises InputError where it is missing or does not import."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; name a Python file, from the folder of the experiment file")
    # The content is in the name, so that a changed file is a new module, equal file names do not meet, and a copy of
    # the file on another machine is the same module.
    text = path.read_bytes()
    name = f"{OWN_MODULE}{path.stem}_{_digest(text)}"
    if name in _own_modules:
        return _own_modules[name]
    loader = _TextLoader(name, str(path), text)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = _own_modules[name] = module  # before the file runs: dataclasses and pickle look it up
    _running.append(path)
    try:
        loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name], _own_modules[name]
        reason = f"{type(error).__name__}: {first_line(error)}"
        raise InputError(f"{path}: cannot be imported: {reason}; correct the file") from error
    finally:
        _running.pop()
    return module


def is_importing() -> bool:
    """True while a user-defined file runs because it is imported."""
    return bool(_running)


def digest_of(path: Path) -> str:
    """The digest of a user-defined file's text that the names of its classes end in."""
    return _digest(path.read_bytes())


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:12]


class _TextLoader(SourceFileLoader):
    """Runs the text that a module's name has the digest of.

    Compiled code that Python keeps beside a file is another text's where both have one size and one time of change.
    """

    def __init__(self, name: str, path: str, text: bytes) -> None:
        super().__init__(name, path)
        self._text = text

    def get_data(self, path: str) -> bytes:
        return self._text

    def path_stats(self, path: str) -> Mapping[str, Any]:
        raise OSError("no compiled code is read or written")


def own_modules() -> list[ModuleType]:
    """The user-defined files that this process has imported, plug-ins among them."""
    return list(_own_modules.values())


def text_of(module: ModuleType) -> bytes:
    """The text of a user-defined file as it was when it was imported."""
    assert isinstance(module.__loader__, _TextLoader)
    return module.__loader__.get_data("")


def digest_in(module: str) -> str:
    """The digest of the text in the name of a module that is a user-defined file, as in the names of its classes."""
    return module.rpartition("_")[2]


def is_own(module: str) -> bool:
    """True for the name of a module, such as the module of a class, that is a user-defined file."""
    return module.startswith(OWN_MODULE)
