"""The one registry: things of a kind by name, from the suite's own modules, from plug-ins and from user-defined files.

A plug-in is a Python file that HASHBENCH_PLUGINS names (itself or its folder), or a module that an installed package
names as an entry point of the group `hashbench.plugins`. It may define things of several kinds. Packages are named by
strings and imported when a kind is first looked up, so that a room may look up the names of a kind that it must not
import. Entry points and files are read in the order of names, behind the suite.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from hashbench.common.errors import InputError, first_line, near_match
from hashbench.common.own_files import digest_in, import_file, own_modules
from hashbench.common.showing import tell

VARIABLE, GROUP = "HASHBENCH_PLUGINS", "hashbench.plugins"


@dataclass(frozen=True)
class Kind:
    """A kind of thing found by name, such as models: the packages with the suite's, and how a module offers one."""

    what: str  # its name in messages, and in `registered`
    packages: tuple[str, ...]  # or modules, where one lists what lies in modules that are imported later
    base: str  # "module:Class" of the things, or of the classes where there is no export
    export: str = ""  # attribute of a module: a thing, a list of things, or a mapping by name; "": the module's classes
    key: str = "name"  # attribute that names a thing; a class without it is only a part

    def base_class(self) -> type:
        """The class that things of this kind are instances or subclasses of."""
        module, _, name = self.base.partition(":")
        base: type = getattr(importlib.import_module(module), name)
        return base

    def offered(self, module: ModuleType) -> Iterator[tuple[str, Any]]:
        """Things of this kind that a module offers, by name. What is none, or has a fault, is left out."""
        for name, thing in self.things(module):
            if self.has(thing) and not self.fault(name, thing):
                yield name, thing

    def things(self, module: ModuleType) -> list[tuple[Any, Any]]:
        """The things offered as of this kind, by name (None: it has none): a module's export, or its own classes."""
        if not self.export:
            own = [cls for cls in vars(module).values() if isinstance(cls, type)]
            own = [cls for cls in own if f"{cls.__module__}.".startswith(f"{module.__name__}.") and self.has(cls)]
            return [(getattr(cls, self.key), cls) for cls in own if hasattr(cls, self.key)]
        exported = getattr(module, self.export, ())
        if isinstance(exported, Mapping):
            return list(exported.items())
        listed = exported if isinstance(exported, list | tuple) else [exported]
        return [(getattr(thing, self.key, None), thing) for thing in listed]

    def has(self, thing: object) -> bool:
        """True for a thing of this kind. Its classes are known by name: the room of the base is not imported for it."""
        cls = type(thing) if self.export or not isinstance(thing, type) else thing
        return any(f"{part.__module__}:{part.__qualname__}" == self.base for part in cls.__mro__)

    def fault(self, name: object, thing: Any) -> str:
        """The reason why a thing of this kind cannot be used, as the end of a line; "" where it can."""
        if not isinstance(name, str) or not name:
            return f"{self.key} is {name!r}; give it a text"
        if missing := sorted(getattr(thing, "__abstractmethods__", ())) if isinstance(thing, type) else []:
            return f"the class has no {', no '.join(missing)}; define it"
        return thing.fault() if self.base == METRIC else ""


METRIC = "hashbench.scores.base:Metric"
TASK_FILES = ("hashbench.data.tasks.named", "hashbench.data.tasks.kinds")
KINDS = {
    kind.what: kind
    for kind in (
        Kind("model", ("hashbench.models.embeddings",), "hashbench.models.embeddings.base:ModelSpec", "MODELS"),
        Kind("coder", ("hashbench.models.coders",), "hashbench.models.coders.base:Coder"),
        Kind("tokenizer", ("hashbench.models.text",), "hashbench.models.text.base:Tokenizer", key="kind"),
        Kind("encoder", ("hashbench.models.encoders",), "hashbench.models.encoders.base:Architecture", "ARCHITECTURES"),
        Kind("objective", ("hashbench.models.objectives",), "hashbench.models.objectives.base:Objective", "OBJECTIVE"),
        Kind("head", ("hashbench.models.objectives",), "hashbench.models.objectives.base:TaskHead"),
        Kind("task", TASK_FILES, "hashbench.data.tasks.base:Task", "TASKS"),
        Kind("group of tasks", TASK_FILES, "builtins:tuple", "GROUPS"),
        Kind("kind of task", TASK_FILES[1:], "hashbench.data.tasks.base:TaskKind", "KIND"),
        Kind("metric", ("hashbench.scores",), METRIC, "METRICS"),
        Kind(
            "perturbation",
            ("hashbench.data.perturbations",),
            "hashbench.data.perturbations.base:Perturbation",
            "PERTURBATIONS",
        ),
        Kind("kind of run", ("hashbench.running.runs",), "hashbench.running.runs.base:RunKind", "KIND"),
        Kind("table", ("hashbench.results.tables",), "hashbench.results.tables.request:TableFile", "TABLE"),
        Kind("figure", ("hashbench.results.plots",), "hashbench.results.plots.base:Plot", "PLOT"),
        Kind(
            "format",
            ("hashbench.results.rendering.formats",),
            "hashbench.results.rendering.registry:Renderer",
            "RENDERERS",
        ),
        Kind(
            "executor",
            ("hashbench.running.sweep.executors",),
            "hashbench.running.sweep.executors:ExecutorSpec",
            "EXECUTORS",
        ),
    )
}
_registered: dict[tuple[str, str], Mapping[str, Any]] = {}  # by kind and HASHBENCH_PLUGINS
_unreadable: dict[str, str] = {}  # plug-ins that cannot be imported -> why
_faulty: dict[str, list[str]] = {}  # plug-ins from which things are left out -> why
_importing: list[str] = []  # the plug-in that is being imported, if any


