"""Which copy of a data set is read: main, or the parquet files that the hub makes of a script."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hashbench.common.errors import InputError
from hashbench.data.sources import hub_copies
from hashbench.data.sources.hub_copies import CONVERTED, HubCopy, known_copy, resolved_copy

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
        sha = revision if revision and len(revision) == 40 else MAIN if revision in (None, "main") else "2" * 40
        return SimpleNamespace(id=repository, sha=sha, siblings=files, card_data=branches.get("card"))

    def paths_info(repository: str, paths: list[str], *, revision: str, repo_type: str) -> list[SimpleNamespace]:
        assert repo_type == "dataset" and set(paths) <= set(branches[revision])
        return [SimpleNamespace(size=len(path)) for path in paths]

    packages = {
        "huggingface_hub": SimpleNamespace(
            HfApi=lambda: SimpleNamespace(dataset_info=dataset_info, get_paths_info=paths_info)
        ),
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
        ("c", "train", ("a/train/0000.parquet",), "hub x: no config 'c'; it has a$"),
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
    with pytest.raises(InputError, match=r"^datasets is not installed; run: pip install 'hashbench\[train\]'$"):
        hub_copies.import_package("datasets")


def test_a_branch_is_resolved_once(asked: dict[str | None, Any]) -> None:
    """Its commit is a name of the same copy, and so is the commit that was the newest."""
    asked["main"] = asked[None] = ["README.md", "data/train.parquet"]
    assert resolved_copy("some/name", "main") == resolved_copy("some/name", "main") == HubCopy(MAIN)
    assert known_copy("some/name", MAIN) == HubCopy(MAIN) and known_copy("some/name") is None
    assert resolved_copy("other/name") == known_copy("other/name", MAIN) == HubCopy(MAIN)
    assert asked["asked"] == ["main", None]


def test_a_commit_of_converted_files_is_known_by_its_files(asked: dict[str | None, Any]) -> None:
    """It holds CONFIG/SPLIT/0000.parquet and nothing else."""
    asked["2" * 40] = [".gitattributes", "a/train/0000.parquet"]
    asked["3" * 40] = ["README.md", "a/train/0000.parquet"]
    asked["4" * 40] = ["name.py"]
    files = ("a/train/0000.parquet",)
    assert resolved_copy("some/name", "2" * 40) == HubCopy("2" * 40, converted=True, files=files)
    assert resolved_copy("some/name", "3" * 40) == HubCopy("3" * 40)
    with pytest.raises(
        InputError, match=rf"is a script at {'4' * 40}, which .*; leave out @4+, and the files are read"
    ):
        resolved_copy("some/name", "4" * 40)


def test_converted_files_are_listed_by_split(asked: dict[str | None, Any]) -> None:
    """With their bytes; the licence is that of the card on main. A split that was converted in part has no files."""
    files = ("a/test/0000.parquet", "a/train/0000.parquet", "a/train/0001.parquet", "b/partial-train/0000.parquet")
    asked[None], asked["2" * 40] = ["README.md", "name.py"], list(files)
    copy = HubCopy("2" * 40, converted=True, files=files)
    found = hub_copies.listing("some/name", copy, "a", "hub some/name")
    assert found.splits == {"test": (files[0],), "train": files[1:3]}
    assert found.sizes == {"test": len(files[0]), "train": 2 * len(files[1])} and found.licence == ""
    assert hub_copies.listing("some/name", copy, "b", "hub some/name").splits == {"train": ()}
    n = len(asked["asked"])
    assert hub_copies.listing("some/name", copy, "a", "hub some/name") == found and len(asked["asked"]) == n
    for config, message in ((None, "has several configs, so name one: a, b"), ("c", "no config 'c'; it has a, b")):
        with pytest.raises(InputError, match=f"^hub some/name: {message}$"):
            hub_copies.listing("some/name", copy, config, "hub some/name")


@pytest.mark.parametrize(
    ("declared", "licence"),
    [
        ("mit", "mit"),
        (["cc-by-4.0", "other"], "cc-by-4.0, other"),
        (None, ""),
        ("<b>; x", "b x"),
        ("y" * 100, "y" * 60),
    ],
)
def test_a_licence_is_plain_text(declared: object, licence: str) -> None:
    assert hub_copies._licence(SimpleNamespace(card_data=SimpleNamespace(license=declared))) == licence
