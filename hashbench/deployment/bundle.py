"""The source of some classes and all that they use of hashbench, as one file that does not import hashbench.

Names are followed from a class to what its code mentions, through imports, module by module. Code that hashes is not
followed: what it makes is in the weights, so only constants are taken from `hashbench.models.coders` and `.text`.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from hashbench.common.errors import InputError

PACKAGE = "hashbench"
CONSTANTS_ALONE = ("hashbench.models.coders", "hashbench.models.text")  # of these rooms no function and no class
Statement = ast.ClassDef | ast.FunctionDef | ast.Assign | ast.AnnAssign


@dataclass
class Collected:
    """The contents of a bundled file: statements by module and name, and lines that import other packages."""

    statements: dict[tuple[str, str], Statement] = field(default_factory=dict)
    imports: set[str] = field(default_factory=set)
    order: list[str] = field(default_factory=list)  # modules, each behind those that it imports


def bundled(roots: Sequence[type], what: str) -> str:
    """The source of classes and all that they use of hashbench, imports first. `what`: the model, for messages.

    Raises InputError where two of the names that meet in the file mean different things.
    """
    collected = Collected()
    for root in roots:
        _collect(root.__module__, root.__name__, collected)
    names: dict[str, str] = {}
    for module, name in collected.statements:
        if names.setdefault(name, module) != module:
            raise InputError(f"{what}: {name} is in {names[name]} and in {module}; rename one to export it")
    parts = []
    for module in collected.order:
        of_module = {id(node): node for (place, _), node in collected.statements.items() if place == module}
        parts += [_source(module, node) for node in sorted(of_module.values(), key=lambda node: node.lineno)]
    return "".join(sorted(collected.imports)) + "\n\n" + "\n\n\n".join(parts) + "\n"


def _collect(module: str, name: str, collected: Collected) -> None:
    """Adds to `collected` the statement that defines a name in a module, and all that it uses."""
    if (module, name) in collected.statements:
        return
    imports, own = _names_of(module)
    if name in imports:
        line, source, original = imports[name]
        if not source.startswith(PACKAGE):
            collected.imports.add(line)
            return
        if original != name:
            raise InputError(f"{module}: imports {original} as {name}; import it under its own name to export it")
        _collect(source, original, collected)
        return
    if name not in own:
        return  # a name of Python's, or of a function's own
    node = own[name]
    if module.startswith(CONSTANTS_ALONE) and not isinstance(node, ast.Assign | ast.AnnAssign):
        return
    collected.statements[module, name] = node
    for used in _mentioned(node):
        if used != name:
            _collect(module, used, collected)
    if module not in collected.order:
        collected.order.append(module)
    collected.order.sort(key=_depth)


@cache
def _names_of(module: str) -> tuple[dict[str, tuple[str, str, str]], dict[str, Statement]]:
    """A module's imports (line, module, name there) and its own statements, each by name."""
    tree = ast.parse(inspect.getsource(importlib.import_module(module)))
    imports: dict[str, tuple[str, str, str]] = {}
    own: dict[str, Statement] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            for alias in node.names:
                shown = alias.name if alias.asname is None else f"{alias.name} as {alias.asname}"
                line = f"from {node.module} import {shown}\n"
                imports[alias.asname or alias.name] = line, str(node.module), alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                shown = alias.name if alias.asname is None else f"{alias.name} as {alias.asname}"
                imports[alias.asname or alias.name.partition(".")[0]] = f"import {shown}\n", alias.name, alias.name
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            own[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
            own.update(dict.fromkeys(names, node))
    return imports, own


def _mentioned(node: ast.AST) -> Iterator[str]:
    """The names used in code, without those in annotations, which are never evaluated."""
    for child_field, value in ast.iter_fields(node):
        if child_field in ("annotation", "returns", "type_comment"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.Name):
                yield child.id
            if isinstance(child, ast.AST):
                yield from _mentioned(child)


@cache
def _depth(module: str) -> int:
    """The length of the longest chain of imports from a module through modules of hashbench."""
    below = {source for _, source, _ in _names_of(module)[0].values() if source.startswith(PACKAGE)}
    return 1 + max((_depth(imported) for imported in below if not imported.startswith(CONSTANTS_ALONE)), default=0)


def _source(module: str, node: Statement) -> str:
    """The source lines of a statement, with its decorators and comments at the ends of its lines."""
    lines = inspect.getsource(importlib.import_module(module)).splitlines()
    decorators = node.decorator_list if isinstance(node, ast.ClassDef | ast.FunctionDef) else []
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return "\n".join(lines[first - 1 : node.end_lineno])
