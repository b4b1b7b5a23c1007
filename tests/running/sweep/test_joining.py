"""Workers that join a sweep: two elements of a Slurm array, started by the script in the docs through a stand-in."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.running.sweep.stored_plan import refuse_another_plan
from hashbench.store.engine import open_store
from tests.running.sweep.test_runner import N_RUNS

PAGE = Path(__file__).parents[3] / "docs/cluster.md"
# `srun` starts the command that it is given, and `scontrol` writes down what it was asked for.
STAND_INS = {"srun": 'exec "$@"', "scontrol": 'echo "$@" >> "$SLURM_SUBMIT_DIR/scontrol.log"'}


def test_equal_plans_pass_and_timings_do_not_count() -> None:
    stored = {("a", "1"): "pretrain", ("a", "2"): "finetune", ("a", "3"): "efficiency", ("a", "4"): "evaluation"}
    refuse_another_plan({("a", "1"), ("a", "2")}, stored, "here")
    with pytest.raises(InputError, match=r"^here has another plan: 1 runs .*, 1 of its runs .*\(models: a, b\); use"):
        refuse_another_plan({("a", "1"), ("b", "2")}, stored, "here")
    with pytest.raises(InputError, match=r"^here has another plan: 0 runs of this one are not in it, 1 of its"):
        refuse_another_plan({("a", "1")}, stored, "here")


@pytest.mark.slow
@pytest.mark.skipif(not PAGE.is_file(), reason="no docs beside the tests")
def test_the_elements_of_an_array_do_all_runs_once(tmp_path: Path, small_experiment: str) -> None:
    (tmp_path / "small.yaml").write_text(small_experiment)
    (script,) = re.findall(r"```bash\n(#!/bin/bash\n.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "worker.sh").write_text(script)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, line in (STAND_INS | {"hashbench": f'exec {sys.executable} -m hashbench "$@"'}).items():
        (programs / name).write_text(f"#!/bin/sh\n{line}\n")
        (programs / name).chmod(stat.S_IRWXU)
    env = os.environ | {
        "PATH": f"{programs}:{os.environ['PATH']}", "HASHBENCH_DB": "r.db", "HASHBENCH_CACHE": str(tmp_path / "c"),
        "SLURM_SUBMIT_DIR": str(tmp_path), "SLURM_ARRAY_JOB_ID": "7", "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    elements = [
        subprocess.Popen(
            ["bash", "worker.sh", "small.yaml"],
            cwd=tmp_path,
            env=env | {"SLURM_ARRAY_TASK_ID": str(number)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    for element in elements:
        _, err = element.communicate(timeout=500)
        assert element.returncode == 0, err
    assert not (tmp_path / "scontrol.log").exists()
    store = open_store(tmp_path / "r.db")
    states = store.query("SELECT state, COUNT(*) AS n FROM attempt GROUP BY state")
    assert [dict(row) for row in states] == [{"state": "done", "n": N_RUNS}]
    names = store.query("SELECT COUNT(DISTINCT worker) AS n FROM attempt")
    assert names[0]["n"] == 2
