"""Executors by their word, and one whose package is missing."""

import sys

import pytest

from hashbench.errors import InputError
from hashbench.sweep.executors.local import LocalExecutor
from hashbench.sweep.executors.registry import find_executor


def test_local_needs_no_package() -> None:
    assert find_executor("local") is LocalExecutor


def test_a_missing_package_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "hashbench.sweep.executors.on_ray", raising=False)
    with pytest.raises(
        InputError, match=r"^executor: ray: the package is not installed; pip install 'hashbench\[ray\]'$"
    ):
        find_executor("ray")
