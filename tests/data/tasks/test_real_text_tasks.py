"""Text tasks of which a copy is at hand, English and other: rows, labels, and what words without order reach."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.catalogue import find_task, load_task
from hashbench.data.tasks.named.public import GROUPS
from hashbench.data.tasks.text import text_kind
from hashbench.data.tasks.text_data import TaskData

HERE = Path(__file__).resolve().parents[3]
FOLDER = Path(os.environ["HASHBENCH_TEST_DATA"] if "HASHBENCH_TEST_DATA" in os.environ else HERE.parent / "shared/data")


def data_of(name: str) -> TaskData:
    """A named task."""
    if not (FOLDER / (task := find_task(name)).home).is_dir():
        pytest.skip(f"no {name}: set HASHBENCH_TEST_DATA to a folder with {task.home}/")
    return load_task(task, open_sources(str(FOLDER)))


def test_atis_is_complete_and_has_labels_that_training_never_saw() -> None:
    data = data_of("atis")
    assert {split: len(part) for split, part in data.splits.items()} == data.task.official_rows
    assert data.notes == (
        "class shares differ by more than chance: atis_airfare 9 % of train and 5 % of test, "
        "atis_capacity 0 % and 2 %, atis_airport 0 % and 2 % (chi-squared)",
        "1 row of validation has a label that train never has: 'atis_airfare#atis_flight_time'",
        "5 rows of test have a label that train never has: 'atis_airfare#atis_flight', 'atis_day_name', "
        "'atis_flight#atis_airline', 'atis_flight_no#atis_airline'",
        "perhaps several labels a row, joined by '#': 'atis_aircraft#atis_flight#atis_flight_no', "
        "'atis_airfare#atis_flight', 'atis_airfare#atis_flight_time', 'atis_airline#atis_flight_no', "
        "'atis_flight#atis_airfare', ... (each counts as one class; to split it: metric: label_f1_micro, "
        "separator: '#')",
        "repeated: 289 rows of train, 7 rows of validation, 43 rows of test",
        "texts also in train: 52 rows of validation, 13 rows of test",
        "texts also in validation: 6 rows of test",
    )
    assert data.n_outputs == 26


def test_mrda_is_complete() -> None:
    data = data_of("mrda")
    assert {split: len(part) for split, part in data.splits.items()} == data.task.official_rows
    assert data.n_outputs == 5
    assert [note.partition(":")[0] for note in data.notes] == [
        "class shares differ by more than chance", "repeated", "texts also in train", "texts also in validation",
        "texts under several labels",
    ]  # fmt: skip


def test_ag_news_says_that_it_is_a_sample() -> None:
    data = data_of("ag_news")
    assert data.n_outputs == 4 and len(data.splits["test"]) == 7_600
    if len(data.splits["train"]) + len(data.splits["holdout"]) < 120_000:
        assert data.notes[0] == "not read: train_description_only.parquet"
        assert data.notes[1].startswith("sample: train ") and data.notes[1].endswith(" of 120,000 rows")


def test_trec_is_complete_and_selects_on_a_tenth_of_train() -> None:
    data = data_of("trec")
    assert {split: len(part) for split, part in data.splits.items()} == {"train": 4_907, "holdout": 545, "test": 500}
    assert (data.n_outputs, data.label_names[0]) == (6, "DESC")


@pytest.mark.parametrize("name", [*GROUPS["sib200"], "wisesight", "jsts"])
def test_sets_of_other_languages_are_complete(name: str) -> None:
    data = data_of(name)
    assert {split: len(part) for split, part in data.splits.items()} == data.task.official_rows
    assert not any(note.startswith("missing") for note in data.notes)


def test_the_languages_of_sib200_hold_the_same_sentences() -> None:
    english, thai = data_of("sib200:eng_Latn"), data_of("sib200:tha_Thai")
    assert all((english.splits[split].labels == thai.splits[split].labels).all() for split in english.splits)


def floor(name: str) -> float:
    """Accuracy of bag-of-words on test, in percent."""
    data = data_of(name)
    outputs, targets = text_kind(data.task).predictions("bag-of-words", data, ["test"])["test"]
    return 100 * float((outputs == targets).mean())


@pytest.mark.e2e
@pytest.mark.parametrize(("name", "least"), [("atis", 91.5), ("trec", 89.2)])
def test_floors_of_small_sets(name: str, least: float) -> None:
    assert floor(name) >= least


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least"), [("mrda", 88.8), ("ag_news", 84.0)])
def test_floors_of_larger_sets(name: str, least: float) -> None:
    """To the digit given."""
    assert round(floor(name), 1) >= least