def registered(what: str) -> Mapping[str, Any]:
    """All things of a kind by name, in the order of files. Raises InputError where two files use one name."""
    key = (what, os.environ.get(VARIABLE, ""))
    if key not in _registered:
        kind, files = KINDS[what], dict[str, str | None]()
        things: dict[str, Any] = {}
        suite = [module for package in kind.packages for module in modules_of(package)]
        for reason in [reason for module in suite for reason in faults_of(module, [kind])]:
            raise InputError(reason)
        for module in suite + plugins(key[1]):
            for name, thing in kind.offered(module):
                if name in things and things[name] is not thing:
                    double = f"{what} {name!r} is already in {files[name]}"
                    raise InputError(f"{module.__file__}: {double}; rename one of them")
                files.setdefault(name, module.__file__)
                things[name] = thing
        if _importing:  # looked up by a plug-in while it is imported: the others are not there yet
            return things
        _registered[key] = things
    return _registered[key]


def faults_of(module: ModuleType, kinds: Collection[Kind], place: str = "") -> list[str]:
    """The faults of the things that a module offers of some kinds, a line each. `place`: its file, for messages.

    Several kinds may share an export, as KIND: then its things are of any of these kinds.
    """
    reasons: list[str] = []
    for kind in kinds:
        others = [other for other in kinds if other.export == kind.export] if kind.export else [kind]
        for name, thing in kind.things(module) if kind is others[0] else ():
            of = next((other for other in others if other.has(thing)), None)
            shown = f"{kind.export or kind.what}{f' {name!r}' if isinstance(name, str) else ''}"
            if of is not None:
                reason = of.fault(name, thing)
            elif isinstance(thing, type):
                reason = f"a class ({thing.__name__}), no object of {_bases(others)}; see docs/extend.md"
            else:
                reason = f"of the class {type(thing).__name__}, no {_bases(others)}; see docs/extend.md"
            reasons += [f"{place or module.__file__}: {shown}: {reason}"] if reason else []
    return reasons


def _bases(kinds: Collection[Kind]) -> str:
    return " or ".join(kind.base.rpartition(":")[2] for kind in kinds)


@functools.cache
def modules_of(package: str) -> tuple[ModuleType, ...]:
    """The modules of a package of the suite, imported, in the order of names; a module that is no package alone."""
    module = importlib.import_module(package)
    if not hasattr(module, "__path__"):
        return (module,)
    folder = Path(str(module.__file__)).parent
    names = [file.stem for file in sorted(folder.glob("*.py")) if file.stem != "__init__"]
    return tuple(importlib.import_module(f"{package}.{name}") for name in names)


def plugins(places: str) -> list[ModuleType]:
    """The plug-ins of installed packages, and the plug-ins that `places`, the text of HASHBENCH_PLUGINS, names.

    One that cannot be imported is left out, and so is a thing of one that has a fault, with one line on stderr. Raises
    InputError where a place is no plug-in.
    """
    modules: list[ModuleType] = []
    for entry in entries():
        modules += _imported(f"plug-in {entry.name} ({entry.value})", entry.load)
    for file in plugin_files(places):
        modules += _imported(str(file), functools.partial(import_file, file))
    return modules


def entries() -> tuple[EntryPoint, ...]:
    """The entry points of plug-ins of installed packages, in the order of names."""
    return _entries(tuple(sys.path))


