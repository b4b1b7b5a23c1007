from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hashbench.common.errors import InputError
from hashbench.data.tasks.blocks import TaskEntry
from hashbench.data.tasks.catalogue import load_task, locate_task, own_task
from hashbench.data.tasks.encoding import encode_task
from hashbench.data.tasks.text_data import TaskData
from hashbench.models.text.base import make_tokenizer


def entry(path: str = ".", **values: object) -> TaskEntry:
    return TaskEntry.model_validate({"name": "mine", "path": path, "text": "text", **values})


def write(folder: Path, **splits: list[tuple[object, ...]]) -> None:
    """Each split as JSONL, rows of (text, label) or (text, second, label)."""
    for split, rows in splits.items():
        names = ("text", "label") if len(rows[0]) == 2 else ("text", "second", "label")
        lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
        (folder / f"{split}.jsonl").write_text("\n".join(lines))


def load(folder: Path, **values: object) -> TaskData:
    return load_task(own_task(entry(**values), folder), ())


ROWS = [(f"text {i}", i % 2) for i in range(20)]


def test_with_all_three_splits_test_is_reported_and_never_selected_on(tmp_path: Path) -> None:
    write(tmp_path, train=ROWS, validation=ROWS[:4], test=ROWS[:6])
    data = load(tmp_path)
    assert (data.task.select_splits, data.task.report_splits) == (("validation",), ("test",))
    assert {split: len(part) for split, part in data.splits.items()} == {"train": 20, "validation": 4, "test": 6}
    assert (data.n_outputs, data.label_names, data.kind, data.notes) == (
        2, ("0", "1"), "own",
        ("texts also in train: 4 rows of validation, 6 rows of test", "texts also in validation: 4 rows of test"),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["dev", "valid", "val", "VAL"])
def test_dev_is_validation(tmp_path: Path, name: str) -> None:
    write(tmp_path, train=ROWS, **{name: ROWS[:4]})
    data = load(tmp_path)
    assert data.task.select_splits == data.task.report_splits == ("validation",)
    assert len(data.splits["validation"]) == 4


def test_without_validation_a_seeded_tenth_of_train_is_selected_on(tmp_path: Path) -> None:
    write(tmp_path, train=ROWS, test=ROWS[:6])
    data, again = load(tmp_path), load(tmp_path)
    assert (data.task.select_splits, data.task.report_splits) == (("holdout",), ("test",))
    held, kept = data.splits["holdout"].texts[0], data.splits["train"].texts[0]
    assert len(held) == 2 and len(kept) == 18
    assert sorted(held + kept) == sorted(text for text, _ in ROWS)
    assert again.splits["holdout"].texts[0] == held
    assert data.notes == (
        "no validation split: selected on a seeded tenth of train (2 rows), of which 0 (0.0 %) lie in rows of train",
        "texts also in train: 6 rows of test",
    )  # fmt: skip


def test_train_alone_is_selected_and_reported_on_a_tenth(tmp_path: Path) -> None:
    write(tmp_path, train=ROWS)
    assert load(tmp_path).task.evaluation_splits == ("holdout",)


def test_pairs(tmp_path: Path) -> None:
    write(tmp_path, train=[("a", "b", 0), ("c", "d", 1)], dev=[("e", "f", 1)])
    data = load(tmp_path, text=("text", "second"))
    assert data.splits["train"].texts == (["a", "c"], ["b", "d"])
    assert data.task.is_pair


def test_regression_by_its_metric(tmp_path: Path) -> None:
    write(tmp_path, train=[("a", 0.5), ("b", 3)], dev=[("c", 1.25)])
    data = load(tmp_path, metric="pearson")
    assert (data.n_outputs, data.task.kind.name, data.task.metrics) == (1, "regression", ("pearson", "spearman"))
    assert data.splits["train"].labels.tolist() == [0.5, 3.0]


