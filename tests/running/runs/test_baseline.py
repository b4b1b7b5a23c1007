"""running/runs/baseline.py: trivial baselines of texts."""

from __future__ import annotations

from pathlib import Path

from hashbench.running.sweep.plan import plan
from hashbench.store.planning import Run


def baselines(experiment, folder: Path, splits: tuple[str, ...]) -> dict[str, Run]:
    """The trivial baselines of ATIS by name, from a data folder with these splits."""
    (folder / "classification/atis").mkdir(parents=True)
    for split in splits:
        (folder / f"classification/atis/{split}.csv").write_text("text,label\ngood,1\nbad,0\n" * 6)
    lines = "models: [{name: raw, like: hashformer-md-proj, objective: none}]\nbaseline: raw\n"
    runs = plan(experiment(lines, "tasks=[atis]"), data=[str(folder)]).runs
    return {run.model: run for run in runs if "floor" in run.spec}


def test_only_those_of_texts_are_planned_for_a_text(experiment, tmp_path: Path) -> None:
    assert set(baselines(experiment, tmp_path / "a", ("train", "test"))) == {"majority", "bag-of-words"}


def test_one_that_learns_from_held_out_rows_too_has_an_id_of_its_own(experiment, tmp_path: Path) -> None:
    held = baselines(experiment, tmp_path / "a", ("train", "test"))["majority"]
    given = baselines(experiment, tmp_path / "b", ("train", "validation", "test"))["majority"]
    assert held.spec["learned"] == "train and holdout"
    assert "learned" not in given.spec
    assert held.id != given.id
