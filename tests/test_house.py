"""The rules of the house that no linter checks: sizes, names, where SQL stands, and that tests mirror the code."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE, TESTS = ROOT / "hashbench", ROOT / "tests"
FILE_LINES, FUNCTION_LINES, ROOM_LINES = 400, 60, 3_500
SQL = re.compile(r"\b(SELECT\s.+\sFROM|INSERT INTO|UPDATE\s+\w+\s+SET|DELETE FROM)\b", re.DOTALL)

pytestmark = pytest.mark.skipif(not PACKAGE.is_dir(), reason="no sources beside the tests")


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def public_names(path: Path) -> Iterator[str]:
    """Classes of a module, and the types that it names by an assignment."""
    for node in tree_of(path).body:
        if isinstance(node, ast.ClassDef):
            name = node.name
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
        else:
            continue
        if name[0].isupper() and not name.isupper():
            yield name


def test_a_public_class_name_has_one_meaning() -> None:
    places = defaultdict(list)
    for path in sources():
        for name in public_names(path):
            places[name].append(str(path.relative_to(ROOT)))
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_files_and_functions_keep_to_their_sizes() -> None:
    too_long = {}
    for path in sources():
        lines = len(path.read_text().splitlines())
        if lines > FILE_LINES:
            too_long[str(path.relative_to(ROOT))] = lines
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                if lines > FUNCTION_LINES:
                    too_long[f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"] = lines
    assert too_long == {}


def test_no_room_is_too_large() -> None:
    lines: dict[str, int] = defaultdict(int)
    for path in sources():
        room = path.relative_to(PACKAGE).parts
        lines[room[0] if len(room) > 1 else "top"] += len(path.read_text().splitlines())
    assert {room: count for room, count in lines.items() if count > ROOM_LINES} == {}


def test_sql_stands_by_the_database_and_in_one_file_of_queries() -> None:
    outside = []
    for path in sources():
        if path.relative_to(PACKAGE).parts[0] in ("store", "exchange") or path == PACKAGE / "results" / "queries.py":
            continue
        texts = (node.value for node in ast.walk(tree_of(path)) if isinstance(node, ast.Constant))
        outside += [str(path.relative_to(ROOT)) for text in texts if isinstance(text, str) and SQL.search(text)]
    assert outside == []


def covered_by() -> dict[Path, Path]:
    """Source file -> a test file that covers it and is not its mirror."""
    named = {}
    for listing in sorted(TESTS.rglob("covered_by.txt")):
        room = PACKAGE / listing.parent.relative_to(TESTS)
        for line in listing.read_text().splitlines():
            if line.strip() and not line.startswith("#"):
                source, test = line.split()
                named[room / source] = ROOT / test
    return named


def test_every_source_file_has_its_test_file_or_names_the_one_that_covers_it() -> None:
    named = covered_by()
    missing = []
    for path in sources():
        place = path.relative_to(PACKAGE)
        empty = not [node for node in tree_of(path).body if not isinstance(node, ast.Expr)]
        mirror = TESTS / place.parent / f"test_{place.stem}.py"
        if not (empty or mirror.is_file() or (path in named and named[path].is_file())):
            missing.append(str(place))
    assert missing == []


def test_the_lists_of_covering_tests_name_what_is_there() -> None:
    assert len(covered_by()) > 50
    for source, test in covered_by().items():
        place = source.relative_to(PACKAGE)
        assert source.is_file() and test.is_file(), place
