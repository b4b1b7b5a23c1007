"""data/tasks/text.py: where the tables of a task are, what is said of them, and what is scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.data.sources.sources import Source, open_sources
from hashbench.data.tasks.base import SplitOutputs, Task
from hashbench.data.tasks.blocks import TaskEntry
from hashbench.data.tasks.catalogue import find_task
from hashbench.data.tasks.kinds.classification import KIND
from hashbench.data.tasks.kinds.entities import ENTITIES
from hashbench.data.tasks.kinds.regression import KIND as VALUES
from hashbench.data.tasks.text import LocatedTexts, cells_as_texts, text_kind, undefined_notes
from hashbench.data.tasks.text_data import TaskData, with_splits
from hashbench.scores.base import UndefinedScore
from hashbench.scores.classes import Accuracy

ROWS = [f"text {i},{'good' if i % 3 else 'bad'}" for i in range(30)]
RARE = set(np.random.RandomState([0, 10]).permutation(30)[:3].tolist())  # the tenth that is drawn row by row
ATIS = "classification/atis"


def write(folder: Path, **splits: Sequence[str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for split, rows in splits.items():
        (folder / f"{split}.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    return folder


def source_of(folder: Path) -> Source:
    (source,) = open_sources(str(folder))
    return source


def own(folder: Path, **values: object) -> Task:
    entry = {"name": "mine", "path": str(folder), "text": "text", **values}
    return KIND.own_task(TaskEntry.model_validate(entry), folder)


def found(folder: Path, task: Task) -> LocatedTexts:
    located = KIND.find_in(source_of(folder), task)
    assert located is not None
    return located


@pytest.mark.parametrize(
    ("splits", "select", "report"),
    [
        ({"train", "validation", "test"}, ("validation",), ("test",)),
        ({"train", "dev", "test"}, ("validation",), ("test",)),
        ({"train", "test"}, ("holdout",), ("test",)),
    ],
)
def test_a_task_with_splits_as_found_is_selected_on_what_there_is(
    tmp_path: Path, splits: set[str], select: tuple[str, ...], report: tuple[str, ...]
) -> None:
    write(tmp_path / ATIS, **{split: ROWS for split in splits})
    located = found(tmp_path, find_task("atis"))
    assert (located.task.select_splits, located.task.report_splits) == (select, report)
    assert (located.origin, located.kind) == (f"folder {tmp_path.name}", "folder")
    assert set(located.load().splits) == {"train", *select, *report}


def test_published_rows_of_a_split_that_is_not_there_are_among_those_of_train() -> None:
    task = replace(find_task("atis"), official_rows={"train": 10, "validation": 2, "test": 3})
    assert with_splits(task, {"train", "validation", "test"}).official_rows == task.official_rows
    assert with_splits(task, {"train", "test"}).official_rows == {"train": 12, "test": 3}


@pytest.mark.parametrize("missing", ["train", "test"])
def test_a_split_that_no_task_is_without_is_asked_for(tmp_path: Path, missing: str) -> None:
    write(tmp_path / ATIS, **{split: ROWS for split in {"train", "validation", "test"} - {missing}})
    with pytest.raises(InputError, match=rf"atis: no {missing} split; put a {missing} file there"):
        KIND.find_in(source_of(tmp_path), find_task("atis"))


def test_a_task_of_fixed_splits_needs_each_of_them(tmp_path: Path) -> None:
    write(tmp_path / "glue/mnli", train=ROWS, validation_matched=ROWS)
    with pytest.raises(InputError, match=r"mnli: no validation_mismatched split"):
        KIND.find_in(source_of(tmp_path), find_task("mnli"))


def test_what_a_source_lacks_is_not_found(tmp_path: Path) -> None:
    assert KIND.find_in(source_of(tmp_path), find_task("atis")) is None
    (builtin,) = open_sources("builtin")
    assert KIND.find_in(builtin, find_task("atis")) is None
    located = KIND.find_in(builtin, find_task("cola"))
    assert located is not None and located.kind == "builtin" and set(located.tables) == {"train", "validation"}


def test_names_of_classes_stand_beside_the_tables(tmp_path: Path) -> None:
    write(tmp_path / ATIS, train=["a,1", "b,0"], test=["c,1"])
    (tmp_path / ATIS / "label_names.json").write_text('["no", "yes"]')
    located = found(tmp_path, find_task("atis"))
    assert located.names_file == tmp_path / ATIS / "label_names.json"
    assert located.load().label_names == ("no", "yes")


def test_own_tables_are_those_of_the_tasks_splits(tmp_path: Path) -> None:
    write(tmp_path / "own", train=ROWS, validation=ROWS[:6], test=ROWS[:9])
    task = own(tmp_path / "own")
    located = KIND.locate_own(task, tmp_path / "own")
    assert set(located.tables) == {"train", "validation", "test"} and located.names_file is None
    assert (located.origin, located.kind) == ("own data set own", "own")
    (tmp_path / "own" / "label_names.json").write_text('["bad", "good"]')
    selected_alone = replace(task, report_splits=("validation",))
    located = KIND.locate_own(selected_alone, tmp_path / "own")
    assert set(located.tables) == {"train", "validation"} and located.names_file is not None


def test_a_split_that_has_gone_since_is_named(tmp_path: Path) -> None:
    task = own(write(tmp_path / "own", train=ROWS, test=ROWS))
    assert task.select_splits == ("holdout",), "which is no file"
    (tmp_path / "own" / "test.csv").unlink()
    with pytest.raises(InputError, match=r"own: the test split is gone; put it back$"):
        KIND.locate_own(task, tmp_path / "own")


def test_the_fingerprint_is_of_all_that_the_data_are_made_of(tmp_path: Path) -> None:
    def fingerprint(folder: Path, **values: object) -> str:
        return KIND.locate_own(own(folder, **values), folder).fingerprint

    one = write(tmp_path / "one", train=ROWS, test=ROWS[:9])
    same = write(tmp_path / "same", train=ROWS, test=ROWS[:9])
    other = write(tmp_path / "other", train=ROWS, test=ROWS[:8])
    assert fingerprint(one) == fingerprint(same)
    others = [fingerprint(other), fingerprint(one, max_rows=5), fingerprint(one, text="label", label="text")]
    (same / "label_names.json").write_text('["bad", "good"]')
    assert len({fingerprint(one), *others, fingerprint(same)}) == 5


def loaded(folder: Path, **values: object) -> TaskData:
    return KIND.locate_own(own(folder, **values), folder).load()


def test_repeated_and_missing_texts_and_held_out_rows_are_said(tmp_path: Path) -> None:
    data = loaded(write(tmp_path / "own", train=[*ROWS, ",good"], test=[*ROWS[:2], "new,never"]))
    said = "\n".join(data.notes)
    assert "no validation split: selected on a seeded tenth of train (3 rows)" in said
    assert "texts also in train: 2 rows of test" in said and "never" in said
    assert len(data.splits["train"]) + len(data.splits["holdout"]) == 31
    checked = KIND.locate_own(own(tmp_path / "own"), tmp_path / "own").checked_items()
    assert checked.notes == data.notes and checked.n_items is None


PHRASED = [row for i in range(40) for row in (f"one{i} two{i} three{i},good", f"TWO{i}  three{i},bad")]


def test_rows_that_lie_in_one_another_are_held_out_together_and_the_share_is_said(tmp_path: Path) -> None:
    folder = write(tmp_path / "own", train=PHRASED, test=ROWS[:9])
    task = own(folder)
    data = KIND.locate_own(task, folder).load()
    numbers = {split: {text.split()[-1] for text in data.splits[split].texts[0]} for split in ("train", "holdout")}
    assert len(data.splits["holdout"]) == 8 and not numbers["train"] & numbers["holdout"]
    assert "tenth of train (8 rows), of which 0 (0.0 %) lie in rows of train" in data.notes[0]
    before = KIND.locate_own(replace(task, hold_out="rows"), folder).load()
    rows = np.sort(np.random.RandomState([0, 10]).permutation(80)[:8])  # as it has always been
    assert before.splits["holdout"].texts[0] == [PHRASED[row].split(",")[0] for row in rows]
    lying = sum(row % 2 and row - 1 not in rows for row in rows)  # the second of two lies in the first
    assert f"tenth of train (8 rows), of which {lying} ({lying / 0.08:.1f} %) lie in rows of train" in before.notes[0]


def test_the_rule_of_the_held_out_rows_is_in_the_fingerprint_where_rows_are_held_out(tmp_path: Path) -> None:
    def fingerprints(folder: Path) -> set[str]:
        rules = [replace(own(folder), hold_out=rule) for rule in ("groups", "rows")]
        return {KIND.locate_own(task, folder).fingerprint for task in rules}

    assert len(fingerprints(write(tmp_path / "a", train=ROWS, test=ROWS[:9]))) == 2
    assert len(fingerprints(write(tmp_path / "b", train=ROWS, validation=ROWS[:9], test=ROWS[:9]))) == 1
    data = loaded(tmp_path / "b")
    before = replace(data, task=replace(data.task, hold_out="rows"))
    assert data.held_out().fingerprint != before.held_out().fingerprint


def test_a_class_of_which_all_rows_are_held_out_is_named(tmp_path: Path) -> None:
    rows = [f"text {i},{'rare' if i in RARE else 'good' if i % 2 else 'bad'}" for i in range(30)]
    folder = write(tmp_path / "own", train=rows, test=ROWS[:9])
    (folder / "label_names.json").write_text('["bad", "good", "rare"]')
    data = loaded(folder)
    assert set(data.splits["train"].labels) == {0, 1, 2}
    assert not any("held out, so that" in note for note in data.notes)
    before = KIND.locate_own(replace(own(folder), hold_out="rows"), folder).load()
    assert "all rows of these classes are held out, so that training sees none: 'rare'" in before.notes


def test_a_metric_without_a_value_on_what_selects_or_is_reported_is_noted(tmp_path: Path) -> None:
    folder = write(tmp_path / "own", train=ROWS, validation=["c,bad", "d,bad"], test=["e,good", "f,good"])
    where = "even if all is right: the targets are constant"
    assert [note for note in loaded(folder, metric="matthews").notes if "no value" in note] == [
        f"matthews has no value on validation, {where}; no evaluation can be chosen by it",
        f"matthews has no value on test, {where}",
    ]
    assert [note for note in loaded(folder, metric="f1").notes if "no value" in note] == [
        "f1 has no value on validation, even if all is right: class 1 is neither in the targets nor predicted "
        "(class 1 is 'good'); no evaluation can be chosen by it"
    ]
    assert not any("no value" in note for note in loaded(folder).notes), "accuracy always has one"


class Strict(Accuracy):
    """A user's metric, which wants each of three classes."""

    name = "strict"

    def score(self, targets: np.ndarray, outputs: np.ndarray) -> float:
        if len(set(targets.tolist())) < 3:
            raise UndefinedScore("a class is not there")
        return super().score(targets, outputs)


