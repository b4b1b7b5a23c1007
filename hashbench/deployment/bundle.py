"""The source of some classes and all that they use of hashbench, as one file that does not import hashbench.

Names are followed from a class to what its code uses, through imports, module by module. Where two modules mean
different things by one name, one of them gets another name in the file. Coders and tokenizers stay behind, since what
they make is in the weights: a class that refuses to be made has the place of each.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from hashbench.common.errors import InputError
from hashbench.deployment.module_names import (
    DEFINITIONS,
    PACKAGE,
    SCOPES,
    absolute,
    bound_names,
    evaluated,
    mentioned,
    names_of,
    own_imports,
)
from hashbench.models.coders.base import Coder
from hashbench.models.text.base import Tokenizer

STAYS = '''class {name}:
    """Makes codes or tokens, in hashbench alone: what it made is in the weights."""

    def __init__(self, *values, **named):
        raise NotImplementedError("{name} makes codes or tokens in hashbench alone")'''


@dataclass(frozen=True)
class Definition:
    """The meaning of a name of a module: defined there, or imported from a package that is not followed."""

    module: str
    name: str  # there; "": the module itself
    bound: str = ""  # the name that the import binds; "": no import

    @property
    def wanted(self) -> str:
        """The name that it has in its own module."""
        return self.bound or self.name

    def line(self, name: str) -> str:
        """The line that imports it under a name."""
        if self.name:
            return f"from {self.module} import {self.name}{'' if name == self.name else f' as {name}'}\n"
        return f"import {self.module}{'' if name == self.module else f' as {name}'}\n"


@dataclass(frozen=True)
class Bundle:
    """The text of a bundled file, and the names in it of the classes that were wanted, in their order."""

    source: str
    names: tuple[str, ...]


@dataclass
class Collected:
    """The contents of a bundled file: statements by module, and all that their names mean."""

    what: str  # the model, for messages
    followed: tuple[str, ...]  # packages
    statements: dict[str, list[ast.stmt]] = field(default_factory=dict)  # by module
    meanings: dict[Definition, None] = field(default_factory=dict)  # in the order in which they were met
    packages: dict[str, set[str]] = field(default_factory=dict)  # lines that import further modules of a package

    def meaning(self, module: str, name: str) -> Definition | None:
        """The meaning of a name in a module; None for a name of Python's, or of a variable of a function."""
        names = names_of(module)
        if name in names.own:
            return Definition(module, name)
        if name not in names.imports:
            return None
        source, original = names.imports[name]
        if source.partition(".")[0] not in self.followed:
            if not original:
                self.packages.setdefault(source, set()).update(names.packages.get(source, ()))
            return Definition(source, original, bound=name)
        meaning = self.meaning(source, original) if original else None
        if meaning is None:
            there = f"{source}.{original}".rstrip(".")
            raise InputError(f"{self.what}: {module} imports {there} as a whole; import its names to export it")
        return meaning

    def add(self, meaning: Definition) -> None:
        """Adds a meaning, the statements that make it, and all that these use."""
        if meaning in self.meanings:
            return
        self.meanings[meaning] = None
        if meaning.bound:
            return
        for node in names_of(meaning.module).own[meaning.name]:
            kept = self.statements.setdefault(meaning.module, [])
            if node in kept:
                continue
            kept.append(node)
            names = [] if stays_behind(meaning.module, node) else list(mentioned(node))
            places = [(meaning.module, name) for name in (*bound_names(node), *names)]
            inside = [] if names == [] else list(own_imports(node, meaning.module, self.followed))
            for place in [*places, *inside]:
                if (used := self.meaning(*place)) is not None:
                    self.add(used)
                elif place in inside:
                    raise InputError(
                        f"{self.what}: {meaning.module} imports {'.'.join(place)} inside of a function or "
                        "class, as a whole; import its names to export it"
                    )


def bundled(roots: Sequence[Callable[..., Any]], what: str, reserved: Iterable[str] = ()) -> Bundle:
    """The source of classes and functions and all that they use of hashbench, imports first.

    `what`: the model, for messages. `reserved`: names that the file must leave free, for what is written around it.
    Raises InputError where the code cannot be followed, or a name with two meanings cannot be replaced.
    """
    followed = dict.fromkeys([PACKAGE, *(root.__module__.partition(".")[0] for root in roots)])
    collected = Collected(what, tuple(followed))
    wanted = [Definition(root.__module__, root.__name__) for root in roots]
    for meaning in wanted:
        collected.add(meaning)
    order = dict.fromkeys([*wanted, *collected.meanings])
    names: dict[Definition, str] = {}
    taken = set(reserved)
    for meaning in order:
        names[meaning] = _free_name(meaning, taken)
        taken.add(names[meaning])
    modules = sorted(collected.statements, key=lambda module: _depth(module, collected.followed))
    parts = [
        _written(module, node, collected, names)
        for module in modules
        for node in sorted(collected.statements[module], key=lambda node: node.lineno)
    ]
    lines = {meaning.line(name) for meaning, name in names.items() if meaning.bound}
    lines |= {line for meaning in order if meaning.bound for line in collected.packages.get(meaning.module, ())}
    source = "".join(sorted(lines)) + "\n\n" + "\n\n\n".join(parts) + "\n"
    return Bundle(source, tuple(names[meaning] for meaning in wanted))


