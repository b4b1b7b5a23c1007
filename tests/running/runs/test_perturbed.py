"""A user's pairs of texts, by hand on ten of them: what is read, what is refused, what is noted."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.data.perturbations.base import VERSION
from hashbench.data.tasks.blocks import TaskEntry
from hashbench.data.tasks.catalogue import load_task, own_task
from hashbench.data.tasks.text_data import TaskData
from hashbench.running.runs.perturbed import find_pairs, for_training, perturb_task

TEN = [  # text, label, other form, kind
    ("a good film", "pos", "a g0od film", "ocr"),
    ("a bad film", "neg", "a b4d film", "ocr"),
    ("very good", "pos", "vry gud", "romanised"),
    ("very bad", "neg", "vry baad", "romanised"),
    ("good", "pos", "g00d", "ocr"),
    ("bad", "neg", "bad", "ocr"),
    ("good again", "pos", "gud again", "romanised"),
    ("a good film", "pos", "a gd film", "romanised"),
    ("fine", "pos", "f1ne", "ocr"),
    ("poor", "neg", "p0or", "ocr"),
]
COLUMNS = ("text", "label", "perturbed", "kind")
NOISE = {"perturbations": [], "rates": [], "seed": 0, "version": VERSION}


def written(path: Path, rows=TEN, columns=COLUMNS) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


@pytest.fixture
def trained(tmp_path: Path) -> TaskData:
    folder = tmp_path / "own"
    folder.mkdir()
    written(folder / "train.csv", [(f"text {i}", ("neg", "pos")[i % 2]) for i in range(20)], COLUMNS[:2])
    written(folder / "test.csv", [("a film", "pos"), ("no film", "neg")], COLUMNS[:2])
    return load_task(own_task(TaskEntry(name="own", path=str(folder), text="text"), folder), ())


def pairs_of(path: Path, trained: TaskData) -> TaskData:
    return for_training(find_pairs(path, trained.task, "robustness.pairs:"), trained).load()


def test_rows_are_those_of_the_file_by_kind_in_two_forms(tmp_path: Path, trained: TaskData) -> None:
    read = pairs_of(written(tmp_path / "pairs.csv"), trained)
    assert list(read.splits) == ["ocr=0", "ocr=1", "romanised=0", "romanised=1"]
    for kind in ("ocr", "romanised"):
        rows = [row for row in TEN if row[3] == kind]
        clean, form = read.splits[f"{kind}=0"], read.splits[f"{kind}=1"]
        assert list(clean.texts[0]) == [row[0] for row in rows] and list(form.texts[0]) == [row[2] for row in rows]
        names = [trained.label_names[number] for number in clean.labels]
        assert names == [row[1] for row in rows] and np.array_equal(clean.labels, form.labels)


def test_notes_on_few_rows_and_on_texts_equal_to_their_form(tmp_path: Path, trained: TaskData) -> None:
    notes = pairs_of(written(tmp_path / "pairs.csv"), trained).notes
    assert "ocr: 6 rows, fewer than 100: its interval is wide, or there is none" in notes
    assert "ocr: 1 of 6 rows have a perturbed text equal to the text" in notes
    assert not any(note.startswith("romanised: ") and "equal" in note for note in notes)
    assert not any("repeated" in note for note in notes)  # a text with two forms is no copy


def test_a_text_of_train_is_noted(tmp_path: Path, trained: TaskData) -> None:
    notes = pairs_of(written(tmp_path / "pairs.csv", [("text 1", "pos", "t3xt 1", "ocr"), *TEN]), trained).notes
    assert "texts also in train: 1 row of pairs" in notes


@pytest.mark.parametrize("ending", ["jsonl", "tsv"])
def test_every_format_of_own_data_gives_the_same(tmp_path: Path, trained: TaskData, ending: str) -> None:
    path = tmp_path / f"pairs.{ending}"
    if ending == "jsonl":
        path.write_text("\n".join(json.dumps(dict(zip(COLUMNS, row, strict=True))) for row in TEN))
    else:
        path.write_text("\n".join("\t".join(row) for row in [COLUMNS, *TEN]))
    first, other = (pairs_of(file, trained) for file in (written(tmp_path / "pairs.csv"), path))
    assert {name: list(split.texts[0]) for name, split in first.splits.items()} == {
        name: list(split.texts[0]) for name, split in other.splits.items()
    }


def test_perturbed_tasks_have_the_pairs_under_their_reporting_set(tmp_path: Path, trained: TaskData) -> None:
    pairs = pairs_of(written(tmp_path / "pairs.csv"), trained)
    done = perturb_task(trained, {**NOISE, "pairs": pairs.fingerprint}, None, pairs)
    assert done.parts == {
        "test": ("test", ""),
        **{f"pairs~{kind}={rate}": ("test", f"{kind}={rate}") for kind in ("ocr", "romanised") for rate in (0, 1)},
    }
    assert done.facts["pair_rows", "ocr=1"] == 6 and done.facts["pair_rows_equal", "ocr=1"] == 1
    assert done.facts["pair_rows", "romanised=1"] == 4 and done.facts["pair_rows_equal", "romanised=1"] == 0
    both = perturb_task(trained, {**NOISE, "perturbations": ["swap"], "rates": [0.0, 0.5]}, None, pairs)
    assert list(both.parts)[:2] == ["test", "test~swap=0.5"] and len(both.parts) == 6
    assert both.data.fingerprint != done.data.fingerprint
    assert perturb_task(trained, NOISE, None).data.fingerprint != done.data.fingerprint


def test_the_fingerprint_is_that_of_the_content(tmp_path: Path, trained: TaskData) -> None:
    def fingerprint(path: Path) -> str:
        return find_pairs(path, trained.task, "").fingerprint

    first = fingerprint(written(tmp_path / "pairs.csv"))
    assert fingerprint(written(tmp_path / "again.csv")) == first
    assert fingerprint(written(tmp_path / "pairs.csv", TEN[:9])) != first


def test_a_task_of_two_texts_has_a_form_of_each(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    rows = [(f"question {i}", f"answer {i}", ("no", "yes")[i % 2]) for i in range(20)]
    written(folder / "train.csv", rows, ("question", "answer", "label"))
    entry = TaskEntry(name="own", path=str(folder), text=("question", "answer"))
    trained = load_task(own_task(entry, folder), ())
    columns = ("question", "answer", "label", "perturbed_question", "perturbed_answer", "kind")
    path = written(tmp_path / "pairs.csv", [("who", "me", "yes", "wh0", "me", "ocr")], columns)
    splits = pairs_of(path, trained).splits
    assert [list(column) for column in splits["ocr=0"].texts] == [["who"], ["me"]]
    assert [list(column) for column in splits["ocr=1"].texts] == [["wh0"], ["me"]]
    with pytest.raises(InputError, match="perturbed_question"):
        pairs_of(written(tmp_path / "pairs.csv", [("who", "me", "yes", "wh0", "ocr")],
                         ("question", "answer", "label", "perturbed", "kind")), trained)  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        (TEN, ("text", "label", "noisy", "kind"), r"no column 'perturbed'"),
        (TEN, ("text", "label", "perturbed", "noise"), r"no column 'kind'"),
        ([*TEN, ("x", "neutral", "y", "ocr")], COLUMNS, r"labels that training never saw: 'neutral'; .*; leave out or"),
        ([*TEN, ("x", "pos", " ", "ocr")], COLUMNS, r"row 11: column 'perturbed' is empty; write the text's other"),
        ([*TEN, ("x", "pos", "y", "")], COLUMNS, r"row 11: kind '' cannot be the name of a noise"),
        ([*TEN, ("x", "pos", "y", "a=b")], COLUMNS, r"row 11: kind 'a=b' cannot be the name of a noise"),
        ([*TEN, ("x", "pos", "y", "swap")], COLUMNS, r"row 11: kind 'swap' is the name of a perturbation"),
        ([], COLUMNS, "has no rows"),
    ],
)
def test_wrong_tables_are_one_line(tmp_path: Path, trained: TaskData, rows, columns, message: str) -> None:
    path = written(tmp_path / "pairs.csv", rows, columns)
    with pytest.raises(InputError, match=message) as error:
        pairs_of(path, trained)
    text = str(error.value)
    assert "pairs.csv" in text and "\n" not in text and "--" not in text


def test_a_table_that_is_not_there(tmp_path: Path, trained: TaskData) -> None:
    with pytest.raises(InputError, match=r"robustness.pairs: .*none.csv: no such file"):
        find_pairs(tmp_path / "none.csv", trained.task, "robustness.pairs:")


def test_a_task_with_a_column_of_that_name_is_refused(tmp_path: Path, trained: TaskData) -> None:
    task = replace(trained.task, text=("perturbed",))
    with pytest.raises(InputError, match="column 'perturbed' is one of task 'own' itself"):
        find_pairs(written(tmp_path / "pairs.csv"), task, "robustness.pairs:")
