"""The examples in the docstrings are right, of every module that has some."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import hashbench

PACKAGE = Path(hashbench.__file__).parent
MODULES = sorted(
    ".".join((PACKAGE.name, *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert found.attempted > 0 and found.failed == 0
