"""Workers that join a sweep."""

from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.running.sweep.stored_plan import refuse_another_plan
from hashbench.store.engine import open_store
from tests.commands import start
from tests.running.sweep.test_runner import N_RUNS


def test_equal_plans_pass_and_timings_do_not_count() -> None:
    stored = {("a", "1"): "pretrain", ("a", "2"): "finetune", ("a", "3"): "efficiency", ("a", "4"): "evaluation"}
    refuse_another_plan({("a", "1"), ("a", "2")}, stored, "here")
    with pytest.raises(InputError, match=r"^here has another plan: 1 runs .*, 1 of its runs .*\(models: a, b\); use"):
        refuse_another_plan({("a", "1"), ("b", "2")}, stored, "here")
    with pytest.raises(InputError, match=r"^here has another plan: 0 runs of this one are not in it, 1 of its"):
        refuse_another_plan({("a", "1")}, stored, "here")


@pytest.mark.slow
def test_two_workers_do_all_runs_once(tmp_path: Path, small_experiment: str) -> None:
    (tmp_path / "small.yaml").write_text(small_experiment)
    for worker in [start("worker", "small.yaml", "--db", "r.db", cwd=tmp_path) for _ in range(2)]:
        _, err = worker.communicate(timeout=500)
        assert worker.returncode == 0, err
    store = open_store(tmp_path / "r.db")
    states = store.query("SELECT state, COUNT(*) AS n FROM attempt GROUP BY state")
    assert [dict(row) for row in states] == [{"state": "done", "n": N_RUNS}]
    names = store.query("SELECT COUNT(DISTINCT worker) AS n FROM attempt")
    assert names[0]["n"] == 2
