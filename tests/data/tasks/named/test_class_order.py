"""The order of classes and the fingerprints of named tasks stay what stored predictions and run ids were made with."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path

import pytest

from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.catalogue import find_task, known_tasks, load_task
from hashbench.data.tasks.kinds.classification import KIND
from hashbench.data.tasks.text_data import HOLDOUT

# Task -> the beginning of its data's fingerprint, and of the SHA-256 of its labels, as of commit d6d6f87
BUILTIN = {
    "cola": ("b89d220b7eafdf8c", "b9b5eee8d3d693e9"),
    "sst2": ("1be937bfd36656a3", "c9089bbd26dabe71"),
    "mrpc": ("cb0fc161e513469f", "1051b813a3ff332f"),
    "stsb": ("8179f70062023832", "0675c49036f58d6e"),
    "qqp": ("f096a7e7a81fd398", "e6adfb89f8923e58"),
    "mnli": ("a93f4b8888de35d9", "09300e20117ad27d"),
    "qnli": ("e0f4b08c9ab4a68d", "3c8349e2a971a013"),
    "rte": ("c3d0bc068740d8bd", "2f5d37b1ccb06677"),
}
NAMED = [task for task in known_tasks().values() if task.kind is KIND]
DECLARED = [task for task in NAMED if task.label_names]
F1 = {"mrpc": "equivalent", "qqp": "duplicate"}


def test_the_built_in_tasks_are_those_below() -> None:
    assert {task.name for task in known_tasks().values() if task.builtin} == set(BUILTIN)


@pytest.mark.parametrize("name", BUILTIN)
def test_built_in_data_keep_their_fingerprint_and_every_label(name: str) -> None:
    data = load_task(find_task(name), open_sources("builtin"))
    labels = hashlib.sha256()
    for split, part in data.splits.items():
        labels.update(split.encode())
        labels.update(repr(part.labels.tolist()).encode())
    assert (data.fingerprint[:16], labels.hexdigest()[:16]) == BUILTIN[name]


def written(folder: Path, task: Task, cells: list[object], suffix: str) -> Path:
    """A data folder with all splits of a task, whose labels are these cells."""
    home = folder / task.home
    home.mkdir(parents=True)
    rows = [{**dict.fromkeys(task.text, f"text {i}"), task.label: cell} for i, cell in enumerate(cells)]
    for split in ("train", *(split for split in task.evaluation_splits if split != HOLDOUT)):
        with (home / f"{split}{suffix}").open("w", newline="") as file:
            if suffix == ".csv":
                writer = csv.DictWriter(file, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
            else:
                file.write("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
@pytest.mark.parametrize("task", DECLARED, ids=lambda task: task.name)
def test_a_number_is_a_place_in_the_declared_order_and_a_name_is_itself(
    tmp_path: Path, task: Task, suffix: str
) -> None:
    n = len(task.label_names)
    for kind, cells in {
        "numbers": list(range(n)),
        "floats": [float(i) for i in range(n)],
        "names": task.label_names,
    }.items():
        data = load_task(task, open_sources(str(written(tmp_path / kind, task, list(cells), suffix))))
        assert data.splits["train"].labels.tolist() == list(range(n)) and data.label_names == task.label_names


@pytest.mark.parametrize("task", [task for task in NAMED if not task.label_names], ids=lambda task: task.name)
def test_numbers_of_a_task_without_names_keep_their_order(tmp_path: Path, task: Task) -> None:
    splits = open_sources(str(written(tmp_path, task, [10, 0, 9, 1] * 5, ".csv")))
    data = load_task(task, splits)
    assert data.label_names == ("0", "1", "9", "10")


def test_the_class_whose_f1_is_reported() -> None:
    assert {task.name: task.label_names[1] for task in NAMED if "f1" in task.metrics} == F1
