"""The user-defined code that an experiment names: its files, which are printed before they run, and whether they may.

A file that the user names runs what it names. An experiment out of a database may come from elsewhere: its code runs
if the same bytes ran here before for an experiment file, by whatever command, or if the user trusts it. The bytes are
of the file and of the files beside it that it imports, not of installed packages.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.machinery
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hashbench.common.errors import InputError
from hashbench.common.showing import tell
from hashbench.running.experiment.load import Loaded
from hashbench.running.experiment.schema import ModelEntry
from hashbench.running.experiment.used import settled_keys

SHOWN = 8  # files in a line
_ran: set[tuple[str, str]] = set()  # what was printed in this process: path and digest


@dataclass(frozen=True)
class NamedCode:
    """A file of Python that a model of an experiment names."""

    model: str
    reference: str  # as the experiment has it
    path: Path | None  # None: a module that is not installed

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the file's content and of the files beside it that it imports; empty where it is unreadable.

        If it imports none, the SHA-256 of its content.
        """
        digests = [sha256(path) for path in self.files()]
        return digests[0] if len(digests) == 1 else _of_all(digests) if digests and digests[0] else ""

    def files(self) -> list[Path]:
        """The file, and behind it those beside it that it imports, and that these import."""
        files: dict[Path, None] = {} if self.path is None else {self.path: None}
        waiting = list(files)
        while waiting:
            for path in _imported_beside(waiting.pop()):
                if path not in files:
                    files[path] = None
                    waiting.append(path)
        return list(files)

    def shown(self) -> str:
        """The file, and the names of the files that it brings along, for a line."""
        others = sorted(os.path.relpath(path, self.path.parent) for path in self.files()[1:] if self.path is not None)
        more = [f"{len(others) - SHOWN:,} more"] if len(others) > SHOWN else []
        return f"{self.path}" + (f" with {', '.join([*others[:SHOWN], *more])} beside it" if others else "")


def sha256(path: Path) -> str:
    """SHA-256 (hex) of a file's content; empty where it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _of_all(digests: list[str]) -> str:
    return hashlib.sha256("".join([digests[0], *sorted(digests[1:])]).encode()).hexdigest()


def _imported_beside(path: Path) -> Iterator[Path]:
    """The Python files of the folder of a file, or of packages in it, that the file imports. None is run."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            places = [(path.parent, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            folder = path.parents[min(max(node.level, 1), len(path.parents)) - 1]
            places = [(folder, f"{node.module}.{alias.name}" if node.module else alias.name) for alias in node.names]
        else:
            continue
        for folder, name in places:
            first = folder / name.partition(".")[0]
            if first.name == "hashbench" and not getattr(node, "level", 0):
                continue  # it is imported already, whatever lies beside the file: a checkout, perhaps
            yield from filter(Path.is_file, [first.with_suffix(".py")])
            if first.is_dir():  # a package: any of its files may be run
                yield from _modules_in(first)


def _modules_in(package: Path) -> Iterator[Path]:
    """The Python files of a package and of the packages in it: folders with names that an import can have."""
    for place, folders, files in os.walk(package):
        folders[:] = sorted(filter(str.isidentifier, folders))
        yield from (Path(place, file) for file in sorted(files) if file.endswith(".py"))


def code_of(loaded: Loaded) -> list[NamedCode]:
    """The code that an experiment's models name, in their order; nothing of it is imported."""
    entries = [entry for entry in loaded.experiment.models if isinstance(entry, ModelEntry)]
    named = [
        NamedCode(entry.name, reference, _file(reference, loaded.folder))
        for entry in entries
        for reference in _references(entry.use, entry.coder, entry.tokenizer)
    ]
    baseline = loaded.experiment.baseline
    for (
        name,
        values,
    ) in loaded.entries.items():  # an override may have left out the baseline, or the one it is a size of
        is_baseline = baseline == name or baseline.startswith(f"{name}-")
        if isinstance(values, Mapping) and is_baseline and name not in [entry.name for entry in entries]:
            references = _references(values.get("use"), values.get("coder"), values.get("tokenizer"))
            named += [NamedCode(name, reference, _file(reference, loaded.folder)) for reference in references]
    return list(dict.fromkeys(named))


def _references(use: object, *parts: object) -> Iterator[str]:
    """The references to code among the values of an entry: `use`, and `parts` that are FILE.py:Class."""
    if isinstance(use, str) and not settled_keys(use):
        yield use
    for part in parts:
        name = part.get("kind") if isinstance(part, Mapping) else part
        if isinstance(name, str) and name.rpartition(":")[0].endswith(".py"):
            yield name


def _file(reference: str, folder: Path) -> Path | None:
    """The file of FILE.py:Class or package.module:Class. Looks for a module without importing its packages."""
    place = reference.rpartition(":")[0]
    if place.endswith(".py"):
        return folder / Path(place).expanduser()
    parts, search = place.split("."), None
    for i in range(len(parts)):
        spec = importlib.machinery.PathFinder.find_spec(".".join(parts[: i + 1]), search)
        if spec is None:
            return None
        search = spec.submodule_search_locations
    return Path(spec.origin) if spec is not None and spec.origin else None


def allow_code(loaded: Loaded) -> None:
    """Prints each file of code that an experiment names, once a process, before it is imported.

    Raises InputError for code that an experiment out of a database names, unless it is trusted or ran here before.
    """
    for code in code_of(loaded):
        digest = code.digest
        if (str(code.path), digest) in _ran or not digest:  # a missing file is an error where it is imported
            continue
        remembered = _memory() / digest
        if not loaded.trusts_code and not remembered.exists():
            why = f"'{code.model}' runs the code of {code.shown()}, which never ran here for a file of yours"
            remedy = "read it, then add --trust-code (in Python: trust_code=True)"
            raise InputError(f"{loaded.shown}: {why}; {remedy}")
        tell(f"{loaded.shown}: '{code.model}' runs the code of {code.shown()}")
        _ran.add((str(code.path), digest))
        _remember(remembered)


def _memory() -> Path:
    """The folder that remembers code by its digest: in the home, which no archive and no database brings along."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(os.path.expanduser(state)) / "hashbench" / "code"


def _remember(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    except OSError:  # no home: --trust-code is needed each time
        pass