@functools.lru_cache(maxsize=1)
def _entries(path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Read once for a search path: that is one file for each installed package."""
    return tuple(sorted(entry_points(group=GROUP), key=lambda entry: entry.name))


def plugin_files(places: str) -> list[Path]:
    """The Python files that HASHBENCH_PLUGINS names. Raises InputError where a place is no folder or Python file."""
    files: list[Path] = []
    for place in filter(None, places.split(os.pathsep)):
        path = Path(place).expanduser()
        if not path.is_dir() and not (path.is_file() and path.suffix == ".py"):
            raise InputError(f"{VARIABLE}: {place!r} is no folder or Python file; name those with your plug-ins")
        files += sorted(path.glob("*.py")) if path.is_dir() else [path]
    return files


def unreadable() -> str:
    """Plug-ins that could not be imported, as the end of a message about an unknown name; "" where all could."""
    named = {str(file) for file in plugin_files(os.environ.get(VARIABLE, ""))}
    all_reasons = [*_unreadable.items(), *((place, why) for place, reasons in _faulty.items() for why in reasons)]
    reasons = [why for place, why in all_reasons if place in named or not place.endswith(".py")]
    return "".join(f"; not read: {why}" for why in reasons)


def _imported(place: str, load: Callable[[], ModuleType]) -> list[ModuleType]:
    """A list of one plug-in, empty where it cannot be imported or is being imported. Prints once why it cannot."""
    if place in _unreadable or place in _importing:
        return []
    _importing.append(place)
    try:
        module = load()
        reasons = faults_of(module, KINDS.values(), place if place.endswith(".py") else "")
        for reason in reasons:
            if reason not in _faulty.get(place, ()):
                tell(f"{reason}; it is left out")
        _faulty[place] = reasons
        return [module]
    except (Exception, SystemExit) as error:
        reason = f"{place}: cannot be imported: {type(error).__name__}: {first_line(error)}; correct it"
        _unreadable[place] = str(error) if isinstance(error, InputError) else reason
        tell(f"{_unreadable[place]}; what it defines is left out")
        return []
    finally:
        _importing.remove(place)


def own_classes(base: type) -> dict[str, type]:
    """The subclasses of `base` in all user-defined files that this process has imported, by the names of `own_name`.

    A worker imports the same files before it looks one up.
    """
    return {
        f"{value.__name__}@{digest_in(module.__name__)}": value
        for module in own_modules()
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, base) and value.__module__ == module.__name__
    }


def own_name(reference: str, folder: Path, base: type, what: str) -> str:
    """The name of the user-defined class in a reference "FILE.py:Class": the class and a digest of the file's text.

    So an edited file is another thing, and a copy on another machine the same. A name without a file stays itself.
    Raises InputError where there is no such file or class; `what` says in its message what the class should be.
    """
    file, colon, name = reference.rpartition(":")
    if not colon or not file.endswith(".py"):
        return reference
    digest = digest_in(import_file(folder / Path(file).expanduser()).__name__)
    # Of equal files, as a copy in an exported folder, the class of any is there
    keys = {of.__name__: key for key, of in own_classes(base).items() if digest_in(of.__module__) == digest}
    if name not in keys:
        remedy = f"derive it from hashbench.extend.{base.__name__}"
        raise InputError(f"{file}: no {what} class {name!r}{near_match(name, list(keys))}; {remedy}")
    return keys[name]


def class_of(what: str, name: str) -> type[Any] | None:
    """The class of a kind of this name, also of one in an imported user-defined file; None where there is none."""
    kind = KINDS[what]
    return own_classes(kind.base_class()).get(name) or registered(what).get(name)


def listed_class(what: str, name: str) -> type[Any]:
    """The class of a kind of this name, as `class_of`. Raises InputError, with the names that there are, for none."""
    cls = class_of(what, name)
    if cls is None:
        names = list(registered(what))
        hint = f"{near_match(name, names)}; choose from {', '.join(names)}"
        raise InputError(f"{what}: unknown {KINDS[what].key} {name!r}{hint}{unreadable()}")
    return cls


def make(what: str, name: str, arguments: Mapping[str, object], *, elsewhere: tuple[str, ...] = ()) -> Any:
    """An object of the class of this name: a registered one, or one of a user-defined file (`own_name`).

    A user-defined class's attribute `key` becomes this name, by which an edited file is another thing in recipes.
    `elsewhere`: further arguments, which the caller handles, for messages.
    Raises InputError for an unknown name, an unknown argument, or one that is missing.
    """
    kind = KINDS[what]
    cls = listed_class(what, name)
    if reason := kind.fault(name, cls):
        raise InputError(f"{what} {name}: {reason}")
    parameters = inspect.signature(cls).parameters
    for argument in arguments:
        if argument not in parameters:
            names = list(dict.fromkeys((*parameters, *elsewhere)))
            hint = near_match(argument, [*names, "kind"])  # the key of a block that names its class
            hint += f"; it takes {', '.join(names) or 'none'}"
            raise InputError(f"{what} {name}: unknown argument {argument!r}{hint}")
    for parameter in parameters.values():
        optional = parameter.default is not parameter.empty or parameter.kind in (
            parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD,
        )  # fmt: skip
        if not optional and parameter.name not in arguments:
            raise InputError(f"{what} {name}: needs {parameter.name}; give it as an argument")
    thing = cls(**arguments)
    if name != getattr(cls, kind.key, None):
        setattr(thing, kind.key, name)
    return thing
