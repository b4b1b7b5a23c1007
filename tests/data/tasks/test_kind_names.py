"""No file asks for a kind of task by its name: only a kind's own files and the keys that users write hold it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import hashbench
from hashbench.data.tasks.catalogue import known_kinds

PACKAGE = Path(hashbench.__file__).parent
# Files in which a kind's name stands with another meaning, or as a key that users write.
EXCEPTED = {
    "data/tasks/named/proformer.py": "classification: a folder of data",
    "data/tasks/named/public.py": "classification, tagging: folders of data",
    "data/tasks/text.py": "the head classification",
    "models/objectives/heads.py": "the heads classification and tagging",
    "data/sources/dumps/page_links.py": "the folder of page-link sets",
    "data/tasks/phrases.py": "the files of the kind phrases",
    "common/cache.py": "the folder of these files",
    "models/objectives/entities.py": "the objective entities",
    "models/embeddings/superbloom.py": "the objective entities",
    "running/runs/items.py": "the kind of run entities",
}


# A kind's name that is a key and a word of much else: only what is compared with it could ask for the kind
COMMON = {"labels"}


def compared(path: Path) -> set[str]:
    """The string constants with which a file compares a value, by operators or in a match."""
    tree = ast.parse(path.read_text())
    where = (node for node in ast.walk(tree) if isinstance(node, ast.Compare | ast.MatchValue))
    constants = (inner for node in where for inner in ast.walk(node) if isinstance(inner, ast.Constant))
    return {node.value for node in constants if isinstance(node.value, str)}


def literals(path: Path) -> set[str]:
    """The string constants of a file, without docstrings."""
    tree = ast.parse(path.read_text())
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docs)
    return {node.value for node in constants if isinstance(node.value, str)}


@pytest.mark.e2e
def test_names_of_kinds_stand_in_their_files_alone() -> None:
    files = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    outside = {
        name: sorted((literals(path) & set(known_kinds()) - COMMON) | (compared(path) & COMMON))
        for name, path in files.items()
        if name not in EXCEPTED and not name.startswith("data/tasks/kinds/")
    }
    assert {name: found for name, found in outside.items() if found} == {}


def test_the_exceptions_are_needed() -> None:
    unneeded = [name for name in EXCEPTED if not literals(PACKAGE / name) & set(known_kinds()) - COMMON]
    assert unneeded == []