def _free_name(meaning: Definition, taken: set[str]) -> str:
    """The name of a meaning in the file: its own, or where that is taken with its module's behind it."""
    name = meaning.wanted
    tail = meaning.module.rpartition(".")[2]
    while name in taken:
        name = f"{name}_{tail}"
    return name


def stays_behind(module: str, node: ast.stmt) -> bool:
    """True for the class of a coder or a tokenizer."""
    cls = getattr(importlib.import_module(module), node.name, None) if isinstance(node, ast.ClassDef) else None
    return isinstance(cls, type) and issubclass(cls, Coder | Tokenizer)


@cache
def _depth(module: str, followed: tuple[str, ...]) -> int:
    """The length of the longest chain of imports from a module through modules that are followed."""
    below = {source for source, _ in names_of(module).imports.values() if source.partition(".")[0] in followed}
    return 1 + max((_depth(imported, followed) for imported in below), default=0)


def _written(module: str, node: ast.stmt, collected: Collected, names: dict[Definition, str]) -> str:
    """The source of a statement with its decorators and comments, with names as in the file."""
    if isinstance(node, ast.ClassDef) and stays_behind(module, node):
        return STAYS.format(name=names[Definition(module, node.name)])
    changed: dict[str, str] = {}
    for name in {*bound_names(node), *mentioned(node)}:
        meaning = collected.meaning(module, name)
        if meaning is not None and names[meaning] != name:
            changed[name] = names[meaning]
    if hidden := sorted(_local_names(node) & set(changed)):
        raise InputError(
            f"{collected.what}: {hidden[0]} means two things in the file to write, and is a name inside of a function "
            f"or class of {module}; rename it there to export it"
        )
    lines = inspect.getsource(importlib.import_module(module)).encode().splitlines()
    edits = [*_imports_replaced(node, module, collected, names), *_names_replaced(node, changed, lines)]
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        (line, column), (last, end) = edit.start, edit.end
        if edit.before and lines[line - 1][column:end].decode() != edit.before:  # in an f-string of Python 3.11, say
            raise InputError(
                f"{collected.what}: {module}, line {line}: {edit.before} cannot be replaced; rename it there"
            )
        lines[line - 1] = lines[line - 1][:column] + edit.text.encode() + lines[last - 1][end:]
        for number in range(line, last):  # the further lines of an import
            lines[number] = b""
    decorators = node.decorator_list if isinstance(node, DEFINITIONS) else []
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return b"\n".join(lines[first - 1 : node.end_lineno]).decode()


@dataclass(frozen=True)
class Edit:
    """A text to put in the place of another, between two places: line and column, in bytes."""

    start: tuple[int, int]
    end: tuple[int, int]
    text: str
    before: str = ""  # the name that must be there


def _names_replaced(node: ast.stmt, changed: dict[str, str], lines: Sequence[bytes]) -> Iterator[Edit]:
    """The edits that give the names of a statement other ones."""
    for child in evaluated(node) if changed else ():
        if isinstance(child, ast.Name) and child.id in changed:
            end = child.end_lineno or child.lineno, child.end_col_offset or 0
            yield Edit((child.lineno, child.col_offset), end, changed[child.id], child.id)
        elif isinstance(child, DEFINITIONS) and child.name in changed:
            place_of_name = re.compile(rb"(?:class|def)\s+(\w+)").search(lines[child.lineno - 1], child.col_offset)
            if place_of_name is not None:
                place = child.lineno, place_of_name.start(1)
                yield Edit(place, (child.lineno, place_of_name.end(1)), changed[child.name], child.name)


def _imports_replaced(
    node: ast.stmt, module: str, collected: Collected, names: dict[Definition, str]
) -> Iterator[Edit]:
    """The edits that replace imports inside of a statement, in a function say, by what the file has in their place."""
    for child in ast.walk(node):
        if not isinstance(child, ast.ImportFrom):
            continue
        source = absolute(child, module)
        if source.partition(".")[0] in collected.followed:
            lines = []
            for alias in child.names:
                meaning = collected.meaning(source, alias.name)
                assert meaning is not None  # else it was refused
                bound, name = alias.asname or alias.name, names[meaning]
                lines += [] if bound == name else [f"{bound} = {name}"]
            end = child.end_lineno or child.lineno, child.end_col_offset or 0
            yield Edit((child.lineno, child.col_offset), end, "; ".join(lines) or "pass")


def _local_names(node: ast.stmt) -> set[str]:
    """The names of variables of functions, classes and comprehensions in a statement."""
    names: set[str] = set()
    scopes = [child for child in ast.walk(node) if isinstance(child, SCOPES)]
    for scope in scopes:
        for child in ast.walk(scope):
            if isinstance(child, ast.arg):
                names.add(child.arg)
            elif isinstance(child, ast.Name) and not isinstance(child.ctx, ast.Load):
                names.add(child.id)
            elif isinstance(child, DEFINITIONS) and child is not node:
                names.add(child.name)
            elif isinstance(child, ast.alias):
                names.add(child.asname or child.name.partition(".")[0])
            elif isinstance(child, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and child.name:
                names.add(child.name)
            elif isinstance(child, ast.Global | ast.Nonlocal):
                names.update(child.names)
    return names
