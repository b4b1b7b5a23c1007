"""What an experiment resolves to, in rows."""

from __future__ import annotations

from hashbench.running.experiment.summary import model_rows, task_rows
from hashbench.running.sweep.plan import plan

MODELS = """\
models:
  - {name: proj, like: hashformer-md-proj, objective: none}
  - {name: mlm, like: bert-mlm, finetune: {steps: 30, learning_rate: [1.0e-3, 0.0005]}}
"""


def test_a_value_that_has_no_meaning_is_left_out(experiment) -> None:
    resolved = plan(experiment(MODELS)).resolved
    proj, mlm = model_rows(resolved)
    assert (proj["model"], proj["coder"], proj["objective"]) == ("proj", "md5-bits", "none")
    assert (proj["steps"], proj["pretrain_lr"], proj["warmup"], proj["finetune_steps"]) == (None, None, None, None)
    assert mlm["objective"] == "mlm" and mlm["steps"] and mlm["pretrain_lr"]
    assert (mlm["epochs"], mlm["finetune_steps"], mlm["finetune_lr"]) == (None, 30, "0.001, 0.0005")


def test_a_task_stands_with_its_source_and_data(experiment) -> None:
    resolved = plan(experiment(MODELS)).resolved
    row = task_rows(resolved)[0]
    assert (row["task"], row["from"], row["metric"]) == ("cola", "built-in data", "matthews")
    assert row["data"] == resolved.tasks[0].fingerprint[:8]


def test_runs_are_counted_by_kind(experiment) -> None:
    planned = plan(experiment(MODELS))
    first, *kinds = planned.counts.replace(":", ",").split(", ")
    assert first == f"{len(planned.runs)} runs" and sum(int(each.split()[0]) for each in kinds) == len(planned.runs)