def test_a_users_metric_says_itself_where_it_has_no_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = loaded(write(tmp_path / "own", train=ROWS, validation=ROWS[:9]))
    monkeypatch.setattr("hashbench.data.tasks.text.find_metric", lambda name: Strict())
    assert undefined_notes(data, "strict") == [
        "strict has no value on validation, even if all is right: a class is not there; no evaluation can be chosen "
        "by it"
    ]


def test_a_sample_has_at_most_so_many_rows_of_a_split(tmp_path: Path) -> None:
    data = loaded(write(tmp_path / "own", train=ROWS, validation=ROWS[:9], test=ROWS[:4]), max_rows=5)
    assert {split: len(rows) for split, rows in data.splits.items()} == {"train": 5, "validation": 5, "test": 4}


def test_a_cell_is_a_text_and_a_missing_one_is_empty() -> None:
    assert cells_as_texts(["a", None, ""], "x") == ["a", "", ""]
    with pytest.raises(InputError, match="^x: row 2: int, not text; name a column of texts"):
        cells_as_texts(["a", 7], "x")


def test_an_entry_is_of_the_kind_whose_metric_it_asks_for() -> None:
    entries = {
        metric: TaskEntry(name="mine", path="p", text="text", metric=metric) for metric in ("f1", "pearson", "rec@1")
    }
    links = TaskEntry(name="mine", path="p", text="text", links="links")
    assert {metric: (KIND.takes(entry), VALUES.takes(entry)) for metric, entry in entries.items()} == {
        "f1": (True, False), "pearson": (False, True), "rec@1": (False, False),
    }  # fmt: skip
    assert not KIND.takes(links)


