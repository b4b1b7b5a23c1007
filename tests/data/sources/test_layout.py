"""Names of files: which is which split or a part of a corpus, what is refused, and what is passed over by name."""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashbench.common.errors import InputError
from hashbench.data.sources.files import FileTable
from hashbench.data.sources.layout import SPLITS, chosen_splits, find_corpus_files, find_splits, named


def put(folder: Path, *names: str) -> Path:
    """Files of these names, each a table of two rows that name the file."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [f"{name} {number}" for number in range(2)]
        text = "text\n" + "".join(f"{row}\n" for row in rows)
        if named(path).format in (".jsonl", ".json"):
            text = "".join(json.dumps({"text": row}) + "\n" for row in rows)
        path.write_bytes(gzip.compress(text.encode()) if path.suffix.lower() == ".gz" else text.encode())
    return folder


def found(folder: Path) -> dict[str, list[str]]:
    return {
        split: [path.relative_to(folder).as_posix() for path in paths]
        for split, paths in find_splits(folder).files.items()
    }


@pytest.mark.parametrize(
    ("split", "name"),
    [
        ("train", "train.csv"), ("train", "training.jsonl"), ("train", "TRAIN.CSV"), ("train", "Train.jsonl.gz"),
        ("validation", "val.csv"), ("validation", "valid.tsv"), ("validation", "dev.json"),
        ("validation", "validation.ndjson"), ("validation", "Dev.JSON.gz"),
        ("test", "test.csv.gz"), ("test", "test.jsonl.zst"), ("test", "testing.parquet"), ("test", "test.conll"),
        ("test", "test.conllu"), ("test", "data/test.csv"), ("test", "test/0000.parquet"), ("test", "test/any.csv"),
        ("test", "data/test/part-0.csv"), ("test", "test-00000-of-00001.csv"),
        ("test", "data/test-00000-of-00001-0123abcd.parquet"), ("test", "test_0_of_1.jsonl.gz"),
        ("test", "test.00001-of-00001.json"),
    ],
)  # fmt: skip
def test_known_names_are_read(tmp_path: Path, split: str, name: str) -> None:
    assert found(put(tmp_path, name)) == {split: [name]}


NOT_ONE = "are not the shards of one table, each once; keep those"
SHARDS = ["train-00000-of-00003.csv", "train-00001-of-00003.csv", "train-00002-of-00003.csv"]


def test_shards_are_read_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    assert found(put(tmp_path, *reversed(SHARDS))) == {"train": SHARDS}
    hashed = [f"dev-{number}-of-11-{11 - number:x}.jsonl.gz" for number in range(11)]
    from_1 = ["test-1-of-2.csv", "test-2-of-2.csv"]
    assert found(put(tmp_path, *hashed, *from_1)) == {"train": SHARDS, "validation": hashed, "test": from_1}
    counted = [f"train/{number:04d}.parquet" for number in range(3)]
    assert found(put(tmp_path / "hub", *counted)) == {"train": counted}


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (SHARDS[::2], r"train-00000-of-00003\.csv: shard 00001 of 3 is missing; put it back, or rename the others"),
        (SHARDS[2:], r"train-00002-of-00003\.csv: shard 00000, 00001 of 3 are missing"),
        ([*SHARDS, "train-00000-of-00001.csv"], NOT_ONE),
        ([*SHARDS, "train-00001-of-00003-ab.csv"], NOT_ONE),
        ([*SHARDS, "train-00001-of-00003.csv.gz"], NOT_ONE),
        ([*SHARDS[:2], "train-00002-of-00003.jsonl"], NOT_ONE),
        ([*SHARDS, "train-00003-of-00003.csv"], NOT_ONE),
        ([*SHARDS, "train.csv"], r"train-00000-of-00003\.csv and train\.csv are both the train split; keep one"),
        ([*SHARDS, "data/train.csv"], r"are both the train split"),
        (["train.csv", "Train.jsonl"], r"are both the train split"),
        (["train.csv", "train.csv.gz"], r"are both the train split"),
        (["train.csv", "train/a.csv"], r"are both the train split"),
        (["train.csv", "training.csv"], r"are both the train split"),
        (["dev.csv", "val.csv"], r"dev\.csv and val\.csv are both the validation split"),
        (["dev-0-of-1.csv", "validation-0-of-1.csv"], r"are both the validation split"),
        (["train/0000.csv", "train/0002.csv"], r"shard 00001 of 3 is missing"),
        (["train/a.csv", "train/b.csv"], NOT_ONE),
        (["train.csv", "eval.csv"], r"eval\.csv looks like the validation or the test split and is not read; name"),
        (["train.csv", "evaluation-0-of-1.csv"], r"looks like the validation or the test split"),
        (["train.csv", "eval/0.csv"], r"eval/0\.csv looks like the validation or the test split"),
        (["train.csv", "test.xlsx"], r"test\.xlsx looks like the test split and is not read; name"),
        (["train.csv", "test.csv.bz2"], r"test\.csv\.bz2 looks like the test split"),
        (["train.csv", "test.parquet.gz"], r"test\.parquet\.gz looks like the test split"),
        (["train.csv", "test.txt"], r"test\.txt looks like the test split"),
        (["train.csv", "my_testset.csv"], r"my_testset\.csv looks like the test split"),
        (["train.csv", "test0.csv", "test1.csv"], r"test0\.csv looks like the test split"),
        (["train.csv", "emotion/test.csv"], r"emotion/test\.csv looks like the test split"),
        (["train.csv", "test/pos/1.txt"], r"test/pos/1\.txt looks like the test split"),
        (["train-00000-of-00002.arrow"], r"looks like the train split"),
        (["train/1.csv", "train/4.csv"], r"shard 00002, 00003 of 4 are missing"),
        (["train/1.csv", "train/5.csv"], NOT_ONE),  # more lack than are there
        (["train/2019.csv", "train/2020.csv"], NOT_ONE),
        (["train/a-00000-of-00002.csv", "train/b-00001-of-00002.csv"], NOT_ONE),
        (["train/0000.csv", "train/sub/0001.csv"], r"train/sub/0001\.csv looks like the train split"),
        (["train/x.arrow", "train/state.json", "train/dataset_info.json"], r"train/x\.arrow looks like the train"),
    ],
)  # fmt: skip
def test_what_is_not_plain_is_refused(tmp_path: Path, names: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said) as error:
        found(put(tmp_path, *names))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "name",
    [
        "test/data-00000-of-00001.arrow", "test/part-00000", "test/part-0.csv.bz2", "test/a.txt",
        "test.parquet/part-0.parquet", "test.csv/part-0.csv", "default/test/0000.parquet", "test_split/x.csv",
        "TestFinal.csv", "tst.csv", "a/b/test.csv", "testb.conll", "test-split.xlsx",
        "validation_data/x.csv", "testa.conll", "development.csv", "validate.csv", "dev_v2/x.csv", "DevSet.csv",
        "eval_set.csv", "final_eval.csv", "holdout.csv", "my_eval/x.csv",
        "train.parquet/part-0.parquet", "train/part-00000", "train/x.arrow", "default/train/0000.parquet", "trn.csv",
    ],
)  # fmt: skip
def test_what_looks_like_a_split_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    others = [] if "tr" in name else ["train.csv"]
    with pytest.raises(InputError, match=f": {name} looks like"):
        found(put(tmp_path, *others, name))


def test_what_looks_like_a_split_beside_it_is_named_and_the_rest_is_not(tmp_path: Path) -> None:
    beside = ["train_small.csv", "train.csv.bak", "test_report.txt", "old/train.csv", "latest.csv"]
    rest = [
        ".train.csv.swp",
        "._test.csv",
        "train.py",
        "test.sh",
        "label_names.json",
        "dataset_info.json",
        "vocabulary.txt",
        "train.csv.sha256",
    ]
    put(tmp_path, "train.csv", "test.csv", *beside, *rest)
    files = find_splits(tmp_path)
    assert {split: len(paths) for split, paths in files.files.items()} == {"train": 1, "test": 1}
    (note,) = files.notes
    assert set(note.removeprefix("not read: ").split(", ")) == set(beside)


@pytest.mark.e2e
def test_the_package_datasets_reads_the_same_names(tmp_path: Path) -> None:
    patterns = pytest.importorskip("datasets.data_files")
    endings = (".csv", "-00000-of-00001.csv")
    names = [(split, f"{stem}{end}") for split, stems in SPLITS.items() for stem in stems for end in endings]
    for split, name in names:
        folder = put(tmp_path / name, name)
        theirs = patterns.DataFilesDict.from_patterns(patterns.get_data_patterns(str(folder)), str(folder))
        assert {key: [Path(file).name for file in files] for key, files in theirs.items()} == {split: [name]}


NAMES = st.builds(
    lambda folder, stem, shard, ending: f"{folder}{stem}{shard}{ending}",
    st.sampled_from(["", "", "", "data/", "train/", "old/"]),
    st.sampled_from(["train", "train", "Train", "dev", "val", "test", "eval", "train_small", "notes"]),
    st.one_of(
        st.just(""),
        st.builds(lambda n, of: f"-{n:05d}-of-{of:05d}", st.integers(0, 3), st.integers(1, 3)),
        st.builds(
            lambda n, of, end: f"-{n}-of-{of}-{end}", st.integers(0, 2), st.integers(1, 2), st.sampled_from("ab")
        ),
    ),
    st.sampled_from([".csv", ".csv", ".jsonl", ".csv.gz", ".json"]),
)


@settings(max_examples=300)
@given(st.sets(NAMES, min_size=1, max_size=5))
def test_of_any_names_all_rows_are_read_once_or_it_is_an_error(names: set[str]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = put(Path(place), *names)
        try:
            files = find_splits(folder)
        except InputError as error:
            assert "\n" not in str(error)
            return
        rows = [str(row) for paths in files.files.values() for row in FileTable(paths).read(["text"])["text"]]
        assert len(rows) == len(set(rows))
        read = {row.rsplit(" ", 1)[0] for row in rows}
        assert len(rows) == 2 * len(read)
        noted = {name for note in files.notes for name in note.removeprefix("not read: ").split(", ")}
        # Files without the name of a split are no part of the set, nor are those of another folder
        stems = {stem for names_of_split in SPLITS.values() for stem in names_of_split}
        no_part = {
            name for name in names if "train/" not in name and named(Path(name)).stem not in {*stems, "train_small"}
        }
        no_part |= {name for name in names if name.startswith("old/train_small")}
        assert not read & noted and read | noted >= names - no_part
        for split, paths in files.files.items():
            of = {named(path).shard for path in paths}
            assert of == {None} or len(paths) == max(shard[1] for shard in of if shard), split


@settings(max_examples=200)
@given(st.sets(NAMES, min_size=1, max_size=5))
def test_of_any_names_a_corpus_has_all_rows_once_or_it_is_an_error(names: set[str]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = put(Path(place), *names)
        try:
            files = find_corpus_files(folder).files
        except InputError as error:
            assert "\n" not in str(error)
            return
        assert sorted(path.relative_to(folder).as_posix() for path in files) == sorted(names)


PAIRS = {"test": SPLITS["test"]}


@pytest.mark.parametrize(
    ("there", "names", "chosen", "notes"),
    [
        (["train", "dev", "test"], SPLITS, {"train": "train", "validation": "dev", "test": "test"}, ()),
        (["Training", "unsupervised"], SPLITS, {"train": "Training"}, ("not read: unsupervised",)),
        (["train", "train_small", "test"], SPLITS, {"train": "train", "test": "test"}, ("not read: train_small",)),
        (["train"], PAIRS, {"test": "train"}, ()),
        (["train", "test"], PAIRS, {"test": "test"}, ("not read: train",)),
    ],
)
def test_splits_that_a_data_set_names(there: list[str], names: Any, chosen: dict[str, str], notes: tuple[str]) -> None:
    assert chosen_splits(there, names, {}, "hub x") == (chosen, notes)


@pytest.mark.parametrize(
    ("there", "names", "message"),
    [
        (["a", "b"], SPLITS, r"no train split; it has a, b; name it: splits: \{train: a, ...\}"),
        (["train", "val", "dev"], SPLITS, "val and dev are both the validation split; say which to read: splits: "),
        (["train", "validation_matched"], SPLITS,
         r"validation_matched looks like the validation split and is not read; say which to read: "
         r"splits: \{train: train, validation: validation_matched\}"),
        (["train", "validation", "eval"], SPLITS, r"eval looks like the test split .* test: eval\}"),
        (["a", "b"], PAIRS, r"no test split; it has a, b; name it: splits: \{test: a, ...\}"),
    ],
)  # fmt: skip
def test_splits_that_are_not_plain(there: list[str], names: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"^hub x: {message}"):
        chosen_splits(there, names, {}, "hub x")


def test_splits_that_a_user_names() -> None:
    there = ["train", "validation_matched", "test"]
    by_user = {"train": "train", "validation": "validation_matched"}
    assert chosen_splits(there, SPLITS, by_user, "hub x") == (by_user, ("not read: test",))
    with pytest.raises(InputError, match=r"^hub x: splits: no split 'tests'; did you mean 'test'\?$"):
        chosen_splits(there, SPLITS, {"train": "train", "test": "tests"}, "hub x")
    with pytest.raises(InputError, match=r"^hub x: no train split; it has"):
        chosen_splits(there, SPLITS, {"test": "test"}, "hub x")
