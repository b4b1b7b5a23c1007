"""What is asked of the hub for each entry, with tables that answer by themselves; tests/hub asks a server."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from hashbench.common.errors import InputError
from hashbench.data.sources.hub import HubTable, TableContents
from hashbench.data.sources.hub_copies import HubCopy
from hashbench.running.experiment import hub_check
from hashbench.running.experiment.hub_check import check_entry, check_hub, hub_entries

ROWS = {"train": 2_490, "validation": 277}


@pytest.fixture
def contents(monkeypatch: pytest.MonkeyPatch) -> dict[str, TableContents]:
    """What each split of rte holds; the hub calls every data set nyu-mll/glue."""
    columns = ("sentence1", "sentence2", "label", "idx")
    held = {split: TableContents(columns, rows) for split, rows in ROWS.items()}
    monkeypatch.setattr(HubTable, "contents", lambda self: held[self.split])
    monkeypatch.setattr(hub_check, "data_set_info", lambda *_: SimpleNamespace(id="nyu-mll/glue"))
    return held


def test_tasks_and_corpora_of_the_hub_are_entries() -> None:
    entries = {entry.name: entry for entry in hub_entries()}
    assert {"wikipedia", "openwebtext", "cola", "mrda", "yahoo_answers"} <= set(entries) and "entities" not in entries
    assert entries["mnli"].rows == {"train": 392_702, "validation_matched": 9_815, "validation_mismatched": 9_832}
    assert entries["rte"].columns == ("sentence1", "sentence2", "label")
    assert [entry.name for entry in hub_entries(["rte"])] == ["rte"]


def test_an_entry_that_the_hub_does_not_have() -> None:
    with pytest.raises(
        InputError, match="^data check: nothing called 'colla' is read from the hub; did you mean 'cola'"
    ):
        hub_entries(["colla"])


def test_an_entry_as_expected(contents: dict[str, TableContents]) -> None:
    finding = check_entry(hub_entries(["rte"])[0])
    assert (finding.rows, finding.problem, finding.remark, finding.pinned) == (ROWS, "", "", True)
    assert finding.copy == HubCopy("bcdcba79d07bc864c1c254ccfcedcce55bcc9a8c")


def test_a_column_that_is_not_there(contents: dict[str, TableContents]) -> None:
    contents["validation"] = TableContents(("sentence_1", "sentence2", "label"), 277)
    finding = check_entry(hub_entries(["rte"])[0])
    expected = "hub nyu-mll/glue (rte) validation: no column 'sentence1'; did you mean 'sentence_1'"
    assert finding.problem.startswith(expected) and finding.rows == {"train": 2_490}


def test_other_rows_than_published(contents: dict[str, TableContents]) -> None:
    contents["train"] = TableContents(contents["train"].columns, 2_000)
    assert check_entry(hub_entries(["rte"])[0]).problem == "train has 2,000 rows, published are 2,490"


def test_another_name_is_a_remark(contents: dict[str, TableContents], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_check, "data_set_info", lambda *_: SimpleNamespace(id="glue/new"))
    finding = check_entry(hub_entries(["rte"])[0])
    assert (finding.problem, finding.remark) == ("", "nyu-mll/glue is called glue/new now")


def test_without_a_network_nothing_else_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ConnectionError("refused")

    monkeypatch.setattr(hub_check, "data_set_info", fail)
    monkeypatch.setattr(hub_check, "check_entry", lambda entry: pytest.fail("an entry was asked for"))
    with pytest.raises(InputError, match=r"^data check: the hub at .* cannot be reached \(refused\); connect to"):
        check_hub(hub_entries())
