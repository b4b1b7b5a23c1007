"""The trivial baseline `bag-of-words` as a folder for a device, learned again from its run's task.

The folder holds the features as text, their idf and weights (int8, or float32), and one generated Python file that
needs the standard library alone. Bytes and times are of this folder, which would be shipped in place of a model.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hashbench
from hashbench.common.errors import InputError
from hashbench.data.tasks.text_baselines import fitted_bag_of_words
from hashbench.data.tasks.text_data import TaskData
from hashbench.deployment.text_side import filled, joined_sources
from hashbench.models.portable.bag_of_words import FEATURES, NUMBERS, SETTINGS
from hashbench.models.text.base import shipped_source
from hashbench.models.text.words import WordTokenizer

CODE = "bag_of_words.py"
PARTS, OTHERS = (FEATURES, NUMBERS), (SETTINGS, CODE)  # what was learned, and what a program needs beside it
KINDS = ("float32", "int8")
LARGEST_INTEGERS = {"idf": 255, "weight": 127}  # of their integers


@dataclass(frozen=True)
class Learned:
    """A fitted bag of words: features, idf (n,), weights (k, n) and intercepts (k,) float64, names of the classes."""

    features: tuple[str, ...]
    idf: np.ndarray
    weights: np.ndarray
    intercepts: np.ndarray
    labels: tuple[str, ...]  # () for a regression
    multi_label: bool = False  # whether each output is a label by itself


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
        task.task.kind.multi_label,
    )


def described(learned: Learned) -> str:
    """The contents of a folder, in words."""
    return f"weights of {len(learned.features):,} words and pairs of words"


def write_folder(learned: Learned, kind: str, task: str, folder: Path) -> None:
    """Writes features, numbers of a kind ("float32" or "int8"), settings and code to an existing folder."""
    numbers, scales = _numbers(learned, kind)
    values = {
        "kind": kind,
        "labels": learned.labels,
        "multi_label": learned.multi_label,
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
    idf = np.round(learned.idf * (LARGEST_INTEGERS["idf"] / learned.idf.max())).astype(np.uint8)
    scales = np.maximum(np.abs(learned.weights).max(1), 1e-12) / LARGEST_INTEGERS["weight"]  # (k,)
    weights = np.round(learned.weights / scales[:, None]).astype(np.int8)
    return idf.tobytes() + weights.tobytes(), scales.tolist()
