"""running/sweep/dry_run.py: the time that is left, and runs that are made again."""

from __future__ import annotations

from hashbench.common.showing import duration_text
from hashbench.running.runs.artifacts import ArtifactFolder
from hashbench.running.sweep.dry_run import print_plan
from hashbench.running.sweep.plan import plan
from hashbench.running.sweep.runner import write_down
from hashbench.store.engine import open_store
from hashbench.store.queue import claim
from hashbench.store.result import Result, finish

RAW = "{name: raw, like: hashformer-md-proj, objective: none}"
MODELS = "models: [bert-mlm, hashformer-md-proj]\nefficiency: true\n"


def test_nothing_is_foretold_before_a_run_of_each_kind_is_finished(experiment, capsys, tmp_path) -> None:
    planned = plan(experiment(f"models: [{RAW}]\nbaseline: raw\nfloors: []\nefficiency: false\n"))
    db = str(tmp_path / "r.db")
    print_plan(planned, db, 1)
    assert capsys.readouterr().out.splitlines()[-1] == "time left: not known before a run of each kind is finished"
    store = open_store(db)
    held = claim(store, write_down(store, planned, {}), worker="w", lease_s=60, max_attempts=1, kinds=("finetune",))
    finish(store, held, Result(seconds=40.0))
    store.close()
    print_plan(planned, db, 2)
    n_left = len(planned.runs) - 1
    assert capsys.readouterr().out.splitlines()[-1] == f"time left: {duration_text(40.0 * n_left / 2)}"


def test_finished_runs_whose_weights_are_gone_are_counted(experiment, capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    planned = plan(experiment(MODELS))
    db = str(tmp_path / "r.db")
    store = open_store(db)
    sweep_id = write_down(store, planned, {})
    while held := claim(store, sweep_id, worker="w", lease_s=60, max_attempts=1, kinds=("pretrain",)):
        finish(store, held, Result(seconds=40.0))
    store.close()
    pretrained = [run for run in planned.runs if run.kind == "pretrain"]
    print_plan(planned, db, 1)
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.endswith("weights are gone: made again")] == lines[: len(pretrained)]
    assert f"{len(pretrained)} done, {len(pretrained)} of them made again, since weights are gone" in "\n".join(lines)
    for run in pretrained:
        weights = ArtifactFolder(tmp_path / "cache").files(run.id).weights
        weights.parent.mkdir(parents=True)
        weights.write_bytes(b"")
    print_plan(planned, db, 1)
    assert "gone" not in capsys.readouterr().out
