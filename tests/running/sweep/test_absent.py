"""running/sweep/absent.py: a dry run plans without a network and without the data; a sweep refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hashbench.common.errors import InputError, NotAtHand
from hashbench.data.sources import hub_copies
from hashbench.data.sources.weights import HubWeights
from hashbench.data.tasks.catalogue import find_task
from hashbench.running.experiment.load import load_experiment
from hashbench.running.sweep.absent import AbsentCorpus, AbsentTask, missing_of
from hashbench.running.sweep.plan import plan
from hashbench.running.sweep.runner import sweep
from hashbench.store.planning import Run

GLUE = Path(__file__).parents[3] / "experiments" / "glue.yaml"


@pytest.fixture(autouse=True)
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ConnectionError("no network here")

    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(hub_copies, "data_set_info", refuse)
    monkeypatch.setattr(HubWeights, "_fetched_before", lambda _: None)
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", refuse)


@pytest.mark.e2e
def test_the_paper_at_its_scale_is_planned_without_a_network(capsys, tmp_path: Path) -> None:
    assert sweep(load_experiment(GLUE), db=str(tmp_path / "r.db"), dry_run=True) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    canine = [line for line in lines if " efficiency canine-c" in line]
    assert "not at hand: weights google/canine-c, corpus bookcorpus" in canine[0]
    assert all(line.endswith("not at hand: corpus bookcorpus") for line in lines if " pretrain   " in line)
    assert all("not at hand" not in line for line in lines if " floor " in line)
    assert lines[-2].startswith("not at hand: weights google/canine-c, corpus bookcorpus (needed by ")
    assert [line.partition(":")[0] for line in err.splitlines()] == [str(GLUE)] * 2
    assert not (tmp_path / "r.db").exists()


def test_a_sweep_is_refused_as_before(experiment) -> None:
    with pytest.raises(NotAtHand, match="corpus .bookcorpus.: not in builtin"):
        plan(experiment("models: [bert-mlm]\n", "pretrain.corpora=[bookcorpus]"))


def test_tasks_weights_and_models_that_are_not_at_hand(experiment, capsys) -> None:
    models = "models: [bert-mlm, canine-c, {name: other, use: 'transformers:some/model'}]\n"
    loaded = experiment(models, "tasks=[cola, yahoo_answers]", "floors=[majority]")
    planned = plan(loaded, dry=True)
    tasks = {run.task: run.data_fingerprint for run in planned.runs if run.task}
    assert tasks["yahoo_answers"] == "not at hand: task yahoo_answers" and "not at hand" not in str(tasks["cola"])
    assert {run.model for run in planned.runs if run.kind == "finetune"} == {"bert-mlm", "canine-c"}
    assert sum("some/model" in str(error) for error in planned.absent) == 1


def test_what_is_missing_is_named_as_it_is_written() -> None:
    task = AbsentTask(replace(find_task("cola"), name="größe"))
    corpus = AbsentCorpus("本", "not at hand", "hub")
    lacking = Run("a", "finetune", "m", "tiny", {"data": task.fingerprint})
    needing = Run("b", "finetune", "m", "tiny", {"corpus": {"fingerprint": corpus.fingerprint}}, needs=("a",))
    assert missing_of([lacking, needing]) == {"a": ("task größe",), "b": ("corpus 本", "task größe")}


@pytest.mark.parametrize("change", ["pretrain.corpora=[bokcorpus]", "tasks=[colla]", "models=[bert-mml]"])
def test_a_wrong_name_is_refused_in_a_dry_run_too(experiment, change: str) -> None:
    with pytest.raises(InputError, match="did you mean|there: builtin"):
        plan(experiment("models: [bert-mlm]\n", change), dry=True)
