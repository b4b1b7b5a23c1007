"""The named text classification tasks: where they are found, what serves to select on, which labels count."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.data.sources.hub import HubTable, joined
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.catalogue import available, find_task, load_task, locate_task
from hashbench.data.tasks.named.proformer import TASKS
from hashbench.data.tasks.text import text_kind
from hashbench.data.tasks.text_data import HOLDOUT, TaskData, reports_elsewhere

ROWS = {"train": 30, "validation": 4, "test": 6}
NAMES = ["flight", "airfare", "meal"]


def folder(path: Path, task: str = "atis", splits: tuple[str, ...] = tuple(ROWS), names: bool = True) -> Path:
    """A data folder with one task: words decide its two labels, and test has a third."""
    home = path / "classification" / task
    home.mkdir(parents=True)
    for split in splits:
        rows = [{"text": f"{NAMES[i % 2]} {i}", "label": i % 2} for i in range(ROWS[split])]
        rows += [{"text": "meal", "label": 2}] if split == "test" else []
        (home / f"{split}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    if names:
        (home / "label_names.json").write_text(json.dumps(NAMES))
    return path


def load(path: Path, task: str = "atis") -> TaskData:
    return load_task(find_task(task), open_sources(str(path)))


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_tasks_report_on_test_by_accuracy(task) -> None:
    assert (task.report_splits, task.select_metric) == (("test",), "accuracy")


def test_a_validation_split_is_selected_on(tmp_path: Path) -> None:
    data = load(folder(tmp_path))
    assert (data.task.select_splits, data.task.report_splits) == (("validation",), ("test",))
    assert (data.label_names, data.n_outputs) == (tuple(NAMES), 3)
    assert data.notes == (
        "sample: train 30 of 4,478 rows, validation 4 of 500 rows, test 7 of 893 rows",
        "1 row of test has a label that train never has: 'meal'",
        "texts also in train: 4 rows of validation, 6 rows of test",
        "texts also in validation: 4 rows of test",
    )


def test_without_one_a_tenth_of_train_is(tmp_path: Path) -> None:
    """The published rows of validation are expected in train: 4,478 + 500."""
    data = load(folder(tmp_path, splits=("train", "test"), names=False))
    assert data.task.select_splits == (HOLDOUT,) and data.task.report_splits == ("test",)
    assert {split: len(part) for split, part in data.splits.items()} == {"train": 27, HOLDOUT: 3, "test": 7}
    assert data.notes[0] == "sample: train 30 of 4,978 rows, test 7 of 893 rows"


def test_a_task_without_a_test_split(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"classification/atis: no test split; put a test file there"):
        load(folder(tmp_path, splits=("train", "validation")))


def test_a_task_that_no_source_has() -> None:
    with pytest.raises(InputError, match=r"task 'mrda': not in builtin; a data folder holds classification/mrda/train"):
        locate_task(find_task("mrda"), open_sources("builtin"))


def test_a_folder_is_listed_with_its_tasks(tmp_path: Path) -> None:
    lines = {line.name: line.rows for line in available(open_sources(str(folder(tmp_path))))}
    assert set(lines) == {"atis"} and set(lines["atis"]) == set(ROWS)


@pytest.mark.parametrize("name", [task.name for task in TASKS])
def test_the_hub_has_every_task_by_name(name: str) -> None:
    """Nothing is read: splits, columns and rows stand with the task."""
    located = locate_task(find_task(name), open_sources("hub"))
    table = located.tables["train"]
    assert isinstance(table, HubTable) and set(dict(table.place.columns)) == {"text", "label"}
    assert set(located.tables) == set(find_task(name).hub.rows) == set(located.task.official_rows)
    assert located.task.report_splits == ("test",)
    assert located.task.select_splits == (("validation",) if name == "mrda" else (HOLDOUT,))


def test_one_column_is_not_touched() -> None:
    cells: list[object] = [1, None]
    assert joined([cells]) is cells


def test_a_floor_learns_the_rows_held_out_where_another_set_is_reported(tmp_path: Path) -> None:
    """The only rows with a class are held out: a test set is predicted with them, the held-out set without."""
    data = load(folder(tmp_path, splits=("train", "test")))
    held = data.splits[HOLDOUT]
    held.labels[:] = 2
    held.texts[0][:] = ["meal"] * len(held)
    found = text_kind(data.task).predictions("bag-of-words", data)
    assert found["test"].outputs[-1] == 2 and 2 not in found[HOLDOUT].outputs
    only = text_kind(data.task).predictions("bag-of-words", data, ["test"])
    assert list(only) == ["test"] and only["test"].outputs.tolist() == found["test"].outputs.tolist()


def test_without_a_validation_split_another_set_is_reported_on(tmp_path: Path) -> None:
    held = locate_task(find_task("atis"), open_sources(str(folder(tmp_path / "a", splits=("train", "test")))))
    given = locate_task(find_task("atis"), open_sources(str(folder(tmp_path / "b"))))
    assert (reports_elsewhere(held.task), reports_elsewhere(given.task)) == (True, False)
