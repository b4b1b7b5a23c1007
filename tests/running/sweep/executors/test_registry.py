"""Executors by their word, and one whose package is missing."""

import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from hashbench.common.errors import InputError
from hashbench.data.corpora.preparing import LocalShardWorkers
from hashbench.running.experiment.schema import Experiment
from hashbench.running.sweep.executors.base import Executor
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


def test_a_user_defined_executor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(
        "from hashbench.extend import Executor, ExecutorSpec\n"
        "class Mine(Executor):\n    pass\n"
        "EXECUTORS = [ExecutorSpec('mine', f'{__name__}:Mine')]\n"
    )
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(tmp_path))
    assert find_executor("mine").__name__ == "Mine" and issubclass(find_executor("mine"), Executor)
    assert isinstance(find_shard_workers("mine"), LocalShardWorkers)
    assert Experiment(name="a", models=("bert-mlm",), executor="mine").executor == "mine"
    monkeypatch.delenv("HASHBENCH_PLUGINS")
    with pytest.raises(ValidationError, match="'local' or 'ray'"):
        Experiment(name="a", models=("bert-mlm",), executor="mine")


def test_what_a_file_is_read_with_needs_none_of_their_packages() -> None:
    code = "import sys; from hashbench.common.registry import registered; print(*registered('executor')); "
    code += "print({'ray', 'torch', 'sqlalchemy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "local ray\nset()\n"
