"""The trivial baseline `bag-of-words` as a folder for a device, learned again from its run's task.

The folder holds the features as text, their idf and weights (int8, or float32), and one generated Python file that
needs the standard library alone. Bytes and times are of this folder, which would be shipped in place of a model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hashbench
from hashbench.common.atomic import atomic_write, replace_text
from hashbench.common.errors import InputError
from hashbench.data.tasks.text import BAG_OF_WORDS
from hashbench.data.tasks.text_baselines import fitted_bag_of_words
from hashbench.data.tasks.text_data import TaskData
from hashbench.deployment.evaluation import TIMED, Form, imported, median_milliseconds, scored, table_of
from hashbench.deployment.forms import FACTS, stored_forms
from hashbench.deployment.text_side import filled, joined_sources, size_of
from hashbench.models.portable.bag_of_words import FEATURES, NUMBERS, SETTINGS
from hashbench.models.text.base import shipped_source
from hashbench.models.text.words import WordTokenizer
from hashbench.results.rendering.rows import json_text
from hashbench.running.experiment.stored import task_data_of_run
from hashbench.store.engine import open_results
from hashbench.store.status import done_ids, find_run, run_spec

CODE = "bag_of_words.py"
KINDS = ("float32", "int8")
LARGEST = {"idf": 255, "weight": 127}  # of their integers


@dataclass(frozen=True)
class Learned:
    """A fitted bag of words: features, idf (n,), weights (k, n) and intercepts (k,) float64, names of the classes."""

    features: tuple[str, ...]
    idf: np.ndarray
    weights: np.ndarray
    intercepts: np.ndarray
    labels: tuple[str, ...]  # () for a regression


def is_bag_of_words(db: str, prefix: str) -> bool:
    """True where a run is of this trivial baseline. Raises InputError for an unknown run."""
    store = open_results(db)
    return run_spec(store, find_run(store, prefix)).get("floor") == BAG_OF_WORDS


def export_bag_of_words(
    db: str, prefix: str, folder: Path, data: Sequence[str] | None, note: Callable[[str], None], *, int8: bool = False,
    evaluate: bool = False,
) -> list[str]:  # fmt: skip
    """Writes the folder of a run; returns lines that describe it. With `evaluate` both kinds of numbers are measured.

    Raises InputError for an unfinished run, other data than the run's, or where nothing was learned.
    """
    store = open_results(db)
    run_id = find_run(store, prefix)
    if not done_ids(store, [run_id]):
        raise InputError(f"--run {prefix}: is not finished; go on with its sweep first (see hashbench status)")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: is there already; name a new folder, or empty it")
    task = task_data_of_run(store, run_id, data)
    note(f"learning {BAG_OF_WORDS} on {len(task.splits['train']):,} rows of train")
    learned, forms = learned_on(task), []
    folder = folder.expanduser().absolute()
    with atomic_write(folder) as part:
        part.mkdir()
        for kind in KINDS if evaluate else ():
            write_folder(learned, kind, task.task.name, part)
            note(f"evaluating {kind} on the rows of {task.task.select_splits[0]}")
            forms.append(evaluated_folder(part, kind, task))
        write_folder(learned, "int8" if int8 else "float32", task.task.name, part)
    parts = [folder / name for name in (FEATURES, NUMBERS)]
    lines = [
        f"{folder}: {size_of([*folder.iterdir()]):,} bytes in all, {size_of(parts):,} of them "
        f"{len(learned.features):,} words and pairs of words with {'int8' if int8 else 'float32'} weights",
        f"learned on train alone: python {folder / CODE} 'a text' prints its label, without hashbench",
    ]
    if forms:
        replace_text(folder / FACTS, json_text({"evaluated": [vars(form) for form in forms]}))
        lines += [*table_of(forms), stored_forms(db, prefix, folder)]
    return lines


def learned_on(task: TaskData) -> Learned:
    """The bag of words of a task's train set. Raises InputError where it has nothing to learn but a constant."""
    model = fitted_bag_of_words(task, for_test=True)  # a coarser fit is enough for a floor, not for an application
    if model is None:
        raise InputError(f"task {task.task.name!r}: no word or one class in train, so that there is nothing to export")
    vectorizer, linear = (part for _, part in model.steps)
    present = getattr(linear, "classes_", ())  # ids of the classes that train has
    return Learned(
        tuple(vectorizer.get_feature_names_out()),
        vectorizer.idf_,
        np.atleast_2d(linear.coef_),
        np.atleast_1d(linear.intercept_),
        tuple(task.label_names[number] if task.label_names else str(number) for number in present),
    )


