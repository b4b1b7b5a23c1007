"""The names that Python source defines, imports and uses."""

from __future__ import annotations

import ast
import builtins
import importlib
import importlib.util
import inspect
import symtable
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from hashbench.common.errors import InputError
from hashbench.extend import PLACES

PACKAGE, EXTEND = "hashbench", "hashbench.extend"
DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*DEFINITIONS, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def check_closed(source: str, file: str, what: str) -> None:
    """Raises InputError where a Python file uses a name that it does not define, or imports hashbench."""
    tree = parsed(source, f"{what}: {file}")
    imported = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    imported += [str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level]
    if any(name.partition(".")[0] == PACKAGE for name in imported):
        raise InputError(f"{what}: {file} would import hashbench; import names at the top of your own file")
    if missing := sorted(undefined(source)):
        raise InputError(f"{what}: {file} would lack {', '.join(missing)}; define or import them in a plain statement")


def parsed(source: str, where: str) -> ast.Module:
    """A Python file as a tree. Raises InputError where it is none."""
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise InputError(
            f"{where}: would be no Python, in line {error.lineno}: {error.msg}; write plain lines"
        ) from error


def undefined(source: str) -> set[str]:
    """The names that a Python file uses and neither defines, nor imports, nor has from Python.

    >>> sorted(undefined("import math\\ndef area(r): return math.pi * square(r) * len(FACTORS)"))
    ['FACTORS', 'square']
    """
    whole = symtable.symtable(source, "file", "exec")
    defined = {symbol.get_name() for symbol in whole.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    defined |= {"__file__", "__name__", "__doc__", *vars(builtins)}

    def used(table: symtable.SymbolTable) -> Iterator[str]:
        if table.get_type() == "annotation":  # never evaluated
            return
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (symbol.is_global() or table is whole) and symbol.get_name() not in defined:
                yield symbol.get_name()
        for child in table.get_children():
            yield from used(child)

    return set(used(whole))


@dataclass(frozen=True)
class ModuleNames:
    """The names at the top of a module: what it imports (module and name there, "" for the module), and its own."""

    imports: dict[str, tuple[str, str]]
    own: dict[str, list[ast.stmt]]  # the statements that bind a name, in their order
    packages: dict[str, set[str]]  # lines as `import a.b`, by the package, a


@cache
def names_of(module: str) -> ModuleNames:
    """The names of a module, from its source."""
    loaded = importlib.import_module(module)
    names = ModuleNames({}, {}, {})
    if module == EXTEND:
        names.imports.update(PLACES)
        return names
    for node in ast.parse(inspect.getsource(loaded)).body:
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            source = absolute(node, module)
            for alias in node.names:
                elsewhere = names_of(EXTEND).imports.get(alias.name) if source == EXTEND else None
                names.imports[alias.asname or alias.name] = elsewhere or (source, alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                parent, _, child = alias.name.rpartition(".")
                package = alias.name.partition(".")[0]
                if alias.asname is not None:
                    names.imports[alias.asname] = (parent, child) if parent else (alias.name, "")
                else:
                    names.imports[package] = package, ""
                    names.packages.setdefault(package, set()).add(f"import {alias.name}\n")
        elif not _is_for_type_checkers(node):
            for name in bound_names(node):
                names.own.setdefault(name, []).append(node)
    return names


def absolute(node: ast.ImportFrom, module: str) -> str:
    """The module that an import names, without leading dots."""
    package = importlib.import_module(module).__package__
    return importlib.util.resolve_name("." * node.level + (node.module or ""), package)


def _is_for_type_checkers(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def bound_names(node: ast.stmt) -> list[str]:
    """The names that a statement at the top of a module binds there, in the order of its text."""
    if isinstance(node, DEFINITIONS):
        return [node.name]
    names: list[str] = []
    for child in _same_scope(node):
        if isinstance(child, ast.Name) and not isinstance(child.ctx, ast.Load):
            names.append(child.id)
        elif isinstance(child, DEFINITIONS):
            names.append(child.name)
        elif isinstance(child, ast.alias):
            names.append(child.asname or child.name.partition(".")[0])
    return list(dict.fromkeys(names))


def _same_scope(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of code, without what is inside functions, classes and comprehensions, where names mean other
    things. The functions, classes and comprehensions themselves are among the nodes.
    """
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, SCOPES):
            yield child
        else:
            yield from _same_scope(child)


def mentioned(node: ast.AST) -> Iterator[str]:
    """The names used in code, without those in annotations, which are never evaluated."""
    for child in evaluated(node):
        if isinstance(child, ast.Name):
            yield child.id


def evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes of code but those in annotations."""
    yield node
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns", "type_comment"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from evaluated(child)


def own_imports(node: ast.stmt, module: str, followed: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The names, with their modules, that a statement imports inside (in a function, say) of followed packages."""
    for child in ast.walk(node):
        if isinstance(child, ast.ImportFrom):
            source = absolute(child, module)
            if source.partition(".")[0] in followed:
                yield from ((source, alias.name) for alias in child.names)
