"""The rules of the house that no linter checks: sizes, names, where SQL stands, and that tests mirror the code."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parsed import tree_of

ROOT = Path(__file__).resolve().parents[1]
PACKAGE, TESTS = ROOT / "hashbench", ROOT / "tests"
FUNCTION_LINES = 60
QUERIES = "results/read/queries.py"
SQL = re.compile(r"\b(SELECT\s.+\sFROM|INSERT INTO|UPDATE\s+\w+\s+SET|DELETE FROM)\b", re.DOTALL)

pytestmark = pytest.mark.skipif(not PACKAGE.is_dir(), reason="no sources beside the tests")


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


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


def test_a_function_fits_a_screen() -> None:
    too_long = {}
    for path in sources():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                if lines > FUNCTION_LINES:
                    too_long[f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"] = lines
    assert too_long == {}


def test_sql_stands_by_the_database_and_in_one_file_of_queries() -> None:
    outside = []
    for path in sources():
        place = path.relative_to(PACKAGE)
        if place.parts[0] == "store" or place.parts[:2] == ("results", "exchange") or str(place) == QUERIES:
            continue
        texts = (node.value for node in ast.walk(tree_of(path)) if isinstance(node, ast.Constant))
        outside += [str(path.relative_to(ROOT)) for text in texts if isinstance(text, str) and SQL.search(text)]
    assert outside == []


def covered_by() -> dict[Path, list[Path]]:
    """Source file -> the test files that cover it besides its mirror."""
    lines = [line.split() for line in (TESTS / "covered_by.txt").read_text().splitlines()]
    return {PACKAGE / source: [ROOT / test for test in tests] for source, *tests in lines}


def test_every_source_file_has_its_test_file_or_names_the_one_that_covers_it() -> None:
    named = covered_by()
    missing = []
    for path in sources():
        place = path.relative_to(PACKAGE)
        empty = not [node for node in tree_of(path).body if not isinstance(node, ast.Expr)]
        mirror = TESTS / place.parent / f"test_{place.stem}.py"
        if not (empty or mirror.is_file() or path in named):
            missing.append(str(place))
    assert missing == []


def test_the_lists_of_covering_tests_name_what_is_there() -> None:
    assert len(covered_by()) > 50
    for source, tests in covered_by().items():
        assert source.is_file() and tests and all(test.is_file() for test in tests), source.relative_to(PACKAGE)
