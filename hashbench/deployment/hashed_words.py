"""The trivial baseline `hashed-words` as a folder for a device, learned again from its run's task.

The folder holds one byte for each weight, no word, and generated files in Python and JavaScript that need no library.
`vectors.jsonl` has a thousand texts with their words and scores: what reads texts is right when it reproduces them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import hashbench
from hashbench.common.errors import InputError
from hashbench.data.tasks.blocks import HASHED_BYTES
from hashbench.data.tasks.text_baselines import FittedWords, fitted_hashed_words
from hashbench.data.tasks.text_data import TaskData
from hashbench.deployment.text_side import NAME_IN_JAVASCRIPT, check_names, filled, joined_sources, texts_to_prove
from hashbench.models.portable.hashed_words import SETTINGS, WEIGHTS
from hashbench.models.text.base import shipped_source
from hashbench.models.text.words import WordTokenizer

CODE, JAVASCRIPT, VECTORS = "hashed_words.py", "hashed_words.js", "vectors.jsonl"
PARTS, OTHERS = (WEIGHTS,), (SETTINGS, CODE)  # what was learned, and what a program needs beside it
KINDS = ("int8",)


@dataclass(frozen=True)
class LearnedWords:
    """Fitted hashed words, and the names of the classes, () for a regression."""

    model: FittedWords
    labels: tuple[str, ...]


def learned_on(task: TaskData, *, bytes: int = HASHED_BYTES) -> LearnedWords:
    """The hashed words of a task's train set. Raises InputError where it has nothing to learn but a constant."""
    model = fitted_hashed_words(task, bytes)
    if model is None:
        raise InputError(f"task {task.task.name!r}: no word or one class in train, so that there is nothing to export")
    return LearnedWords(
        model, tuple(task.label_names[number] if task.label_names else str(number) for number in model.classes)
    )


def described(learned: LearnedWords) -> str:
    """The contents of a folder, in words."""
    n_outputs, n_buckets = learned.model.weights.shape
    read = "words and pairs of words" if learned.model.pairs else "words"
    return f"weights of {n_buckets:,} buckets of {read}, {n_outputs} for each"


def write_folder(learned: LearnedWords, kind: str, task: str, folder: Path) -> None:
    """Writes weights, settings, code and vectors to an existing folder; the only kind of weights is "int8"."""
    model, words = learned.model, WordTokenizer().portable()
    assert words is not None
    values = {
        "labels": learned.labels,
        "multi_label": model.multi_label,
        "pairs": bool(model.pairs),
        "buckets": model.weights.shape[1],
        "scales": model.scales.tolist(),
        "intercepts": model.intercepts.tolist(),
        "tokenizer": words.values,
    }
    sources = (*words.needs, words.source, "hashed_words")
    parts, imports = joined_sources(
        {name: shipped_source(f"{name}.py") for name in sources}, ("import sys\n", "from pathlib import Path\n")
    )
    calls = {"task": task, "version": hashbench.__version__, "imports": imports, "parts": parts}
    scripts = {name: shipped_source(f"{name}.js") for name in sources}
    check_names({name: re.findall(NAME_IN_JAVASCRIPT, text) for name, text in scripts.items()})
    (folder / WEIGHTS).write_bytes(model.weights.tobytes())
    contents = {
        SETTINGS: json.dumps(values, separators=(",", ":")),
        CODE: filled(shipped_source("hashed_words.txt"), calls),
        JAVASCRIPT: filled(shipped_source("hashed_words_main.js"), {**calls, "parts": "\n".join(scripts.values())}),
        VECTORS: "".join(vectors(model)),
    }
    for name, content in contents.items():
        (folder / name).write_text(content, encoding="utf-8")


def vectors(model: FittedWords) -> list[str]:
    """Lines of test texts with hashbench's own words and scores."""
    texts = texts_to_prove()
    scores = model.scores(texts).tolist()
    return [
        json.dumps({"text": text, "tokens": WordTokenizer().tokenize(text), "scores": of_text}) + "\n"
        for text, of_text in zip(texts, scores, strict=True)
    ]
