"""Data sets of the user's own: a folder with train, perhaps validation and test, as parquet, CSV or JSONL."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from hashbench.common.errors import InputError
from hashbench.data.sources.files import FORMATS_TEXT, FileTable, check_file, find_table
from hashbench.data.sources.sources import LABEL_NAMES
from hashbench.data.tasks.base import Task

HOLDOUT = "holdout"  # a seeded tenth of train, where there is no validation split
SPLIT_FILES = {"train": ("train",), "validation": ("validation", "dev", "valid"), "test": ("test",)}


def with_splits(task: Task, splits: Collection[str]) -> Task:
    """The task as these splits allow: selected on validation or a seeded tenth of train, reported on test if possible.

    Published rows of a validation split that is not there are expected among those of train.
    """
    select = "validation" if "validation" in splits else HOLDOUT
    rows = dict(task.official_rows)
    if select == HOLDOUT and "validation" in rows:
        rows["train"] += rows.pop("validation")
    report = ("test",) if "test" in splits else (select,)
    return replace(task, select_splits=(select,), report_splits=report, official_rows=rows)


def reports_elsewhere(task: Task) -> bool:
    """Whether rows of train are held out to select on, and others are reported on."""
    return HOLDOUT in task.select_splits and HOLDOUT not in task.report_splits


def own_tables(folder: Path, where: str, delimiter: str | None = None) -> dict[str, FileTable]:
    """Split -> table of an own data set. `delimiter`: of .csv files, None for a comma."""
    if not folder.exists():
        raise InputError(f"{where}: no folder {folder}; check path (it is relative to the experiment file)")
    if not folder.is_dir():
        raise InputError(f"{where}: {folder} is a file; path is the folder that holds train ({FORMATS_TEXT})")
    tables = {split: find_table(folder, names, delimiter) for split, names in SPLIT_FILES.items()}
    return require_train({split: table for split, table in tables.items() if table}, folder)


def require_train(tables: dict[str, FileTable], folder: Path) -> dict[str, FileTable]:
    """The tables, if a train split is among them."""
    if "train" not in tables:
        raise InputError(f"{folder}: no train split; put a train file there ({FORMATS_TEXT})")
    return tables


def label_names(folder: Path) -> tuple[str, ...]:
    """What label_names.json in a folder says, or nothing."""
    path = folder / LABEL_NAMES
    if not path.exists():
        return ()
    check_file(path)
    try:
        names = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise InputError(f'{path}: is not JSON; it holds a list of names, ["no", "yes"]') from error
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise InputError(f'{path}: is not a list of different names; it looks like ["no", "yes"]')
    return tuple(names)
