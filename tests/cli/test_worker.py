"""`worker`: wrong input, and plans other than the stored one."""

from __future__ import annotations

import pytest

from tests.cli.commands import Run, fails


def test_a_worker_of_another_plan_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep plans; a worker with other overrides, thus other runs, takes none of them."""
    import hashbench.running.sweep.runner

    monkeypatch.setattr(hashbench.running.sweep.runner, "carry_out", lambda work, **limits: 1)
    assert run("sweep", "small.yaml").code == 1
    assert run("worker", "small.yaml").code == 1
    assert run("worker", "small.yaml", "workers=2").code == 1, "how many run at a time is no part of a plan"
    other = run("worker", "small.yaml", "finetune.epochs=2")
    fails(other, "small.yaml: 'small' in results.db has another plan: 1 runs of this one are not in it, 1 of its runs")
    assert "(models: hashformer-md-proj); use the file, overrides, --data and release" in other.err


def test_wrong_input_of_a_worker_is_one_line(run: Run) -> None:
    fails(run("worker", "none.yaml"), "none.yaml: no such file")
    fails(run("worker", "small.yaml", "--db", "nowhere/r.db"), "nowhere")
