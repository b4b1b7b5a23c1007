"""Tags of words: how data are read, where each word stands among tokens, the trivial baseline, noise, wrong input."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hashbench.common.errors import InputError
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.blocks import TaskEntry
from hashbench.data.tasks.catalogue import find_task, load_task, own_task
from hashbench.data.tasks.kinds.tagging import KIND
from hashbench.data.tasks.text_batches import TaggingData
from hashbench.data.tasks.text_data import TaskData
from hashbench.models.coders.base import make_coder
from hashbench.models.embeddings.base import Template
from hashbench.models.text.base import make_tokenizer
from hashbench.models.text.tags import NO_WORD, words_of
from hashbench.running.runs.perturbed import perturb_task

BILOU = ("O", "B-PER", "I-PER", "L-PER", "U-PER")
IOBES = ("O", "B-PER", "I-PER", "E-PER", "S-PER")
ROWS = [
    (["fly", "to", "new-york", "today"], ["O", "O", "B-city", "B-date"]),
    (["from", "san", "francisco"], ["O", "B-city", "I-city"]),
    (["fly", "today"], ["O", "B-date"]),
]


def folder(path: Path, rows: list = ROWS) -> Path:
    home = path / "own"
    home.mkdir(parents=True)
    for split in ("train", "validation", "test"):
        lines = [json.dumps({"words": words, "tags": tags}) for words, tags in rows]
        (home / f"{split}.jsonl").write_text("\n".join(lines))
    return path


def entry(path: Path, **changes: object) -> Task:
    keys = {"name": "own", "path": "own", "text": "words", "label": "tags", "metric": "span_f1"} | changes
    return own_task(TaskEntry.model_validate(keys), path)


def loaded(path: Path, rows: list = ROWS) -> TaskData:
    return load_task(entry(folder(path, rows)), ())


def batches(data: TaskData, tokenizer: str, *, max_length: int = 32, path: Path) -> TaggingData:
    return TaggingData(
        data, make_tokenizer(tokenizer), make_coder("md5-rows"), template=Template(), batch_size=8,
        max_length=max_length, seed=0, prefetch=0, folder=path / "cache",
    )  # fmt: skip


def test_words_become_a_text_and_tags_ids(tmp_path: Path) -> None:
    data = loaded(tmp_path)
    assert data.splits["train"].texts[0] == ["fly to new-york today", "from san francisco", "fly today"]
    assert data.label_names == ("O", "B-city", "B-date", "I-city")
    assert data.splits["train"].labels.tolist() == [(0, 0, 1, 2), (0, 1, 3), (0, 2)]
    assert KIND.targets(data.task, data.splits["train"]).tolist() == [2, 1, 1]


def test_conll_holds_the_same(tmp_path: Path) -> None:
    home = tmp_path / "own"
    home.mkdir()
    lines = ["# id 1", "-DOCSTART- O", ""]
    for words, tags in ROWS:
        lines += [f"{word} NN {tag}" for word, tag in zip(words, tags, strict=True)] + [""]
    for split in ("train", "test"):
        (home / f"{split}.conll").write_text("\n".join(lines))
    data = load_task(entry(tmp_path, text="tokens"), ())
    assert data.splits["test"].texts[0] == [" ".join(words) for words, _ in ROWS]
    assert data.splits["test"].labels.tolist() == [(0, 0, 1, 2), (0, 1, 3), (0, 2)]


@pytest.mark.parametrize(
    ("tokenizer", "places"),
    [
        ("words", [1, 2, 3, 6]),  # <s> fly to new - york today
        ("characters", [1, 5, 8, 17]),  # the letter behind the space
    ],
)
def test_a_word_stands_where_its_first_token_does(tmp_path: Path, tokenizer: str, places: list[int]) -> None:
    data = batches(loaded(tmp_path), tokenizer, path=tmp_path)
    batch = next(iter(data.evaluation_loader("test", whole=True)))
    row = batch.row_ids.tolist().index(0)
    assert batch.places[row].tolist() == places
    assert batch.labels[batch.row_ids.tolist().index(2)].tolist() == [0, 2, NO_WORD, NO_WORD]


def test_words_that_are_cut_off_have_no_place_and_stay_in_the_score(tmp_path: Path) -> None:
    data = batches(loaded(tmp_path), "words", max_length=5, path=tmp_path)
    batch = next(iter(data.evaluation_loader("test", whole=True)))
    row = batch.row_ids.tolist().index(0)
    assert batch.places[row].tolist() == [1, 2, 3, -1] and batch.labels[row].tolist() == [0, 0, 1, 2]
    assert data.targets("test").tolist() == [2, 1, 1]


def test_the_most_frequent_tag_of_a_word(tmp_path: Path) -> None:
    rows = [*ROWS, (["today"], ["O"]), (["today"], ["O"]), (["today"], ["O"])]
    data = loaded(tmp_path, rows)
    found = KIND.predictions("most-frequent-tag", data)["test"]
    # today is O more often than not
    assert found.outputs[0].tolist() == [1, 1, 4, 3] and found.targets.tolist() == [2, 1, 1, 0, 0, 0]


def test_noise_leaves_each_tag_with_its_word(tmp_path: Path) -> None:
    data = loaded(tmp_path)
    kinds = ["swap", "delete", "insert", "keyboard", "case", "misspelling"]
    noisy = perturb_task(data, {"perturbations": kinds, "rates": (0.0, 1.0), "seed": 0}, None).data
    assert len(noisy.splits) == 7
    for name, split in noisy.splits.items():
        KIND.check_rows(split, name)
        assert split.labels.tolist() == data.splits["test"].labels.tolist()
    swapped = noisy.splits["test~swap=1"]
    changed = [a != b for a, b in zip(words_of(swapped.texts[0][0]), ROWS[0][0], strict=True)]
    assert sum(changed) == 4
    # a batch of the noisy texts: each word stands before its own tag still
    batch = next(iter(batches(noisy, "characters", path=tmp_path).evaluation_loader("test~insert=1", whole=True)))
    assert (batch.places >= 0).sum() == 9


@pytest.mark.parametrize("blank", [" ", "\u00a0", "\u3000", "\u2028", "\t"])
def test_a_blank_in_a_word_parts_no_word(tmp_path: Path, blank: str) -> None:
    data = loaded(tmp_path, [*ROWS, ([f"10{blank}000", blank, "miles"], ["B-date", "O", "O"])])
    assert len(words_of(data.splits["train"].texts[0][3])) == 3
    made = batches(data, "words", path=tmp_path)
    batch = next(iter(made.evaluation_loader("test", whole=True)))
    row = batch.row_ids.tolist().index(3)
    assert batch.labels[row].tolist()[:3] == [1 + data.label_names[1:].index("B-date"), 0, 0]
    assert batch.places[row].tolist()[0] == 1 and batch.places[row].tolist()[2] > 1
    noisy = perturb_task(data, {"perturbations": ["delete"], "rates": (1.0,), "seed": 0}, None).data
    KIND.check_rows(noisy.splits["test~delete=1"], "test")


def test_bilou_is_iobes_in_other_letters(tmp_path: Path) -> None:
    words = ["new", "york", "and", "rome"]
    data = loaded(tmp_path / "a", [*ROWS, (words, ["B-city", "L-city", "O", "U-city"])])
    same = loaded(tmp_path / "b", [*ROWS, (words, ["B-city", "E-city", "O", "S-city"])])
    assert data.label_names == same.label_names == ("O", "B-city", "B-date", "E-city", "I-city", "S-city")
    assert data.splits["test"].labels.tolist() == same.splits["test"].labels.tolist()
    assert KIND.targets(data.task, data.splits["test"]).tolist() == [2, 1, 1, 2]


def test_named_columns_are_another_data_set(tmp_path: Path) -> None:
    home = tmp_path / "own"
    home.mkdir()
    lines = ["#\thttp://x.example [2009]", "1\tRome\tB-city\tO", "2\tto\tO\tO", "3\tParis\tB-city\tB-inner", ""]
    for split in ("train", "test"):
        (home / f"{split}.conll").write_text("\n".join(lines * 2))
    with pytest.raises(InputError, match=r"name the columns, from 1 on, as columns: \{word: 2, tag: 4\}"):
        load_task(entry(tmp_path, text="tokens"), ())
    outer = load_task(entry(tmp_path, text="tokens", columns={"word": 2, "tag": 3}), ())
    inner = load_task(entry(tmp_path, text="tokens", columns={"word": 2, "tag": 4}), ())
    assert outer.splits["test"].texts == inner.splits["test"].texts == (["Rome to Paris"] * 2,)
    assert outer.label_names == ("O", "B-city") and inner.label_names == ("O", "B-inner")
    assert outer.fingerprint != inner.fingerprint


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([(["a", "b"], ["O"]), *ROWS], r"train.jsonl: row 1: 1 tags for 2 words; give each word one"),
        ([*ROWS, (["a"], ["X-city"])], r"row 4: tag 'X-city' is outside the scheme; a tag is O, or B-, I-"),
        ([*ROWS, (["a"], [7])], r"row 4: tag 7 is a number without a name; name the tags in label_names.json"),
        ([*ROWS, (["a", ""], ["O", "O"])], r"row 4: word 2 is empty; write it or leave it out with its tag"),
        ([*ROWS, ([], [])], r"row 4: has no words; leave the row out"),
        ([*ROWS, ("a b", ["O", "O"])], r"row 4: 'a b' is no list of words; take parquet"),
        ([*ROWS, (["a"], "O")], r"row 4: 'O' is no list of tags"),
        ([(["a"], ["O"])], r"every tag is O; a task needs spans"),
    ],
)
def test_wrong_rows_are_one_line(tmp_path: Path, rows: list, said: str) -> None:
    with pytest.raises(InputError, match=said) as error:
        loaded(tmp_path, rows)
    assert "\n" not in str(error.value)


def test_blanks_around_a_tag_mean_nothing(tmp_path: Path) -> None:
    assert loaded(tmp_path, [(["a", "b"], ["B-P ", "O"]), (["a"], ["B-P"])]).label_names == ("O", "B-P")


@pytest.mark.parametrize("tags", [["B-P\u200b", "B-P"], ["B-per", "B-PER"], ["B-per", "I-PER"], ["B-a  b", "B-a b"]])
def test_types_that_may_be_one_are_refused(tmp_path: Path, tags: list[str]) -> None:
    with pytest.raises(InputError, match=r"train.jsonl: types of tags .*: one type in two spellings, or two types"):
        loaded(tmp_path, [(["a", "b"], tags), (["a"], ["O"])])


@pytest.mark.parametrize("labels", [["O", "U-X", "S-X"], ["O", "L-X", "E-X"]])
def test_one_tag_in_two_schemes_is_named_once(tmp_path: Path, labels: list[str]) -> None:
    folder(tmp_path, [(["a", "b"], [labels[1], "O"])])
    with pytest.raises(InputError, match=r"train.jsonl: the name '[SE]-X' is there twice among the classes"):
        load_task(entry(tmp_path, labels=labels), ())


def test_tags_may_be_numbers_with_names(tmp_path: Path) -> None:
    rows = [(["a", "b"], [0, 1]), (["a"], [0])]
    folder(tmp_path, rows)
    (tmp_path / "own" / "label_names.json").write_text('["O", "B-city"]')
    assert load_task(entry(tmp_path), ()).splits["train"].labels.tolist() == [(0, 1), (0,)]


def test_tags_may_have_their_names_in_the_parquet_file_or_in_the_entry(tmp_path: Path) -> None:
    rows = [(["a", "b"], [0, 1]), (["a"], [2])]
    folder(tmp_path, rows)
    data = load_task(entry(tmp_path, labels=["O", "B-city", "I-city"]), ())
    assert data.splits["train"].labels.tolist() == [(0, 1), (2,)]
    features = {"feature": {"names": ["O", "I-city", "B-city"], "_type": "ClassLabel"}, "_type": "Sequence"}
    table = pa.table({"words": [words for words, _ in rows], "tags": [tags for _, tags in rows]})
    for written in (features, {**features, "_type": "List"}, [features["feature"]]):
        info = {"info": {"features": {"tags": written}}}
        for split in ("train", "validation", "test"):
            (tmp_path / "own" / f"{split}.jsonl").unlink(missing_ok=True)
            pq.write_table(
                table.replace_schema_metadata({"huggingface": json.dumps(info)}), tmp_path / "own" / f"{split}.parquet"
            )
        data = load_task(entry(tmp_path), ())
        assert data.label_names == ("O", "I-city", "B-city") and data.splits["train"].labels.tolist() == [(0, 1), (2,)]
    # by name, whatever the order of the entry
    data = load_task(entry(tmp_path, labels=["O", "B-city", "I-city"]), ())
    assert data.splits["train"].labels.tolist() == [(0, 2), (1,)]


def test_a_split_of_tags_that_train_never_has_is_refused(tmp_path: Path) -> None:
    folder(tmp_path, [(["a"], ["B-city"]), (["b"], ["O"])])
    (tmp_path / "own" / "test.jsonl").write_text(json.dumps({"words": ["a"], "tags": ["B-town"]}))
    with pytest.raises(InputError, match=r"test.jsonl: no row has a label that train has \(B-town; train: B-city\)"):
        load_task(entry(tmp_path), ())


def test_a_tag_that_the_names_lack(tmp_path: Path) -> None:
    folder(tmp_path)
    (tmp_path / "own" / "label_names.json").write_text('["O", "B-city", "I-city"]')
    with pytest.raises(InputError, match="row 1: tag 'B-date' is none of this task"):
        load_task(entry(tmp_path), ())


def test_slots_of_atis() -> None:
    import os

    data = os.environ.get("HASHBENCH_TEST_DATA", str(Path(__file__).resolve().parents[4].parent / "shared/data"))
    if not (Path(data) / "tagging").is_dir():
        pytest.skip("no ATIS slots: set HASHBENCH_TEST_DATA to a folder with tagging/atis_slots/")
    task = load_task(find_task("atis_slots"), open_sources(data))
    assert {split: len(part) for split, part in task.splits.items()} == task.task.official_rows
    result = KIND.predictions("most-frequent-tag", task)["test"]
    assert result.targets.sum() == 2_837  # spans of the test set
    assert {score.name: round(100 * score.value, 1) for score in KIND.scores(task.task, result)}["span_f1"] == 60.4
    assert np.isfinite(result.outputs).all()


@pytest.mark.parametrize("declared", [BILOU, IOBES, None])
@pytest.mark.parametrize("of_test", [BILOU, IOBES])
def test_names_of_a_parquet_file_in_bilou_are_those_of_iobes(
    declared: tuple[str, ...] | None, of_test: tuple[str, ...], tmp_path: Path
) -> None:
    """Both a file's numbers with names of the hub's library, and names in label_names.json."""
    for split, names in (("train", BILOU), ("test", of_test)):
        feature = {"feature": {"_type": "ClassLabel", "names": list(names)}, "_type": "Sequence"}
        rows = pa.table({"words": [["new", "york", "or", "rome"]] * 3, "tags": [[1, 3, 0, 4]] * 3})
        metadata = {"huggingface": json.dumps({"info": {"features": {"tags": feature}}})}
        pq.write_table(rows.replace_schema_metadata(metadata), tmp_path / f"{split}.parquet")
    if declared:
        (tmp_path / "label_names.json").write_text(json.dumps(declared))
    described = TaskEntry(name="mine", path=str(tmp_path), text="words", label="tags", metric="span_f1")
    data = KIND.locate(KIND.own_task(described, tmp_path), ()).load()
    assert data.label_names == IOBES
    assert data.splits["test"].labels[0] == (1, 3, 0, 4)
