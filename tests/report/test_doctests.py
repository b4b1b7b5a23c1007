"""The examples in the docstrings are right."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = [
    "hashbench.report.rows",
    "hashbench.report.numbers",
    "hashbench.report.legend",
    "hashbench.report.deviations",
]
MODULES += ["analysis.pareto", "analysis.curves"]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted > 0 and found.failed == 0