def test_every_metric_of_a_task_is_scored_and_an_undefined_one_has_its_reason() -> None:
    task = find_task("mrpc")
    targets, right = np.array([0, 1, 1, 1]), np.array([[2.0, 1.0], [0.0, 1.0], [0.0, 1.0], [3.0, 1.0]])
    scores = {score.name: score for score in KIND.scores(task, SplitOutputs(right, targets))}
    assert set(scores) == set(task.metrics)
    assert scores["accuracy"].value == 0.75 and scores["f1"].value == pytest.approx(2 * 2 / (2 * 2 + 0 + 1))
    (pearson,) = (
        score
        for score in VALUES.scores(find_task("stsb"), SplitOutputs(np.ones(4), np.arange(4.0)))
        if score.name == "pearson"
    )
    assert pearson.value is None and pearson.reason


def test_a_trivial_baseline_learns_from_held_out_rows_where_others_are_reported(tmp_path: Path) -> None:
    data = loaded(write(tmp_path / "own", train=ROWS, test=ROWS[:9]))
    seen: list[tuple[int, tuple[str, ...], bool]] = []

    def predict(data: TaskData, splits: Sequence[str], for_test: bool = False) -> Mapping[str, np.ndarray]:
        seen.append((len(data.splits["train"]), tuple(splits), for_test))
        return {split: np.zeros(len(data.splits[split]), int) for split in splits}

    kind = type(KIND)()
    kind.baselines = {"zero": predict}  # type: ignore[misc, dict-item]
    predicted = kind.predictions("zero", data)
    assert seen == [(27, ("holdout",), False), (30, ("test",), True)]
    assert {split: len(outputs.targets) for split, outputs in predicted.items()} == {"holdout": 3, "test": 9}
    assert set(kind.predictions("zero", data, ["test"])) == {"test"}
    seen.clear()
    kind.predictions("zero", loaded(write(tmp_path / "whole", train=ROWS, validation=ROWS, test=ROWS)))
    assert seen == [(30, ("validation", "test"), False)]


def test_a_task_of_items_is_none_of_texts() -> None:
    with pytest.raises(AssertionError):
        text_kind(ENTITIES)