def write_folder(learned: Learned, kind: str, task: str, folder: Path) -> None:
    """Writes features, numbers of a kind ("float32" or "int8"), settings and code to an existing folder."""
    numbers, scales = _numbers(learned, kind)
    values = {
        "kind": kind,
        "labels": learned.labels,
        "intercepts": learned.intercepts.tolist(),
        "scales": scales,
        "tokenizer": _words().values,
    }
    imports = ("import sys\n", "from pathlib import Path\n")
    texts = {name: shipped_source(f"{name}.py") for name in (*_words().needs, _words().source, "bag_of_words")}
    parts, needed = joined_sources(texts, imports)
    calls = {"task": task, "version": hashbench.__version__, "imports": needed, "parts": parts}
    (folder / FEATURES).write_bytes("\n".join(learned.features).encode())
    (folder / NUMBERS).write_bytes(numbers)
    (folder / SETTINGS).write_text(json.dumps(values, separators=(",", ":")), encoding="utf-8")
    (folder / CODE).write_text(filled(shipped_source("bag_of_words.txt"), calls), encoding="utf-8")


def _words() -> Any:
    """The tokenizer of the baseline as a step for a device."""
    return WordTokenizer().portable()


def _numbers(learned: Learned, kind: str) -> tuple[bytes, list[float]]:
    """The bytes of idf (n,) and weights (k, n), and the scale of each output's weights."""
    if kind == "float32":
        parts = (learned.idf.astype("<f4"), learned.weights.astype("<f4"))
        return b"".join(part.tobytes() for part in parts), [1.0] * len(learned.weights)
    # One scale for idf, which divides out
    idf = np.round(learned.idf * (LARGEST["idf"] / learned.idf.max())).astype(np.uint8)
    scales = np.maximum(np.abs(learned.weights).max(1), 1e-12) / LARGEST["weight"]  # (k,)
    weights = np.round(learned.weights / scales[:, None]).astype(np.int8)
    return idf.tobytes() + weights.tobytes(), scales.tolist()


def evaluated_folder(folder: Path, kind: str, task: TaskData) -> Form:
    """Bytes, score on the split that selects, and times of the bag of words in a folder.

    From words to scores it is timed as a graph is from ready inputs, and from a text to its label.
    """
    bag = imported(folder / CODE).load(folder)
    split = task.splits[task.task.select_splits[0]]
    rows = list(zip(*split.texts, strict=True))
    scores = np.array([bag.scores(*row) for row in rows])  # (n, k)
    if bag.labels:
        names = list(task.label_names) or [str(number) for number in range(task.n_outputs)]
        answers = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(1)
        outputs = np.array([names.index(label) for label in bag.labels])[answers]  # (n,)
    else:
        outputs = scores[:, 0]
    words = [bag.tokenize(" ".join(row)) for row in rows[:TIMED]]
    return Form(
        kind,
        size_of([folder / FEATURES, folder / NUMBERS]),
        *scored(task, outputs),
        milliseconds=median_milliseconds(bag.of_words, [(of_row,) for of_row in words]),
        folder=size_of([folder / name for name in (FEATURES, NUMBERS, SETTINGS, CODE)]),
        text_milliseconds=median_milliseconds(bag.answer, rows[:TIMED]),
    )
