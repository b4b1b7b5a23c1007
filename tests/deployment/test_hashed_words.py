"""Hashed words as a folder: hashbench's scores in Python and JavaScript without it, columns of tables, refusals."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.catalogue import find_task, load_task
from hashbench.data.tasks.text_data import Split
from hashbench.deployment import hashed_words
from hashbench.deployment.floors import evaluated_folder
from hashbench.deployment.hashed_words import (
    CODE,
    JAVASCRIPT,
    VECTORS,
    learned_on,
    write_folder,
)
from hashbench.models.portable.hashed_words import SETTINGS, WEIGHTS, HashedWords
from tests.deployment.test_bag_of_words import EXPERIMENT, command, three_classes

RIGHT = "1000 texts, all right"
IN_NODE = """
import { readFileSync } from "node:fs";
import { load, check } from "./hashed_words.mjs";
const read = (name) => readFileSync(new URL(name, import.meta.url));
const { right, wrong } = check(await load(read), read("vectors.jsonl").toString().trim().split("\\n"));
console.log(wrong ? JSON.stringify(wrong) : `${right} texts, all right`);
"""


@pytest.fixture(scope="module", params=["sst2", "stsb", "rte", "three"])
def made(request, tmp_path_factory):
    """A task, its hashed words, and their folder."""
    task = three_classes() if request.param == "three" else load_task(find_task(request.param), open_sources("builtin"))
    folder, learned = tmp_path_factory.mktemp(request.param), learned_on(task, bytes=6_000)
    write_folder(learned, "int8", request.param, folder)
    return task, learned, folder


def test_python_reproduces_all_vectors(made) -> None:
    _, _, folder = made
    command = [sys.executable, "-I", "-S", str(folder / CODE), "--check", str(folder / VECTORS)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == RIGHT


def test_javascript_reproduces_all_vectors(made) -> None:
    _, _, folder = made
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    shutil.copyfile(folder / JAVASCRIPT, folder / "hashed_words.mjs")
    (folder / "script.mjs").write_text(IN_NODE)
    found = subprocess.run(
        [node, str(folder / "script.mjs")], capture_output=True, text=True, check=True
    ).stdout.strip()
    (folder / "script.mjs").unlink()
    assert found == RIGHT


def test_a_wrong_vector_is_found(made, tmp_path: Path) -> None:
    _, _, folder = made
    lines = (folder / VECTORS).read_text().splitlines()
    wrong = json.loads(lines[3])
    wrong["scores"][0] += 1e-6
    (tmp_path / VECTORS).write_text("\n".join([*lines[:3], json.dumps(wrong)]))
    command = [sys.executable, "-I", "-S", str(folder / CODE), "--check", str(tmp_path / VECTORS)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 1 and "text 4 differs" in ran.stderr


def test_answers_and_score_are_those_of_the_baseline(made) -> None:
    task, learned, folder = made
    texts = [" ".join(row) for row in zip(*task.splits[task.task.select_splits[0]].texts, strict=True)]
    hashed, expected = HashedWords.load(folder), learned.model.predict(texts)
    answers = [hashed.answer(text) for text in texts]
    if hashed.labels:
        assert answers == [task.label_names[number] for number in expected]
    else:
        np.testing.assert_allclose(answers, expected, rtol=1e-9)
    form = evaluated_folder(hashed_words, folder, "int8", task)
    assert form.bytes == (folder / WEIGHTS).stat().st_size == learned.model.weights.size <= 6_000
    assert form.folder == sum((folder / name).stat().st_size for name in (WEIGHTS, SETTINGS, CODE))


def test_a_constant_is_not_exported() -> None:
    task = load_task(find_task("sst2"), open_sources("builtin"))
    one = {name: Split(part.texts, np.zeros_like(part.labels)) for name, part in task.splits.items()}
    with pytest.raises(InputError, match="task 'sst2': no word or one class in train, so that there is nothing to exp"):
        learned_on(type(task)(task.task, one, task.fingerprint, task.origin, task.kind))


def test_from_a_sweep_to_a_folder(tmp_path: Path, monkeypatch, capsys) -> None:
    """A size of its own, its row in the table with its bytes, and its export."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    floors = "[majority, {name: hashed-words, bytes: [2_000, 4_000]}]"
    Path("floors.yaml").write_text(EXPERIMENT.replace("[majority, bag-of-words]", floors))
    code, out, err = command(capsys, "sweep", "floors.yaml")
    assert code == 0 and "hashed-words-2000" in out and "hashed-words-4000" in out, err
    code, out, err = command(capsys, "report", "--provenance")
    assert "Best trivial baselines: SST-2 " in out and "hashed-words" in out and "00 bytes)" in out
    asked = ("export", "--experiment", "floors", "--task", "sst2", "--model", "hashed-words-4000", "hashed")
    code, out, err = command(capsys, *asked, "--evaluate")
    assert code == 0 and "4,000 of them int8 weights of 4,000 buckets of " in out, err
    assert Path("hashed", WEIGHTS).stat().st_size == 4_000
    code, out, err = command(capsys, "predict", "hashed", "a film")
    assert (
        code == 2 and "a trivial baseline, which answers without hashbench: python hashed/hashed_words.py TEXT" in err
    )
