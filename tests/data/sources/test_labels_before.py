"""Data whose labels are other classes than before a label was its name have another fingerprint; others keep theirs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hashbench.data.sources.labels_before import classes_before
from hashbench.data.tasks.blocks import TaskEntry
from hashbench.data.tasks.catalogue import known_kinds
from hashbench.data.tasks.text import LocatedTexts


def located(folder: Path, ending: str, labels: list[object], names: list[str] | None) -> LocatedTexts:
    """A data set whose train and validation have these labels, in a CSV or JSONL file."""
    rows = [{"text": f"t {row}", "label": label} for row, label in enumerate(labels)]
    as_csv = "text,label\n" + "".join(f"{row['text']},{row['label']}\n" for row in rows)
    written = as_csv if ending == "csv" else "".join(json.dumps(row) + "\n" for row in rows)
    for split in ("train", "validation"):
        (folder / f"{split}.{ending}").write_text(written)
    if names:
        (folder / "label_names.json").write_text(json.dumps(names))
    kind = known_kinds()["classification"]
    task = kind.own_task(
        TaskEntry(name="mine", path=str(folder), text="text", label="label", metric="accuracy"), folder
    )
    found = kind.locate_own(task, folder)
    assert isinstance(found, LocatedTexts)
    return found


# (ending, labels, names of a file), the beginning of the fingerprint before the rule, class ids before, class ids now
CASES = {
    "numbers": (("csv", [0, 1, 1, 2], None), "22258df095cd6bc9", [0, 1, 1, 2], [0, 1, 1, 2]),
    "names": (("csv", ["no", "yes", "no", "yes"], None), "3371a47be140303f", [0, 1, 0, 1], [0, 1, 0, 1]),
    "positions": (("jsonl", [0, 1, 1, 0], ["no", "yes"]), "d408d74707105796", [0, 1, 1, 0], [0, 1, 1, 0]),
    "true and false": (("jsonl", [True, False] * 2, None), "02e71fec8040d951", [1, 0, 1, 0], [1, 0, 1, 0]),
    "names are numbers": (("jsonl", [0, 1, 0, 1], ["1", "0"]), "71f895610e221f4a", [0, 1, 0, 1], [1, 0, 1, 0]),
    "downwards": (("jsonl", [1, 2, 2, 1], ["2", "1", "0"]), "637cd9199071cef2", [1, 2, 2, 1], [1, 0, 0, 1]),
    "of pandas": (("csv", ["10.0", "9.0"] * 2, None), "eeb10de3e25dc3f6", [0, 1, 0, 1], [1, 0, 1, 0]),
    "leading zeros": (("csv", ["01", "1", "02", "2"], None), "0df5bb197657719b", [0, 0, 1, 1], [0, 2, 1, 3]),
}


@pytest.mark.parametrize("case", CASES)
def test_a_fingerprint_changes_where_the_classes_do(case: str, tmp_path: Path, cache: Path) -> None:
    (ending, labels, names), fingerprint, before, now = CASES[case]
    data = located(tmp_path, ending, labels, names)
    assert data.load().splits["train"].labels.tolist() == now
    assert (data.fingerprint[:16] == fingerprint) == (before == now)
    again = located(tmp_path, ending, labels, names)  # from the note in the cache
    assert again.fingerprint == data.fingerprint
    cells = [str(label) for label in labels] if ending == "csv" else labels
    assert classes_before({"train": cells}, names or ()) == {"train": before}


def test_labels_of_which_fewer_than_half_are_numbers_are_names_by_the_alphabet() -> None:
    assert classes_before({"train": ["b", "1", "a", "c", "2"]}, ()) == {"train": [3, 0, 2, 4, 1]}
    assert classes_before({"train": ["2", "1", "a", "b"]}, ()) is None  # half are numbers: the others are no class


@pytest.mark.parametrize("labels", [["a", 1, "b", 1], [None, 1, 0, 1], ["x", "x", "x", "x"]])
def test_labels_that_are_refused_leave_the_fingerprint_to_the_files(labels: list[object], tmp_path: Path) -> None:
    assert len(located(tmp_path, "jsonl", labels, None).fingerprint) == 64
