"""Which table a further set is read from."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hashbench.common.errors import InputError
from hashbench.data.tasks.blocks import TaskEntry
from hashbench.data.tasks.catalogue import load_task, own_task
from hashbench.data.tasks.text_data import TaskData
from hashbench.running.runs.further_sets import FurtherRequest, default_name, find_set, with_classes


def folder_of(path: Path, *names: str) -> Path:
    for name in names:
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text("text,label\na,0\n")
    return path


@pytest.mark.parametrize(
    ("names", "read"),
    [
        (["adv.csv"], "adv.csv"),
        (["test.csv", "validation.csv", "train.csv"], "test.csv"),
        (["dev.csv", "train.csv"], "dev.csv"),
        (["hard_test.csv"], "hard_test.csv"),
        (["adv.csv", "dataset_info.json", "label_names.json"], "adv.csv"),
        (["train.csv", "test/any.csv"], "any.csv"),
    ],
)
def test_a_folder_gives_its_test_set_or_its_only_table(tmp_path: Path, names: list[str], read: str) -> None:
    assert [path.name for path in find_set(folder_of(tmp_path, *names)).paths] == [read]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["hard.csv", "easy.csv"], "no test or validation file"),
        ([], "no table"),
        (["test-00000-of-00002.csv"], "shard 00001 of 2 is missing"),
        (["adv-00001-of-00002.csv"], "shard 00000 of 2 is missing"),
        (["train.csv", "test/a.txt"], "test/a.txt looks like the test split"),
    ],
)
def test_a_folder_without_it_lists_what_there_is(tmp_path: Path, names: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        find_set(folder_of(tmp_path, *names))


def table(path: Path, labels: list[object], names: list[str] | None = None) -> Path:
    """A table of texts and labels: parquet, with names of its numbers, or CSV."""
    path.parent.mkdir(exist_ok=True)
    if path.suffix == ".csv":
        path.write_text("text,label\n" + "".join(f"text {at},{label}\n" for at, label in enumerate(labels)))
        return path
    of_label = {"label": {"names": names, "_type": "ClassLabel"}} if names else {}
    info = {"huggingface": json.dumps({"info": {"features": of_label}})}
    columns = {"text": [f"text {at}" for at in range(len(labels))], "label": labels}
    pq.write_table(pa.table(columns).replace_schema_metadata(info), path)
    return path


def task_of(folder: Path, **values: object) -> TaskData:
    keys = {"name": "own", "path": str(folder), "text": "text", "label": "label", "metric": "accuracy"} | values
    return load_task(own_task(TaskEntry.model_validate(keys), folder), ())


def read(on: Path, trained: TaskData, **options: str) -> list[str]:
    """The names of the labels of a further set."""
    further = with_classes(FurtherRequest(on, **options).of(trained.task), trained)
    labels = further.load().splits["test"].labels
    return [trained.label_names[number] for number in labels]


@pytest.fixture
def trained(tmp_path: Path) -> TaskData:
    return task_of(table(tmp_path / "own" / "train.parquet", [0, 1] * 6, ["neg", "pos"]).parent)


@pytest.mark.parametrize("names", [["positive", "negative"], ["negative", "positive"], ["1", "0"]])
def test_a_set_whose_file_has_other_names_needs_a_mapping(tmp_path: Path, trained: TaskData, names: list[str]) -> None:
    on = table(tmp_path / "set.parquet", [0, 1], names)
    with pytest.raises(InputError, match=r'set.parquet: the file names its classes .* --labels "LABEL=NAME,..."$'):
        read(on, trained)
    right = ["pos" if name in ("positive", "1") else "neg" for name in names]
    mapping = ",".join(f"{name}={meant}" for name, meant in zip(names, right, strict=True))
    if "1" in names:  # whose numbers and names would then mean different classes
        with pytest.raises(InputError, match="but the file names them 1, 0"):
            read(on, trained, labels=mapping)
    else:
        assert read(on, trained, labels=mapping) == right
    assert read(table(tmp_path / "same.parquet", [0, 1], ["Pos", "Neg"]), trained) == ["pos", "neg"]


def test_a_mapping_of_the_task_does_not_count_over_the_names_of_a_set(tmp_path: Path) -> None:
    trained = task_of(table(tmp_path / "own" / "train.csv", [0, 1] * 6).parent, labels={"0": "neg", "1": "pos"})
    with pytest.raises(InputError, match="labels says that 0 to 1 are neg, pos, but the file names them pos, neg"):
        read(table(tmp_path / "set.parquet", [0, 1], ["pos", "neg"]), trained)
    assert read(table(tmp_path / "same.parquet", [0, 1], ["neg", "pos"]), trained) == ["neg", "pos"]


def test_the_names_beside_a_set_say_what_its_numbers_mean(tmp_path: Path, trained: TaskData) -> None:
    on = table(tmp_path / "set" / "test.csv", [0, 1, "neg"])
    assert read(on.parent, trained) == ["neg", "pos", "neg"]
    before = FurtherRequest(on.parent).of(trained.task).fingerprint
    (on.parent / "label_names.json").write_text('["pos", "neg"]')
    assert read(on.parent, trained) == read(on, trained) == ["pos", "neg", "neg"]
    assert FurtherRequest(on.parent).of(trained.task).fingerprint != before
    (on.parent / "label_names.json").write_text('["positive", "negative"]')
    with pytest.raises(
        InputError, match="label_names.json: the file names its classes positive, negative, the task neg"
    ):
        read(on.parent, trained)
    assert read(on.parent, trained, labels="positive=pos,negative=neg,neg=neg") == ["pos", "neg", "neg"]


def test_a_regression_has_no_mapping(tmp_path: Path) -> None:
    trained = task_of(table(tmp_path / "own" / "train.csv", [0.5, 1] * 6).parent, metric="pearson")
    with pytest.raises(InputError, match="--labels: task 'own' predicts numbers; leave --labels out"):
        read(table(tmp_path / "set.csv", [0, 1]), trained, labels="0=1")


def notes_on(tmp_path: Path, trained: TaskData, *rows: tuple[str, object]) -> tuple[str, ...]:
    """The notes on a further set of these rows."""
    on = tmp_path / "set.jsonl"
    on.write_text("\n".join(json.dumps({"text": text, "label": label}) for text, label in rows))
    return with_classes(FurtherRequest(on).of(trained.task), trained).load().notes


def test_a_set_has_the_notes_that_a_test_set_would_have(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    rows = {"train": [f"text {at}" for at in range(20)], "validation": ["seen a", "seen b"]}
    for split, texts in rows.items():
        lines = [json.dumps({"text": text, "label": at % 2}) for at, text in enumerate(texts)]
        (folder / f"{split}.jsonl").write_text("\n".join(lines))
    of_set = [
        ("text 0", 0), ("text 0", 0), ("TEXT  1", 1), ("seen a", 0), ("new", 0), ("new", 1), ("", 1), ("e\u0301", 0),
    ]  # fmt: skip
    trained = task_of(folder)
    notes = notes_on(tmp_path, trained, *of_set)
    assert notes[:6] == (
        "missing or empty texts: 1 row of test",
        "repeated: 1 row of test",
        "texts also in train: 2 rows of test",
        "texts also in train but for case, blanks or invisible characters: 1 row of test",
        "texts also in validation: 1 row of test",
        "texts under several labels: 1 of test (2 rows)",
    )
    assert len(notes) == 7 and notes[6].startswith("not in one Unicode normal form (NFC): 1 text of test;")
    # the same notes as those of check
    lines = [json.dumps({"text": text, "label": label}) for text, label in of_set]
    (folder / "test.jsonl").write_text("\n".join(lines))
    assert task_of(folder).notes == notes
    assert notes_on(tmp_path, trained, ("other", 0), ("rows", 1)) == ()


def test_held_out_rows_of_train_are_rows_of_train(tmp_path: Path, trained: TaskData) -> None:
    held = trained.splits["holdout"].texts[0]
    assert notes_on(tmp_path, trained, (held[0], 0), ("new", 1)) == ("texts also in train: 1 row of test",)


def test_shifted_classes_and_constant_values_of_a_set_are_noted(tmp_path: Path) -> None:
    trained = task_of(table(tmp_path / "many" / "train.parquet", [0, 1] * 200, ["neg", "pos"]).parent)
    rows = [(f"other {at}", "pos") for at in range(200)]
    assert "class shares differ by more than chance" in " ".join(notes_on(tmp_path, trained, *rows))
    values = task_of(table(tmp_path / "values" / "train.csv", [0.5, 1] * 6).parent, metric="pearson")
    (note,) = notes_on(tmp_path, values, ("a", 2), ("b", 2))
    assert note.startswith("pearson has no value on test, even if all is right: the targets are constant (every label")
    assert "can be chosen" not in note
    with pytest.raises(InputError, match="labels lose digits in float32"):
        notes_on(tmp_path, values, *((f"row {at}", 1_600_000_000 + at) for at in range(9)))


def test_a_set_on_which_the_metric_has_no_value_is_noted(tmp_path: Path) -> None:
    trained = task_of(table(tmp_path / "own" / "train.csv", [0, 1] * 10).parent, metric="matthews")
    (note,) = notes_on(tmp_path, trained, ("a", 1), ("b", 1))
    assert note == "matthews has no value on test, even if all is right: the targets are constant"


def test_without_the_data_of_the_training_a_set_says_so(tmp_path: Path, trained: TaskData) -> None:
    on = table(tmp_path / "set.csv", ["neg", "pos"])
    further = replace(with_classes(FurtherRequest(on).of(trained.task), trained), trained=None)
    assert further.load().notes == (
        "whether its rows are in train is not known: the data of the training are not at hand",
    )


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("subj_csv/test.csv", "subj_csv-test"),
        ("subj_csv/adv.csv", "adv"),
        ("adv_sst2.jsonl.gz", "adv_sst2"),
        ("2024/words.tsv", "words"),
        ("subj_csv", "subj_csv"),
    ],
)
def test_the_default_name_is_free(tmp_path: Path, place: str, name: str) -> None:
    (tmp_path / "subj_csv").mkdir()
    assert default_name(tmp_path / place) == name
