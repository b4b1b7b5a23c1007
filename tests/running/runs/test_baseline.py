"""running/runs/baseline.py: trivial baselines of texts."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.data.tasks.catalogue import find_task
from hashbench.data.tasks.text_data import Split, TaskData
from hashbench.running.runs.base import kind_of
from hashbench.running.runs.baseline import predicted, until_stopped
from hashbench.running.sweep.plan import plan
from hashbench.running.training.machine import Interrupted
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
    assert set(baselines(experiment, tmp_path / "a", ("train", "test"))) == {"majority", "bag-of-words", "hashed-words"}


def test_one_that_learns_from_held_out_rows_too_has_an_id_of_its_own(experiment, tmp_path: Path) -> None:
    held = baselines(experiment, tmp_path / "a", ("train", "test"))["majority"]
    given = baselines(experiment, tmp_path / "b", ("train", "validation", "test"))["majority"]
    assert held.spec["learned"] == "train and holdout"
    assert "learned" not in given.spec
    assert held.id != given.id


def test_a_request_to_stop_is_heard_during_one_long_call() -> None:
    goes_on, stop = threading.Event(), threading.Event()
    stop.set()
    with pytest.raises(Interrupted):
        until_stopped(lambda: goes_on.wait(60) and SimpleNamespace(), stop)
    goes_on.set()


@pytest.mark.parametrize("error", [ValueError("odd"), TimeoutError("its own"), KeyboardInterrupt()])
def test_what_the_work_raises_is_raised(error: BaseException) -> None:
    def work() -> None:
        raise error

    with pytest.raises(type(error)):
        until_stopped(work, threading.Event())


def test_predictions_are_those_without_a_request_to_stop() -> None:
    random = np.random.RandomState(0)
    texts = [" ".join(f"w{i}" for i in random.randint(0, 300, 30)) for _ in range(400)]
    labels = random.randint(0, 4, 400)
    data = TaskData(
        find_task("wisesight"),
        {"train": Split((texts[:300],), labels[:300]), "test": Split((texts[300:],), labels[300:])}
        | {"validation": Split((texts[300:],), labels[300:])},
        "f", "here", "own",
    )  # fmt: skip
    alone = predicted("bag-of-words", data)
    heard = until_stopped(lambda: predicted("bag-of-words", data), threading.Event())
    assert alone.metrics == heard.metrics
    for one, other in zip(alone.predictions, heard.predictions, strict=True):
        assert (one.outputs == other.outputs).all()


def floors_of(experiment, folder: Path, floors: str) -> dict[str, Run]:
    """The trivial baselines of ATIS by label, for a value of the key `floors`."""
    (folder / "classification/atis").mkdir(parents=True, exist_ok=True)
    for split in ("train", "test"):
        (folder / f"classification/atis/{split}.csv").write_text("text,label\ngood,1\nbad,0\n" * 6)
    lines = f"models: [{{name: raw, like: hashformer-md-proj, objective: none}}]\nbaseline: raw\nfloors: {floors}\n"
    runs = plan(experiment(lines, "tasks=[atis]"), data=[str(folder)]).runs
    return {run.model: run for run in runs if "floor" in run.spec}


def test_a_size_is_in_the_id_and_a_list_of_sizes_in_the_names(experiment, tmp_path: Path) -> None:
    (named,) = floors_of(experiment, tmp_path, "[hashed-words]").values()
    (given,) = floors_of(experiment, tmp_path, "[{name: hashed-words, bytes: 65_536}]").values()
    assert named.id == given.id and named.model == given.model == "hashed-words" and named.spec["bytes"] == 65_536
    listed = floors_of(experiment, tmp_path, "[{name: hashed-words, bytes: [4_096, 65_536]}]")
    assert list(listed) == ["hashed-words-4096", "hashed-words-65536"]
    assert listed["hashed-words-65536"].id == named.id != listed["hashed-words-4096"].id


@pytest.mark.parametrize(
    ("floors", "complaint"),
    [
        ("[{name: hashed-words, bytes: 0}]", "bytes of entry 1 of floors: must be at least 1"),
        ("[{name: hashed-words, bytes: []}]", "bytes of entry 1 of floors"),
        ("[{name: bag-of-words, bytes: 10}]", "name of entry 1 of floors: must be 'hashed-words'"),
        ("[hashed-words, {name: hashed-words}]", "'hashed-words' stands twice in floors; keep one of them"),
        ("[{name: hashed-words, bytes: [64, 64]}]", "'hashed-words-64' stands twice; keep one of its sizes"),
    ],
)
def test_wrong_sizes_are_refused_in_one_line(experiment, tmp_path: Path, floors: str, complaint: str) -> None:
    with pytest.raises(InputError) as refused:
        floors_of(experiment, tmp_path, floors)
    assert complaint in str(refused.value) and "\n" not in str(refused.value)


def test_a_line_says_that_one_begins(experiment, tmp_path: Path) -> None:
    assert all(kind_of(run).announced for run in baselines(experiment, tmp_path / "a", ("train", "test")).values())
