"""Which copy of a data set is read: main, or the parquet files that the hub makes of a script."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hashbench.common.errors import InputError
from hashbench.data.sources import hub as hub_copies
from hashbench.data.sources.hub import CONVERTED, HubCopy, known_copy, resolved_copy

MAIN = "1" * 40


class RevisionNotFoundError(OSError):
    """The hub's own, by name."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str | None, Any]:
    """Branch -> its files, to be filled by a test; a branch that is not there is not found."""
    branches: dict[str | None, Any] = {"asked": []}

    def dataset_info(repository: str, revision: str | None, timeout: float) -> SimpleNamespace:
        branches["asked"].append(revision)
        if revision not in branches:
            raise RevisionNotFoundError(revision)
        files = [SimpleNamespace(rfilename=name) for name in branches[revision]]
        return SimpleNamespace(id=repository, sha=MAIN if revision is None else "2" * 40, siblings=files)

    packages = {
        "huggingface_hub": SimpleNamespace(HfApi=lambda: SimpleNamespace(dataset_info=dataset_info)),
        "huggingface_hub.errors": SimpleNamespace(RevisionNotFoundError=RevisionNotFoundError),
    }
    monkeypatch.setattr(hub_copies, "import_package", packages.__getitem__)
    return branches


def test_data_files_on_main_are_read_and_asked_for_once(asked: dict[str | None, Any]) -> None:
    asked[None] = ["README.md", "data/train-00000-of-00001.parquet"]
    assert known_copy("some/name") is None
    copies = [resolved_copy("some/name") for _ in range(3)]
    assert copies == [HubCopy(MAIN)] * 3 and asked["asked"] == [None]
    assert known_copy("some/name") == HubCopy(MAIN)


def test_of_a_script_the_converted_files_are_read(asked: dict[str | None, Any]) -> None:
    asked[None] = ["name.py", "README.md"]
    asked[CONVERTED] = [".gitattributes", "a/train/0000.parquet", "b/train/0000.parquet"]
    expected = HubCopy("2" * 40, converted=True, files=("a/train/0000.parquet", "b/train/0000.parquet"))
    assert resolved_copy("some/name") == resolved_copy("some/name") == expected
    assert expected.files_of("b", "train", "hub some/name") == "b/train/*.parquet"


def test_a_script_without_converted_files(asked: dict[str | None, Any]) -> None:
    asked[None] = ["name.py"]
    message = r"^hub some/name: is a script, which the package datasets no longer runs, and the hub has no converted"
    with pytest.raises(InputError, match=message):
        resolved_copy("some/name")
    assert known_copy("some/name") is None


@pytest.mark.parametrize(
    ("config", "split", "files", "message"),
    [
        ("a", "train", ("a/partial-train/0000.parquet",), "is a script, .* the hub converted the first part only; use"),
        ("c", "train", ("a/train/0000.parquet",), "hub x: the hub has no c/train of it; it has a/train$"),
        ("a", "dev", ("a/train/0000.parquet",), "hub x: the hub has no a/dev of it; it has a/train$"),
    ],
)
def test_converted_files_that_are_not_there(config: str, split: str, files: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        HubCopy(MAIN, converted=True, files=files).files_of(config, split, "hub x")


def test_the_only_config_needs_no_name() -> None:
    copy = HubCopy(MAIN, converted=True, files=("plain_text/train/0000.parquet",))
    assert copy.files_of(None, "train", "hub x") == "plain_text/train/*.parquet"
    assert HubCopy(MAIN, converted=True).files_of(None, "train", "hub x") == "default/train/*.parquet"


def test_a_note_of_an_older_form_is_asked_for_again(asked: dict[str | None, Any]) -> None:
    hub_copies.write_note(hub_copies._note("some/name"), {"repository": "some/name", "revision": "0" * 40})
    asked[None] = ["train.parquet"]
    assert resolved_copy("some/name") == HubCopy(MAIN)


def test_hub_package_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "datasets", None)
    with pytest.raises(InputError, match=r"'datasets' is not installed; run: pip install datasets"):
        hub_copies.import_package("datasets")