def test_an_evaluation_split_of_one_value_is_noted(tmp_path: Path) -> None:
    write(tmp_path, train=[("a", 0.5), ("b", 3)], dev=[("c", 1), ("d", 2)], test=[("e", -1.0), ("f", -1)])
    note = "pearson has no value on test, even if all is right: the targets are constant"
    assert f"{note} (every label is -1: are there labels?)" in load(tmp_path, metric="pearson").notes
    write(tmp_path, dev=[("c", "1_5"), ("d", 2)])
    wrong("row 1: '1_5' is not a label; a regression needs finite numbers", tmp_path, metric="pearson")


def test_label_names_file_says_the_classes(tmp_path: Path) -> None:
    write(tmp_path, train=[("a", 0), ("b", 2)], dev=[("c", 1), ("d", 2)])
    (tmp_path / "label_names.json").write_text('["x", "y", "z", "never"]')
    data = load(tmp_path)
    assert data.label_names == ("x", "y", "z", "never")
    assert data.n_outputs == 4
    assert set(data.notes) == {
        "1 row of validation has a label that train never has: 'y'",
        "no row has a label of these classes: 'never'",
    }


def test_a_missing_text_is_an_empty_text(tmp_path: Path) -> None:
    write(tmp_path, train=[("a", 0), (None, 1)], dev=[("", 1)])
    assert load(tmp_path).splits["train"].texts == (["a", ""],)


def test_fingerprint_follows_content_and_columns_alone(tmp_path: Path) -> None:
    def fingerprint(folder: Path, **values: object) -> str:
        return locate_task(own_task(entry(**values), folder), ()).fingerprint

    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, train=ROWS, dev=ROWS)
    assert fingerprint(tmp_path / "one") == fingerprint(tmp_path / "two", name="other", metric="matthews")
    assert fingerprint(tmp_path / "one") != fingerprint(tmp_path / "one", label="other")
    first = fingerprint(tmp_path / "one")
    (tmp_path / "one" / "label_names.json").write_text('["a", "b"]')
    assert fingerprint(tmp_path / "one") != first


def wrong(message: str, folder: Path, **values: object) -> None:
    with pytest.raises(InputError, match=message):
        load(folder, **values)


def test_missing_folder(tmp_path: Path) -> None:
    message = r"task 'mine': no folder .*nowhere; check path \(it is relative to the experiment file\)"
    wrong(message, tmp_path, path="nowhere")


def test_file_for_a_folder(tmp_path: Path) -> None:
    (tmp_path / "set.csv").touch()
    wrong(r"set\.csv is a file; path is the folder that holds train", tmp_path, path="set.csv")


def test_folder_without_a_train_split(tmp_path: Path) -> None:
    write(tmp_path, test=ROWS)
    wrong(r"no train split; put a train file there \(\.parquet, \.csv, \.tsv, \.jsonl or", tmp_path)


def test_name_of_a_known_task(tmp_path: Path) -> None:
    wrong("task 'cola': this name is a task of the suite; give your data set another one", tmp_path, name="cola")


def test_unknown_metric(tmp_path: Path) -> None:
    near = r"task 'mine': unknown metric 'acuracy'; did you mean 'accuracy' or 'word_accuracy'\?"
    wrong(near, tmp_path, metric="acuracy")


def test_columns_of_conll_files_on_a_set_of_another_format(tmp_path: Path) -> None:
    write(tmp_path, train=ROWS, validation=ROWS)
    message = r"task 'mine': columns: are of CoNLL files, and train\.\w+ is none; leave columns out"
    wrong(message, tmp_path, columns={"word": 1, "tag": 2})


def test_one_column_for_text_and_label(tmp_path: Path) -> None:
    wrong("text and label name the same column", tmp_path, label="text")
    wrong("text names the column .text. twice; name two columns, or one: text", tmp_path, text=("text", "text"))


def test_missing_column(tmp_path: Path) -> None:
    write(tmp_path, train=ROWS)
    wrong(r"no column 'sentence'; it has text, label", tmp_path, text="sentence")


def test_two_columns_in_one_text_are_shown_as_a_list(tmp_path: Path) -> None:
    write(tmp_path, train=[(text, text, label) for text, label in ROWS])
    for name in ("text second", "text, second"):
        wrong(r"two columns are written as a list: \[text, second\]", tmp_path, text=name)


