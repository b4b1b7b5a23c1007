"""Executors by their word, and one whose package is missing."""

import sys

import pytest

from hashbench.common.errors import InputError
from hashbench.data.corpora.preparing import LocalShardWorkers
from hashbench.running.sweep.executors.local import LocalExecutor
from hashbench.running.sweep.executors.registry import find_executor, find_shard_workers


def test_local_needs_no_package() -> None:
    assert find_executor("local") is LocalExecutor
    assert isinstance(find_shard_workers("local"), LocalShardWorkers)


def test_a_missing_package_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    for module in ("on_ray", "ray_shards"):
        monkeypatch.delitem(sys.modules, f"hashbench.running.sweep.executors.{module}", raising=False)
    for find in (find_executor, find_shard_workers):
        with pytest.raises(
            InputError, match=r"^executor: ray: the package is not installed; pip install 'hashbench\[ray\]'$"
        ):
            find("ray")
