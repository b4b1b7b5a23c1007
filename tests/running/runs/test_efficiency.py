"""running/runs/efficiency.py: what a measurement is planned as, and what it stores."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from hashbench.running.runs.artifacts import ArtifactFolder
from hashbench.running.runs.base import Workplace
from hashbench.running.runs.efficiency import KIND
from hashbench.running.runs.materials import Materials
from hashbench.running.sweep.plan import Plan, plan
from hashbench.running.training.machine import Machine
from hashbench.store.planning import Run

SHORT = "{pairs: 2, limit_s: 0, pretrain_batch_size: 2, pretrain_length: 16, infer_batch_size: 4, infer_samples: 8}"
MODELS = "models: [hashformer-md-proj, hashformer-md-pool]\nbaseline: hashformer-md-pool\nthreads: 1\n"


def measured(planned: Plan) -> list[Run]:
    return [run for run in planned.runs if run.kind == "efficiency"]


def workplace(planned: Plan, folder: Path) -> Workplace:
    resolved = planned.resolved
    materials = Materials(resolved.sources, folder / "cache", resolved.tasks)
    return Workplace(resolved, {run.id: run for run in planned.runs}, materials, ArtifactFolder(folder / "cache"))


def test_sizes_times_and_memory_are_stored_with_the_precision_that_was_found(experiment, tmp_path: Path) -> None:
    planned = plan(experiment(MODELS + f"efficiency: {SHORT}\n", "tasks=[cola]", "pretrain.max_documents=40"))
    run = next(run for run in measured(planned) if run.model == "hashformer-md-proj")
    result = KIND.carry_out(run, workplace(planned, tmp_path), Machine(tmp_path, device="cpu"))
    values = {(row.name, row.split): row.value for row in result.metrics}
    assert values["emb_params", ""] and values["total_params", ""] > values["emb_params", ""]
    for name, split in (("pretrain_ms", ""), ("infer_ms", "cola"), ("infer_text_ms", "cola")):
        assert values[name, split] > 0 and values[f"baseline_{name}", split] > 0
        assert values[f"{name}_pairs", split] >= 2
    assert result.notes == {"precision_found": "32"} and not result.artifacts


def test_only_one_measurement_of_a_machine_is_under_way(
    experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two at once would time each other."""
    planned = plan(experiment(MODELS + f"efficiency: {SHORT}\n", "tasks=[cola]", "pretrain.max_documents=40"))
    place, at_once, most = workplace(planned, tmp_path), 0, 0
    several = threading.Event()

    def measure(*arguments: object) -> list[object]:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        several.wait(0.2)
        at_once -= 1
        return []

    monkeypatch.setattr("hashbench.running.runs.efficiency.measure", measure)
    monkeypatch.setattr("hashbench.running.runs.efficiency.candidate", lambda model, materials: model)
    machine = Machine(tmp_path, device="cpu")
    threads = [threading.Thread(target=KIND.carry_out, args=(run, place, machine)) for run in measured(planned)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(threads) == 2 and most == 1


def test_a_model_is_measured_as_often_as_asked_and_its_earlier_steps_never(experiment) -> None:
    steps = "{name: hashformer-md-proj, pretrain: {checkpoints: [4, 8]}}"
    planned = plan(experiment(f"models: [{steps}]\nbaseline: hashformer-md-proj\nefficiency: {{repeats: 2}}\n"))
    runs = measured(planned)
    assert [(run.model, run.spec.get("repeat")) for run in runs] == [
        ("hashformer-md-proj", None), ("hashformer-md-proj", 1),
    ]  # fmt: skip
    assert any(run.model != "hashformer-md-proj" for run in planned.runs), "there are earlier steps"


def test_without_the_key_nothing_is_measured(experiment) -> None:
    assert measured(plan(experiment(MODELS + "efficiency: false\n"))) == []


def test_the_baselines_recipe_stands_in_a_spec_where_it_is_another(experiment) -> None:
    lines = "models: [hashformer-md-proj, {name: hashformer-md-pool, finetune: {max_length: 24}}]\n"
    planned = plan(experiment(lines + "baseline: hashformer-md-pool\nefficiency: true\n"))
    specs = {run.model: run.spec for run in measured(planned)}
    assert specs["hashformer-md-proj"]["baseline_finetune"]["max_length"] == 24
    assert "baseline_pretrain" not in specs["hashformer-md-proj"]
    assert "baseline_finetune" not in specs["hashformer-md-pool"]
