"""Syntax trees of the sources, each parsed once for all tests that read the code."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a file; nobody changes it."""
    return ast.parse(path.read_text(encoding="utf-8"))
