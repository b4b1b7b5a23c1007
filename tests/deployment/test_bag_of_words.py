"""The bag of words as a folder: scikit-learn's scores without scikit-learn, int8 near them, refusals, its columns."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hashbench.cli.app import main
from hashbench.common.errors import InputError
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.catalogue import find_task, load_task
from hashbench.data.tasks.text_baselines import fitted_bag_of_words
from hashbench.data.tasks.text_data import Split, TaskData
from hashbench.deployment import bag_of_words
from hashbench.deployment.bag_of_words import CODE, learned_on, write_folder
from hashbench.deployment.floors import evaluated_folder
from hashbench.models.portable.bag_of_words import FEATURES, NUMBERS, SETTINGS, BagOfWords
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.store.engine import open_store

ODD = ["", "film", "FILM film film", "Don't STOP!!! 東京", "x\ny  z", "never met words alone"]


def three_classes() -> TaskData:
    """A task of three classes, in whose train set the second does not come."""
    task = load_task(find_task("sst2"), open_sources("builtin"))
    names = ("bad", "absent", "good", "odd")
    labels = {name: 2 * part.labels + (np.arange(len(part)) % 5 == 0) for name, part in task.splits.items()}
    splits = {
        name: Split(part.texts, np.where(labels[name] == 1, 3, labels[name])) for name, part in task.splits.items()
    }
    return replace(task, splits=splits, task=replace(task.task, n_classes=4, label_names=names))


def of_name(name: str) -> TaskData:
    return three_classes() if name == "three" else load_task(find_task(name), open_sources("builtin"))


@pytest.mark.parametrize("name", ["sst2", "stsb", "rte", "three"])
def test_a_folder_has_the_scores_of_scikit_learn(name: str, tmp_path: Path) -> None:
    task = of_name(name)
    model, learned = fitted_bag_of_words(task, for_test=True), learned_on(task)
    texts = [" ".join(row) for row in zip(*task.splits[task.task.select_splits[0]].texts, strict=True)][:50] + ODD
    expected = model.predict(texts) if name == "stsb" else model.decision_function(texts)
    for kind, tolerance in {"float32": 1e-5, "int8": 0.1}.items():
        write_folder(learned, kind, name, tmp_path)
        bag = BagOfWords.load(tmp_path)
        scores = np.array([bag.scores(text) for text in texts])
        np.testing.assert_allclose(scores if scores.shape[1] > 1 else scores[:, 0], expected, atol=tolerance)
        size = sum((tmp_path / file).stat().st_size for file in (FEATURES, NUMBERS, SETTINGS, CODE))
        form = evaluated_folder(bag_of_words, tmp_path, kind, task)
        assert form.folder == size and form.bytes < size and form.text_milliseconds > 0
        if kind == "float32":
            right = model.predict(texts)
            answers = [bag.answer(text) for text in texts]
            if bag.labels:
                assert answers == [task.label_names[number] for number in right]
            else:
                np.testing.assert_allclose(answers, right, atol=1e-5)


def test_its_file_needs_the_standard_library_alone(tmp_path: Path) -> None:
    task = of_name("sst2")
    write_folder(learned_on(task), "int8", "sst2", tmp_path)
    expected = BagOfWords.load(tmp_path).answer("a good film")
    ran = subprocess.run(
        [sys.executable, "-S", "-I", str(tmp_path / CODE), "a good film"], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == expected


def test_a_constant_is_not_exported() -> None:
    task = of_name("sst2")
    one = {name: Split(part.texts, np.zeros_like(part.labels)) for name, part in task.splits.items()}
    with pytest.raises(InputError, match="task 'sst2': no word or one class in train, so that there is nothing to exp"):
        learned_on(replace(task, splits=one))


EXPERIMENT = """
name: floors
data: builtin
encoder: tiny
models: [{name: mean, like: hashformer-md-proj, encoder: average}]
baseline: mean
tasks: [sst2]
seeds: [0]
floors: [majority, bag-of-words]
finetune: {epochs: 1, batch_size: 64, max_length: 32, evaluations_per_epoch: 1}
threads: 1
"""


def command(capsys, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    out, err = capsys.readouterr()
    return int(left.value.code or 0), out, err


def test_model_and_bag_of_words_have_the_same_columns(tmp_path: Path, monkeypatch, capsys) -> None:
    """From a sweep to the tables: bytes, score and milliseconds of both in int8, in the experiment's table and in 3."""
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    Path("floors.yaml").write_text(EXPERIMENT)
    assert command(capsys, "sweep", "floors.yaml")[0] == 0
    rows = open_store("results.db", create=False, read_only=True).query("SELECT id, spec FROM run")
    by_floor = {json.loads(row["spec"]).get("floor"): row["id"] for row in rows}
    bag, mean = by_floor["bag-of-words"], by_floor[None]
    for option in ("--half", "--onnx", "--transformers"):
        code, out, err = command(capsys, "export", "--run", bag, "bag", option)
        assert (code, out) == (2, "")
        assert f"export {option}: bag-of-words is no graph and no model; leave it out" in err
    code, out, err = command(capsys, "export", "--run", by_floor["majority"], "no")
    assert code == 2 and "floor runs have no model to export" in err and not Path("no").exists()
    code, out, err = command(capsys, "export", "--run", bag, "bag", "--int8", "--evaluate")
    assert (
        code == 0 and " of them int8 weights of " in out and " words and pairs of words" in out and "| int8 |" in out
    ), err
    assert "is there already" in command(capsys, "export", "--run", bag, "bag")[2]
    assert command(capsys, "export", "--run", mean, "mean", "--onnx", "--int8", "--evaluate")[0] == 0
    names = [f"int8_{name}" for name in ("bytes", "score", "latency", "folder", "text_latency")]
    for number in (None, "3"):
        table = tables(open_store("results.db", create=False, read_only=True), ReportRequest(table=number))[0]
        by_model = {row.model: row for row in table.rows if row.model in ("mean", "bag-of-words")}
        assert all(row.cells[name].value for row in by_model.values() for name in names) and len(by_model) == 2
    facts = {name: json.loads(Path(name, "deployment.json").read_text()) for name in ("bag", "mean")}
    assert [form["form"] for form in facts["bag"]["evaluated"]] == ["float32", "int8"]
    assert facts["mean"]["evaluated"][1]["folder"] == facts["mean"]["shipped_bytes"]
