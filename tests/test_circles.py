"""No two files of the package need each other: whoever reads one can read what it imports first."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.parsed import tree_of

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "hashbench"

pytestmark = pytest.mark.skipif(not PACKAGE.is_dir(), reason="no sources beside the tests")


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree: ast.AST) -> Iterator[str]:
    """All that the imports of a file may name, those inside functions and under TYPE_CHECKING too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imports(trees: dict[str, ast.AST]) -> dict[str, set[str]]:
    """Module -> the modules that it imports. Of a name in a folder the folder itself does not count."""
    needs = {}
    for name, tree in trees.items():
        named = {module for module in imported(tree) if module in trees} - {name}
        needs[name] = {module for module in named if not any(other.startswith(f"{module}.") for other in named)}
    return needs


def circle(needs: dict[str, set[str]]) -> list[str]:
    """One circle of modules, each imported by the next, or []."""
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_files_import_each_other() -> None:
    assert circle(imports({module_name(path): tree_of(path) for path in sorted(PACKAGE.rglob("*.py"))})) == []


def test_a_circle_is_seen_wherever_the_import_stands() -> None:
    texts = {
        "p": "",
        "p.a": "from p import b",
        "p.b": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.c import C",
        "p.c": "class C:\n    def f(self):\n        import p.a",
    }
    trees: dict[str, ast.AST] = {name: ast.parse(text) for name, text in texts.items()}
    assert set(circle(imports(trees))) == {"p.a", "p.b", "p.c"}
    trees["p.c"] = ast.parse("import json")
    assert circle(imports(trees)) == []
