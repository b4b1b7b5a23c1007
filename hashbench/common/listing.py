"""Registries by listing: the modules of a package's folder, and of a folder of the user's own."""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from hashbench.common.errors import InputError, first_line, near_match

T = TypeVar("T")
OWN_MODULE = "hashbench_own_"  # begins the name of a module that is a user's own file
_own_modules: dict[str, ModuleType] = {}  # by name: asked for too often to look through all of sys.modules


def modules_in(package: str, variable: str = "", what: str = "") -> list[ModuleType]:
    """The modules of a package, by name, and the files of the folder that the environment's `variable`, if any, names.

    Raises InputError where that is no folder; `what` says in its message what the files would hold.
    """
    modules = [*_modules_of(package)]
    extra = os.environ.get(variable) if variable else None
    if extra:
        if not Path(extra).is_dir():
            raise InputError(f"{variable}: {extra!r} is no folder; name the one with your {what}")
        modules += [import_file(file) for file in sorted(Path(extra).glob("*.py"))]
    return modules


@functools.cache
def _modules_of(package: str) -> tuple[ModuleType, ...]:
    folder = Path(str(importlib.import_module(package).__file__)).parent
    return tuple(
        importlib.import_module(f"{package}.{file.stem}")
        for file in sorted(folder.glob("*.py"))
        if file.stem not in ("__init__", "registry")
    )


def by_name(
    modules: Iterable[ModuleType], what: str, entries: Callable[[ModuleType], Iterable[tuple[str, T]]]
) -> dict[str, T]:
    """All entries of the modules by name. Raises InputError that names both files of a double name."""
    listed: dict[str, T] = {}
    files: dict[str, str | None] = {}
    for module in modules:
        for name, entry in entries(module):
            if name in listed:
                raise InputError(f"{module.__file__}: {what} {name!r} is already in {files[name]}; rename one of them")
            listed[name], files[name] = entry, module.__file__
    return listed


def make_named(
    classes: Mapping[str, Callable[..., T]], what: str, key: str, name: str, arguments: Mapping[str, object]
) -> T:
    """An object of the class of this name.

    Raises InputError for an unknown name (called `key`), an unknown argument, or one that is missing.
    """
    if name not in classes:
        hint = f"{near_match(name, list(classes))}; choose from {', '.join(classes)}"
        raise InputError(f"{what}: unknown {key} {name!r}{hint}")
    signature = inspect.signature(classes[name])
    parameters = list(signature.parameters)
    for argument in arguments:
        if argument not in parameters:
            hint = f"{near_match(argument, parameters)}; it takes {', '.join(parameters) or 'none'}"
            raise InputError(f"{what} {name}: unknown argument {argument!r}{hint}")
    for parameter in signature.parameters.values():
        optional = parameter.default is not parameter.empty or parameter.kind in (
            parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD,
        )  # fmt: skip
        if not optional and parameter.name not in arguments:
            raise InputError(f"{what} {name}: needs {parameter.name}; give it as an argument")
    return classes[name](**arguments)


def make_known(
    base: type,
    listed: Callable[[], Mapping[str, type[T]]],
    *,
    what: str,
    key: str,
    name: str,
    arguments: Mapping[str, object],
) -> T:
    """An object of the listed class of this name, or of a class in an imported file of the user's own (`own_name`).

    The latter's attribute `key` is the name, by which an edited file is another thing in recipes. Raises InputError as
    `make_named`.
    """
    own: dict[str, type[T]] = own_classes(base)
    if name not in own:
        return make_named(listed(), what, key, name, arguments)
    made = make_named(own, what, key, name, arguments)
    setattr(made, key, name)
    return made


def classes_in(module: ModuleType, base: type, key: str) -> Iterator[tuple[str, type]]:
    """The subclasses of `base` that a module defines, by their attribute `key`; a class without it is only a part."""
    for each in vars(module).values():
        if isinstance(each, type) and issubclass(each, base) and each.__module__ == module.__name__:
            if hasattr(each, key):
                yield getattr(each, key), each


def listed_classes(package: str, variable: str, what: str, base: type, key: str) -> Mapping[str, type[Any]]:
    """The classes of a package's modules, and of the folder that `variable` names, by their attribute `key`.

    Raises InputError where two have one name.
    """
    return _listed(tuple(modules_in(package, variable, f"{what}s")), what, base, key)


@functools.cache
def _listed(modules: tuple[ModuleType, ...], what: str, base: type, key: str) -> Mapping[str, type[Any]]:
    return by_name(modules, what, lambda module: classes_in(module, base, key))


def own_classes(base: type) -> dict[str, type]:
    """The subclasses of `base` in all files of the user's own that this process has imported, as `own_name` names them.

    A worker imports the same files before it asks.
    """
    return {
        f"{each.__name__}@{module.__name__.rpartition('_')[2]}": each
        for module in own_modules()
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, base) and each.__module__ == module.__name__
    }


def own_modules() -> list[ModuleType]:
    """The files of the user's own that this process has imported."""
    return list(_own_modules.values())


def is_own(module: str) -> bool:
    """Whether a module of this name, that of a class say, is a file of the user's own."""
    return module.startswith(OWN_MODULE)


def own_name(reference: str, folder: Path, base: type, what: str) -> str:
    """The name of a class of the user's own that "FILE.py:Class" means: the class with a digest of the file's text, so
    that an edited file is another thing, and a copy on another machine the same. A name without a file stays itself.

    Raises InputError where there is no such file or class; `what` says in its message what the class should be.
    """
    file, colon, name = reference.rpartition(":")
    if not colon or not file.endswith(".py"):
        return reference
    module = import_file(folder / Path(file).expanduser())
    here = {key: each for key, each in own_classes(base).items() if each.__module__ == module.__name__}
    found = {each.__name__: key for key, each in here.items()}
    if name not in found:
        remedy = f"derive it from {base.__module__}.{base.__name__}"
        raise InputError(f"{file}: no {what} class {name!r}{near_match(name, list(found))}; {remedy}")
    return found[name]


def import_file(path: Path) -> ModuleType:
    """A Python file as a module, imported once a process. Raises InputError where it is missing or does not import."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; name a Python file, from the folder of the experiment file")
    # The content is in the name, so that a changed file is a new module, equal file names do not meet, and a copy of
    # the file on another machine is the same module.
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    name = f"{OWN_MODULE}{path.stem}_{digest}"
    if name in _own_modules:
        return _own_modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = _own_modules[name] = module  # before the file runs: dataclasses and pickle look it up
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name], _own_modules[name]
        reason = f"{type(error).__name__}: {first_line(error)}"
        raise InputError(f"{path}: cannot be imported: {reason}; correct the file") from error
    return module
