"""Which table a further set is read from."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.running.runs.further import find_set


def folder_of(path: Path, *names: str) -> Path:
    for name in names:
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text("text,label\na,0\n")
    return path


@pytest.mark.parametrize(
    ("names", "split", "read"),
    [
        (["adv.csv"], None, "adv.csv"),
        (["test.csv", "validation.csv", "train.csv"], None, "test.csv"),
        (["dev.csv", "train.csv"], None, "dev.csv"),
        (["test.csv", "dev.csv"], "validation", "dev.csv"),
        (["hard.csv", "easy.csv"], "hard", "hard.csv"),
        (["hard_test.csv"], None, "hard_test.csv"),
        (["adv.csv", "dataset_info.json", "label_names.json"], None, "adv.csv"),
        (["train.csv", "test/any.csv"], None, "any.csv"),
    ],
)
def test_a_folder_gives_the_split_or_its_only_table(tmp_path: Path, names: list[str], split: str, read: str) -> None:
    assert [path.name for path in find_set(folder_of(tmp_path, *names), split).paths] == [read]


@pytest.mark.parametrize(
    ("names", "split", "message"),
    [
        (["adv.csv"], "test", "no test file"),
        (["hard.csv", "easy.csv"], None, "no test or validation file"),
        ([], None, "no table"),
        (["test-00000-of-00002.csv"], None, "shard 00001 of 2 is missing"),
        (["adv-00001-of-00002.csv"], None, "shard 00000 of 2 is missing"),
        (["train.csv", "test/a.txt"], None, "test/a.txt looks like the test split"),
    ],
)
def test_a_folder_without_it_lists_what_there_is(
    tmp_path: Path, names: list[str], split: str | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        find_set(folder_of(tmp_path, *names), split)