def test_text_column_of_numbers(tmp_path: Path) -> None:
    write(tmp_path, train=[(1, 0), (2, 1)])
    wrong(r"column 'text': row 1: int, not text; name a column of texts", tmp_path)


def test_a_label_that_is_not_one(tmp_path: Path) -> None:
    write(tmp_path, train=ROWS, dev=[("a", 0), ("b", "oops")])
    wrong(r"dev\.jsonl: row 2: 'oops' is not a label; expected an integer from 0 on", tmp_path)


def test_f1_of_three_classes(tmp_path: Path) -> None:
    write(tmp_path, train=[("a", 0), ("b", 1), ("c", 2)], dev=ROWS)
    wrong("f1 needs two classes, here are 3; use metric f1_macro", tmp_path, metric="f1")


@pytest.mark.parametrize("content", ['{"a": 1}', '["a", "a"]', "[1, 2]"])
def test_label_names_that_are_no_list_of_names(tmp_path: Path, content: str) -> None:
    write(tmp_path, train=ROWS)
    (tmp_path / "label_names.json").write_text(content)
    wrong(r"label_names\.json: is not a list of different names", tmp_path)


@pytest.mark.parametrize("name", ["label_names.json", "Label_Names.json"])
@pytest.mark.parametrize("folder", ["", "data"])
def test_label_names_lie_beside_train_in_any_case(tmp_path: Path, name: str, folder: str) -> None:
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / "train.csv").write_text("text,label\n" + "a,0\nb,1\n" * 6)
    (tmp_path / folder / name).write_text('["neg", "pos"]', "utf-8-sig")
    data = load(tmp_path)
    assert data.label_names == ("neg", "pos") and not any("not read" in note for note in data.notes)


def test_names_of_classes_that_are_not_read_are_noted_and_two_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.csv").write_text("text,label\n" + "a,0\nb,1\n" * 6)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "label_names.json").write_text('["neg", "pos"]')
    assert any("not read: other/label_names.json" in note for note in load(tmp_path).notes)
    for folder in tmp_path, tmp_path / "data":
        (folder / "label_names.json").write_text('["neg", "pos"]')
    wrong("label_names.json names the classes too; leave one", tmp_path)


