"""Executors by their word, and one whose package is missing."""

import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from hashbench.common.errors import InputError
from hashbench.running.experiment.schema import Experiment
from hashbench.running.sweep.executors import Executor, find_executor
from hashbench.running.sweep.local import LocalExecutor
from tests.commands import finish


def test_local_needs_no_package() -> None:
    assert find_executor("local") is LocalExecutor
    assert find_executor("local").shard_workers() is None  # here


def test_a_missing_package_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "hashbench.running.sweep.on_ray", raising=False)
    with pytest.raises(InputError, match=r"^executor: ray: ray is not installed; run: pip install 'hashbench\[ray\]'$"):
        find_executor("ray")


OWN = """
from hashbench.extend import ExecutorSpec, LocalExecutor


class Mine(LocalExecutor):
    def command(self, worker):
        return ["nice", "-n", "1", *super().command(worker)]


EXECUTORS = [ExecutorSpec("mine", f"{__name__}:Mine")]
"""


def test_a_user_defined_executor_is_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_experiment: str
) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(tmp_path / "mine.py"))
    assert find_executor("mine").__name__ == "Mine" and issubclass(find_executor("mine"), Executor)
    assert find_executor("mine").shard_workers() is None
    assert Experiment(name="a", models=("bert-mlm",), executor="mine").executor == "mine"
    (tmp_path / "small.yaml").write_text(small_experiment)
    short = ["tasks=[mrpc]", "models=[hashformer-md-add]", "floors=[majority]", "executor=mine"]
    done = finish("sweep", "small.yaml", *short, cwd=tmp_path)
    assert done.code == 0, done.err
    monkeypatch.delenv("HASHBENCH_PLUGINS")
    with pytest.raises(ValidationError, match="'local', 'ray' or 'slurm'"):
        Experiment(name="a", models=("bert-mlm",), executor="mine")


def test_what_a_file_is_read_with_needs_none_of_their_packages() -> None:
    code = "import sys; from hashbench.common.registry import registered; print(*registered('executor')); "
    code += "print({'ray', 'submitit', 'torch', 'sqlalchemy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "local ray slurm\nset()\n"