def test_labels_that_count_over_a_file_of_other_names_are_noted(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("text,label\n" + "a,0\nb,1\n" * 6)
    (tmp_path / "label_names.json").write_text('["neg", "pos"]')
    note = "the key labels names the classes, not the file beside train, which names neg, pos"
    assert note in load(tmp_path, labels=["pos", "neg"]).notes
    assert note not in load(tmp_path, labels=["neg", "pos"]).notes


def test_a_class_without_rows_is_noted(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("text,label\n" + "a,0\nb,1\n" * 6)
    assert "no row has a label of these classes: 'never'" in load(tmp_path, labels=["no", "yes", "never"]).notes


@pytest.mark.parametrize(
    ("content", "message"),
    [("[" * 100_000, "is not JSON"), ('["gro\u00df", "klein"]'.encode("latin-1"), "is not UTF-8; write it in UTF-8")],
)
def test_label_names_that_cannot_be_read(tmp_path: Path, content: str | bytes, message: str) -> None:
    (tmp_path / "train.csv").write_text("text,label\n" + "a,0\nb,1\n" * 6)
    (tmp_path / "label_names.json").write_bytes(content.encode() if isinstance(content, str) else content)
    wrong(f"label_names.json: {message}", tmp_path)


def test_label_names_that_are_no_json(tmp_path: Path) -> None:
    write(tmp_path, train=ROWS)
    (tmp_path / "label_names.json").write_text("no, yes")
    wrong(r"label_names\.json: is not JSON", tmp_path)


def test_one_training_row_cannot_be_held_out(tmp_path: Path) -> None:
    write(tmp_path, train=ROWS[:1], test=ROWS)
    wrong("train has 1 row; a tenth of it cannot be held out", tmp_path)


def test_held_out_leaves_the_evaluation_splits_alone(tmp_path: Path) -> None:
    write(tmp_path, train=ROWS, dev=ROWS, test=ROWS)
    data = load(tmp_path)
    grid = data.held_out(seed=3)
    assert list(grid.splits) == ["train", "holdout"]
    assert grid.task.select_splits == grid.task.report_splits == ("holdout",)
    assert len(grid.splits["holdout"]) == 2
    assert grid.fingerprint not in (data.fingerprint, data.held_out(seed=4).fingerprint)
    texts = dict(ROWS)
    part = grid.splits["train"]
    assert np.array_equal(part.labels, [texts[text] for text in part.texts[0]])


def test_train_with_the_held_out_rows_has_a_fingerprint_of_its_own(tmp_path: Path) -> None:
    """Whoever encodes it would otherwise get the ids of fewer rows."""
    write(tmp_path, train=ROWS, test=ROWS[:2])
    data = load(tmp_path)
    whole = data.with_held_out_rows()
    tokenizer = make_tokenizer("words")
    lengths = [len(encode_task(of, tokenizer, tmp_path / "tasks").splits["train"][0]) for of in (data, whole)]
    assert lengths == [18, 20] and whole.fingerprint != data.fingerprint


def test_an_edit_that_keeps_size_and_time_is_another_data_set(tmp_path: Path) -> None:
    """A correction of labels keeps the size; tar, rsync and layers of docker keep the time."""
    path, turned = tmp_path / "validation.jsonl", [(text, 1 - label) for text, label in ROWS]
    write(tmp_path, train=ROWS, validation=ROWS)
    before, facts = load(tmp_path), path.stat()
    write(tmp_path, validation=turned)
    os.utime(path, ns=(facts.st_mtime_ns, facts.st_mtime_ns))
    assert path.stat().st_size == facts.st_size and load(tmp_path).fingerprint != before.fingerprint
    write(tmp_path, validation=ROWS)
    assert load(tmp_path).fingerprint == before.fingerprint


def test_data_that_are_changed_between_plan_and_reading_are_refused(tmp_path: Path) -> None:
    write(tmp_path, train=ROWS, test=ROWS[:2])
    located = locate_task(own_task(entry(), tmp_path), ())
    assert located.fingerprint
    write(tmp_path, train=ROWS[:18])
    with pytest.raises(InputError, match=r"train\.jsonl: was changed after this began to use it; begin again"):
        located.load()


def test_cells_of_csv_files_may_be_separated_by_what_is_said(tmp_path: Path) -> None:
    for split in ("train", "validation"):
        (tmp_path / f"{split}.csv").write_text(f'text;label\n"a;b, {split}";1\nc;0\n')
    data = load(tmp_path, delimiter=";")
    assert data.splits["train"].texts[0] == ["a;b, train", "c"] and data.splits["train"].labels.tolist() == [1, 0]
    assert data.fingerprint != locate_task(own_task(entry(delimiter="|"), tmp_path), ()).fingerprint
    with pytest.raises(InputError, match="train.csv: one column, 'text;label'; are cells separated by ';'"):
        load(tmp_path)


def test_a_sample_is_seeded_noted_and_another_data_set(tmp_path: Path) -> None:
    write(tmp_path, train=ROWS, validation=[("other", 0), ("thing", 1)])
    whole, data, again = load(tmp_path), load(tmp_path, max_rows=8), load(tmp_path, max_rows=8)
    texts = data.splits["train"].texts[0]
    assert len(texts) == 8 and texts == sorted(texts, key=whole.splits["train"].texts[0].index)
    assert again.splits["train"].texts[0] == texts and len(data.splits["validation"]) == 2
    assert data.notes == ("sample: train 8 of 20 rows",) and whole.notes == ()
    assert len({whole.fingerprint, data.fingerprint, load(tmp_path, max_rows=9).fingerprint}) == 3
    assert load(tmp_path, max_rows=20).splits["train"].texts[0] == whole.splits["train"].texts[0]


def test_missing_texts_are_counted_in_the_sample(tmp_path: Path) -> None:
    write(tmp_path, train=[*ROWS[:4], ("", 0), (None, 1)], validation=ROWS[:2])
    assert any("missing or empty texts: 2 rows of train" in note for note in load(tmp_path).notes)
    few = load(tmp_path, max_rows=2)
    n = sum(not text for text in few.splits["train"].texts[0])
    assert [note for note in few.notes if "missing" in note] == (
        [f"missing or empty texts: {n} row of train"] if n else []
    )


def test_files_of_the_splits_may_be_named(tmp_path: Path) -> None:
    write(tmp_path, train=ROWS, eval=ROWS[:4], train_small=ROWS[:2])
    wrong(
        "eval.jsonl looks like the validation or the test split and is not read; name the files with splits", tmp_path
    )
    data = load(tmp_path, splits={"train": "train", "test": "eval.jsonl"})
    assert {split: len(part) for split, part in data.splits.items()} == {"train": 18, "holdout": 2, "test": 4}
    data = load(tmp_path, splits={"train": "train_small", "validation": "eval"})
    assert {split: len(part) for split, part in data.splits.items()} == {"train": 2, "validation": 4}
    wrong("splits: no file 'dev' for validation", tmp_path, splits={"train": "train", "validation": "dev"})
    wrong("no train split", tmp_path, splits={"test": "eval"})
    (tmp_path / "train-0-of-2.csv").touch()
    wrong("shard 00001 of 2 is missing", tmp_path, splits={"train": "train-0-of-2.csv"})


def test_what_looks_like_a_split_is_a_note_of_the_data(tmp_path: Path) -> None:
    write(tmp_path, train=ROWS, validation=[("other", 0), ("thing", 1)], train_small=ROWS[:2])
    assert load(tmp_path).notes == ("not read: train_small.jsonl",)


def test_skipped_lines_are_a_note_of_the_data_and_another_data_set(tmp_path: Path) -> None:
    write(tmp_path, train=ROWS, validation=[("other", 0), ("thing", 1)])
    plain = load(tmp_path).fingerprint
    assert load(tmp_path, on_bad_lines="error").fingerprint == plain != load(tmp_path, on_bad_lines="skip").fingerprint
    with (tmp_path / "train.jsonl").open("a") as file:
        file.write('\n{"text": "cut')
    wrong(r"train\.jsonl:21: is not JSON", tmp_path)
    note = "lines left out (on_bad_lines: skip): 1, the first in train.jsonl, line 21"
    assert load(tmp_path, on_bad_lines="skip").notes == (note,)


def write_as(path: Path, rows: list[tuple[str, object]], feature: list[str] | None = None) -> None:
    """Rows of text and label in the format of the path's ending; `feature`: names of a ClassLabel in parquet."""
    texts, labels = map(list, zip(*rows, strict=True))
    if path.suffix == ".parquet":
        table = pa.table({"text": texts, "label": labels})
        if feature is not None:
            of_label = {"names": feature, "_type": "ClassLabel"}
            info = {"info": {"features": {"text": {"dtype": "string", "_type": "Value"}, "label": of_label}}}
            table = table.replace_schema_metadata({"huggingface": json.dumps(info)})
        pq.write_table(table, path)
        return
    content = "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in rows)
    if ".csv" in path.suffixes:
        content = "text,label\n" + "".join(f"{text},{label}\n" for text, label in rows)
    path.write_bytes(gzip.compress(content.encode()) if path.suffix == ".gz" else content.encode())


SPELLINGS = {  # of two classes, in one set: the cells of either, and the names that are declared for them
    "numbers": ([0, 1], None),
    "reversed names": ([1, 0], ["1", "0"]),
    "stars": ([1, 5], ["1", "2", "3", "4", "5"]),
    "signs": ([-1, 1], ["-1", "0", "1"]),
    "floats": ([0.0, 1.0], None),
    "truth": ([False, True], None),
    "names": (["no", "yes"], ["yes", "no"]),
    "places": ([0, 1], ["no", "yes"]),
}


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet", ".csv.gz", ".jsonl.gz"])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_label_is_one_class_in_every_file_type(tmp_path: Path, spelling: str, suffix: str) -> None:
    (first, second), names = SPELLINGS[spelling]
    rows = [(f"text {i}", second if i % 3 == 0 else first) for i in range(12)]
    write_as(tmp_path / "train.csv", rows)
    write_as(tmp_path / f"test{suffix}", rows[:5])
    if names:
        (tmp_path / "label_names.json").write_text(json.dumps(names))
    data = load(tmp_path)
    by_text: dict[str, set[str]] = {}
    for split in data.splits.values():
        for text, label in zip(split.texts[0], split.labels.tolist(), strict=True):
            by_text.setdefault(text, set()).add(data.label_names[label])
    shown = {"places": {"0": "no", "1": "yes"}}.get(spelling, {})
    right = [shown.get(name, name) for name in (str(cell).removesuffix(".0") for _, cell in rows)]
    assert [by_text[text] for text, _ in rows] == [{name} for name in right]


def test_the_names_in_a_parquet_file_are_those_of_its_classes(tmp_path: Path) -> None:
    rows = [(f"text {i}", i % 2) for i in range(20)]
    write_as(tmp_path / "train.parquet", rows, ["no", "yes", "never"])
    write_as(tmp_path / "validation.parquet", [(text, 1 - label) for text, label in rows], ["yes", "no"])
    write_as(tmp_path / "test.jsonl", [("a", "yes"), ("b", 0)])
    data = load(tmp_path)
    assert data.label_names == data.task.label_order == ("no", "yes", "never")
    assert data.splits["train"].labels.tolist() == data.splits["validation"].labels.tolist() == [0, 1] * 10
    assert data.splits["test"].labels.tolist() == [1, 0]


def test_an_entry_lists_its_classes_or_maps_what_the_files_hold(tmp_path: Path) -> None:
    rows = [(f"text {i}", (-1, 0, 1)[i % 3]) for i in range(12)]
    write(tmp_path, train=rows, dev=rows[:4])
    wrong("row 1: -1 is not a label", tmp_path)
    data = load(tmp_path, labels=[-1, 0, 1])
    assert data.label_names == ("-1", "0", "1") and data.splits["train"].labels.tolist() == [0, 1, 2] * 4
    mapped = load(tmp_path, labels={"-1": "bad", "0": "bad", "1": "good"})
    assert mapped.label_names == ("bad", "good") and mapped.splits["train"].labels.tolist() == [0, 0, 1] * 4
    assert mapped.task.label_order == () and data.task.label_order == ("-1", "0", "1")
    assert len({data.fingerprint, mapped.fingerprint, load(tmp_path, labels=[0, -1, 1]).fingerprint}) == 3


def test_labels_and_positive_where_they_mean_nothing(tmp_path: Path) -> None:
    write(tmp_path, train=ROWS, dev=ROWS)
    wrong("task 'mine': labels: needs two or more different names", tmp_path, labels=["a", "a"])
    wrong("metric pearson predicts numbers; leave labels and positive out", tmp_path, labels=[0, 1], metric="pearson")
    wrong("positive is the class that metric f1 counts; leave it out, or set metric: f1", tmp_path, positive="1")
    wrong("positive: '2' is none of two classes; the classes are 0, 1", tmp_path, positive="2", metric="f1")


def test_the_positive_class_is_that_of_id_1(tmp_path: Path) -> None:
    rows = [(f"text {i}", "not_duplicate" if i % 4 else "duplicate") for i in range(20)]
    write(tmp_path, train=rows, dev=rows)
    plain, data = load(tmp_path, metric="f1"), load(tmp_path, metric="f1", positive="duplicate")
    assert plain.label_names == ("duplicate", "not_duplicate") and data.label_names == ("not_duplicate", "duplicate")
    assert data.splits["train"].labels.sum() == 5 and plain.fingerprint != data.fingerprint


def test_most_rows_with_a_class_of_their_own_are_noted(tmp_path: Path) -> None:
    rows = [(f"text {i}", f"label {i % 15}") for i in range(20)]
    write(tmp_path, train=rows, dev=rows)
    assert "15 classes in 20 rows of train: is this the column of classes?" in load(tmp_path).notes
