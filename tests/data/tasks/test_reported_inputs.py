"""Small inputs on which users of other programs reported wrong scores without a word: read right here, or refused."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hashbench.common.errors import InputError
from hashbench.data.sources.documents import folder_corpus
from hashbench.data.tasks.blocks import TaskEntry
from hashbench.data.tasks.catalogue import known_kinds
from hashbench.data.tasks.kinds.tagging import padded
from hashbench.data.tasks.text_data import TaskData
from hashbench.models.text.base import make_tokenizer
from hashbench.models.text.tags import TagScheme
from hashbench.scores.base import UndefinedScore, find_metric

Content = str | bytes | pa.Table
Files = Mapping[str, Content]


def csv(*labels: object, sep: str = ",", end: str = "\n", text: str = "text {}") -> str:
    """A table of texts with these labels."""
    rows = [f"{text.format(row)}{sep}{label}" for row, label in enumerate(labels)]
    return end.join([f"text{sep}label", *rows]) + end


def lines(*labels: object, first: int = 0, text: str = "text {}") -> str:
    """The same as JSON lines."""
    rows = [{"text": text.format(row), "label": label} for row, label in enumerate(labels, first)]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def table(labels: Sequence[Any] | pa.Array, features: Mapping[str, Any] | None = None, **columns: Any) -> pa.Table:
    """The same as a table of parquet; `features`: that the hub's library wrote beside it."""
    made = pa.table({"text": [f"text {row}" for row in range(len(labels))], "label": labels, **columns})
    return (
        made.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
        if features
        else made
    )


def names(*given: str) -> str:
    return json.dumps(given)


def write(folder: Path, files: Files) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, pa.Table):
            pq.write_table(content, path)
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def load(folder: Path, **entry: Any) -> TaskData:
    """A data set of the folder, as an entry of `tasks` describes it."""
    described = TaskEntry.model_validate(
        {"name": "mine", "path": str(folder), "text": "text", "label": "label", "metric": "accuracy", **entry}
    )
    (kind,) = [kind for kind in known_kinds().values() if kind.takes(described)]
    data = kind.locate(kind.own_task(described, folder), []).load()
    assert isinstance(data, TaskData)
    return data


def labels(data: TaskData, split: str = "train") -> list[str]:
    """The class of each row of a split, of train with the rows held out of it, in the order of texts."""
    parts = [data.splits[split], *([data.splits["holdout"]] if split == "train" and "holdout" in data.splits else [])]
    ids = np.concatenate([part.labels for part in parts])
    texts = [text for part in parts for text in part.texts[0]]
    order = sorted(range(len(texts)), key=lambda row: int("".join(filter(str.isdigit, texts[row])) or 0))
    return [data.label_names[ids[row]] for row in order]


YES_NO = ("no", "yes", "no", "yes")
# Files, the classes in the order of their ids, the class of each row of train
READ: dict[str, tuple[Files, tuple[str, ...], Sequence[str]]] = {
    "long numbers": ({"train.csv": csv(10**18 + 1, 10**18 + 2, 10**18 + 1)}, (f"{10**18 + 1}", f"{10**18 + 2}"), ()),
    "true and True": ({"train.jsonl": lines(True, False), "test.csv": csv("True", "False")}, ("False", "True"), ()),
    "a gap": ({"train.csv": csv(0, 2, 4)}, ("0", "2", "4"), ("0", "2", "4")),
    "floats of pandas in test": ({"train.csv": csv(0, 1), "test.csv": csv("1.0", "0.0")}, ("0", "1"), ("0", "1")),
    "floats of pandas in train": ({"train.csv": csv("1.0", "0.0"), "test.csv": csv(0, 1)}, ("0", "1"), ("1", "0")),
    "leading zeros": ({"train.csv": csv("01", "1", "10")}, ("01", "1", "10"), ("01", "1", "10")),
    "other digits": ({"train.csv": csv("٠", "١")}, ("٠", "١"), ("٠", "١")),
    "minus one, named": ({"train.csv": csv(-1, 0, 1), "label_names.json": names("-1", "0", "1")}, ("-1", "0", "1"), ()),
    "minus one in JSON": ({"train.jsonl": lines(-1, 0, 1), "label_names.json": names("-1", "0", "1")},
                          ("-1", "0", "1"), ("-1", "0", "1")),
    "names are digits": ({"train.csv": csv(1, 1, 0), "label_names.json": names("1", "0")}, ("1", "0"), ("1", "1", "0")),
    "the same in JSON": ({"train.jsonl": lines(1, 1, 0), "label_names.json": names("1", "0")},
                         ("1", "0"), ("1", "1", "0")),
    "three of four": ({"train.csv": csv(1, 2, 3), "label_names.json": names("1", "2", "3", "4")},
                      ("1", "2", "3", "4"), ("1", "2", "3")),
    "three of four in JSON": ({"train.jsonl": lines(1, 2, 3), "label_names.json": names("1", "2", "3", "4")},
                              ("1", "2", "3", "4"), ("1", "2", "3")),
    "stars": ({"train.csv": csv(1, 5), "label_names.json": names(*"12345")}, tuple("12345"), ("1", "5")),
    "stars in JSON": ({"train.jsonl": lines(1, 5), "label_names.json": names(*"12345")}, tuple("12345"), ("1", "5")),
    "BOM and CRLF": ({"train.csv": "\ufeff" + csv(*YES_NO, end="\r\n")}, ("no", "yes"), YES_NO),
    "curly quotes": ({"train.csv": csv(*YES_NO, text="“text” {}")}, ("no", "yes"), YES_NO),
    "gz": ({"train.csv.gz": gzip.compress(csv(*YES_NO).encode())}, ("no", "yes"), YES_NO),
    "NUL in a cell": ({"train.csv": csv(*YES_NO, text="a\0 {}")}, ("no", "yes"), YES_NO),
    "CR ends lines": ({"train.csv": csv(*YES_NO, end="\r")}, ("no", "yes"), YES_NO),
    "array of JSON": ({"train.json": json.dumps([{"text": f"t {i}", "label": of} for i, of in enumerate(YES_NO)])},
                      ("no", "yes"), YES_NO),
    "line separators": ({"train.jsonl": lines(*YES_NO, text="\u2028 \u0085 {}")}, ("no", "yes"), YES_NO),
    "shards of JSON": ({"train-00000-of-00002.jsonl": lines("no", "yes"),
                        "train-00001-of-00002.jsonl": lines("no", "yes", first=2)}, ("no", "yes"), YES_NO),
    "names of the hub": ({"train.parquet": table([0, 1], {"label": {"_type": "ClassLabel", "names": ["ham", "eggs"]}})},
                         ("ham", "eggs"), ("ham", "eggs")),
    "dictionary": ({"train.parquet": table(pa.array(["good", "bad"]).dictionary_encode())}, ("bad", "good"), ()),
    "empty shard": ({"train-00000-of-00002.parquet": table(YES_NO),
                     "train-00001-of-00002.parquet": table(YES_NO).slice(0, 0)}, ("no", "yes"), YES_NO),
    "shards of two types": ({"train-00000-of-00002.parquet": table([0, 1]),
                             "train-00001-of-00002.parquet": table(["0", "1"])}, ("0", "1"), ()),
    "views of strings": ({"train.parquet": table(YES_NO, text=pa.array([f"t {i}" for i in range(4)], pa.string_view()))
                          if hasattr(pa, "string_view") else table(YES_NO)}, ("no", "yes"), YES_NO),
    "folders of splits": ({"train/0000.parquet": table(YES_NO)}, ("no", "yes"), YES_NO),
    "upper case": ({"Train.CSV": csv(*YES_NO)}, ("no", "yes"), YES_NO),
}  # fmt: skip
REFUSED: dict[str, tuple[Files, str]] = {
    "two spellings": ({"train.csv": csv("Negative", "negative", "positive")}, "one class in two spellings"),
    "minus one": ({"train.csv": csv(-1, 0, 1)}, "row 1: '-1' is not a label.*labels: "),
    "hidden test": ({"train.csv": csv(0, 1), "test.csv": csv(-1, -1)}, "test.csv: row 1: '-1' is not a label"),
    "halves": ({"train.csv": csv(0, 1, "0.5")}, "row 3: '0.5' is not a label"),
    "halves in parquet": ({"train.parquet": table([0.5, 1.0])}, "row 1: 0.5 is not a label"),
    "huge": ({"train.jsonl": lines(0, 1e300)}, "row 2: 1e[+]300 is not a label"),
    "missing": ({"train.parquet": table([None, 0, 1])}, "row 1: None is not a label"),
    "NaN": ({"train.parquet": table([float("nan"), 0.0, 1.0])}, "row 1: nan is not a label"),
    "several a row": ({"train.parquet": table([[0, 1], [0]])}, "several labels a row need metric: label_f1_micro"),
    "bytes": ({"train.parquet": table(YES_NO, text=[b"a", b"b", b"c", b"d"])}, "bytes, not text"),
    "column twice": ({"train.csv": "text,label,label\na,0,1\n"}, "column 'label' is there 2 times"),
    "column twice in parquet": ({"train.parquet": pa.Table.from_arrays([pa.array(["a"]), pa.array([0]), pa.array([1])],
                                                                       ["text", "label", "label"])}, "is there 2"),
    "key twice": ({"train.jsonl": '{"text": "a", "label": 0, "label": 1}\n'}, "'label' is there 2"),
    "bad line": ({"train.jsonl": lines(0, 1) + "{no}\n"}, "train.jsonl:3: is not JSON"),
    "nested": ({"train.jsonl": '{"meta": {"text": "a"}, "label": 0}\n'}, "no column 'text'"),
    "backslashes": ({"train.csv": 'text,label\n"a \\"b\\" c",0\n'}, "train.csv:2: is not CSV"),
    "only commas": ({"train.csv": csv(0, 1) + ",\n"}, "row 3: '' is not a label"),
    "latin-1": ({"train.csv": csv(0, 1, text="caf\u00e9").encode("latin-1")}, "not UTF-8"),
    "UTF-16": ({"train.csv": csv(0, 1).encode("utf-16")}, "not UTF-8"),
    "sep=": ({"train.csv": "sep=;\n" + csv(0, 1, sep=";")}, "'sep=;' is no line of names"),
    "no header": ({"train.csv": '3,"Wall St.","Reuters"\n4,"A","B"\n'}, "its first line.*names no column"),
    "CR in a TSV": ({"train.tsv": csv(0, 1, sep="\t") + "a\rb\t1\n"}, "train.tsv:4: 1 cells, the header has 2"),
    "fastText": ({"train.txt": "__label__1 a text\n"}, "train.txt looks like the train split and is not read"),
    "a file and a shard": ({"train.csv": csv(0, 1), "train-00000-of-00001.parquet": table([0, 1])}, "both the train"),
    "dev and validation": ({"train.csv": csv(0, 1), "dev.csv": csv(0, 1), "validation.csv": csv(0, 1)}, "both the"),
    "two writings": ({"train-00000-of-00001.parquet": table([0, 1]), "train-00000-of-00002.parquet": table([0, 1])},
                     "are not the shards of one table"),
}  # fmt: skip
# Files, how many rows of train, a note
NOTED: dict[str, tuple[Files, int, str]] = {
    "a quote that swallows rows": ({"train.csv": 'text,label\na,0\n"b,1\nc,0\nd",1\ne,0\n'}, 3, "lone quotation mark"),
    "quotes in a TSV": ({"train.tsv": 'text\tlabel\nhe said "hi"\t0\n"he said ""hi"""\t1\n'}, 2, "quoted cells, kept"),
    "missing texts": ({"train.parquet": table([0, 1, 0], text=[None, "None", "NA"])}, 3, "missing or empty texts: 1"),
    "unseen label": ({"train.csv": csv("a", "b"), "test.csv": csv("a", "c", text="x {}")}, 2, "train never has: 'c'"),
    "cells with line ends": ({"train.csv": 'text,label\n"a\nb",0\n"c\rd",1\n'}, 2, "hold line ends: 2"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    yield


@pytest.mark.parametrize("case", READ)
def test_labels_are_read_right(case: str, tmp_path: Path) -> None:
    files, classes, of_rows = READ[case]
    data = load(write(tmp_path / "data", files))
    assert data.label_names == classes
    assert not of_rows or labels(data) == list(of_rows)


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_plain_is_refused_in_one_line(case: str, tmp_path: Path) -> None:
    files, message = REFUSED[case]
    with pytest.raises(InputError, match=message) as refused:
        load(write(tmp_path / "data", files))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("case", NOTED)
def test_what_is_odd_is_noted(case: str, tmp_path: Path) -> None:
    files, rows, note = NOTED[case]
    data = load(write(tmp_path / "data", files))
    assert sum(len(data.splits[split]) for split in ("train", "holdout") if split in data.splits) == rows
    assert any(note in of for of in data.notes), data.notes


@pytest.mark.parametrize("name", ["val.csv", "dev.csv", "valid.csv", "VALIDATION.CSV"])
def test_every_name_of_a_validation_split_is_one(name: str, tmp_path: Path) -> None:
    data = load(write(tmp_path / "data", {"train.csv": csv(*YES_NO), name: csv("no", "yes", "no", text="x {}")}))
    assert {split: len(part) for split, part in data.splits.items()} == {"train": 4, "validation": 3}


@pytest.mark.parametrize("name", ["test.csv.gz", "test.json", "test.jsonl"])
def test_every_form_of_a_test_split_is_read(name: str, tmp_path: Path) -> None:
    content = gzip.compress(csv("no", "yes").encode()) if name.endswith("gz") else lines("no", "yes")
    data = load(write(tmp_path / "data", {"train.csv": csv(*YES_NO), name: content}))
    assert len(data.splits["test"]) == 2 and data.task.report_splits == ("test",)


def test_text_and_label_of_one_column_and_f1_of_three_classes_are_refused(tmp_path: Path) -> None:
    folder = write(tmp_path / "data", {"train.csv": csv("a", "b", "c")})
    with pytest.raises(InputError, match="text and label name the same column"):
        load(folder, text="label")
    with pytest.raises(InputError, match="f1 needs two classes, here are 3; use metric f1_macro"):
        load(folder, metric="f1")


def test_f1_names_its_class(tmp_path: Path) -> None:
    folder = write(tmp_path / "data", {"train.csv": csv("duplicate", "not_duplicate")})
    assert any(note.startswith("f1 is of 'not_duplicate'") for note in load(folder, metric="f1").notes)
    assert load(folder, metric="f1", positive="duplicate").counted == {"f1": "duplicate"}


@pytest.mark.parametrize(
    ("cell", "value"), [("4.2 ", 4.2), ("٤", 4.0), ("4,2", None), ("1_5", None), ("inf", None), ("", None)]
)
def test_numbers_to_predict(cell: str, value: float | None, tmp_path: Path) -> None:
    folder = write(tmp_path / "data", {"train.csv": csv(f'"{cell}"', *range(5)), "validation.csv": csv(0, 1)})
    if value is None:
        with pytest.raises(InputError, match="row 1: .* is not a label"):
            load(folder, metric="pearson")
        return
    assert load(folder, metric="pearson").splits["train"].labels[0] == pytest.approx(value)


def test_a_test_split_of_one_value_is_noted_for_correlations(tmp_path: Path) -> None:
    files = {"train.csv": csv(*range(5)), "validation.csv": csv(0, 1), "test.csv": csv(-1, -1)}
    (note,) = [note for note in load(write(tmp_path, files), metric="pearson").notes if "every label is -1" in note]
    assert note.startswith("pearson has no value on test")


# Lines of one sentence, columns, its words and tags; or what refuses it
TAGGED: dict[str, tuple[str, dict[str, int] | None, list[str], list[str]]] = {
    "BILOU": ("Ada\tB-PER\nByron\tL-PER\nParis\tU-LOC\n", None, ["Ada", "Byron", "Paris"], ["B-PER", "E-PER", "S-LOC"]),
    "IOB1": ("New\tI-LOC\nYork\tI-LOC\nBoston\tB-LOC\nx\tO\n", None, ["New", "York", "Boston", "x"],
             ["I-LOC", "I-LOC", "B-LOC", "O"]),
    "BOM, CRLF, four columns": ("\ufeff-DOCSTART- -X- -X- O\r\n\r\nAda NN x B-PER\r\n", None, ["Ada"], ["B-PER"]),
    "a word that is a hash": ("# O\nAda B-PER\n", None, ["#", "Ada"], ["O", "B-PER"]),
    "a hash and an equals sign": ("# = O\nAda NN B-PER\n", None, ["#", "Ada"], ["O", "B-PER"]),
    "a blank that does not break": ("10\u00a0000\tB-NUM\nAda\tO\n", None, ["10\u00a0000", "Ada"], ["B-NUM", "O"]),
    "a word that is a blank": ("\u00a0\tO\nAda\tB-PER\n", None, ["\u00a0", "Ada"], ["O", "B-PER"]),
    "a line of a blank ends it": ("Ada\tB-PER\n \nx\tO\n", None, ["Ada"], ["B-PER"]),
    "CoNLL-U": ("# sent_id = 0\n1\tAda\ta\tN\t_\t_\t0\tr\t_\tB-PER\n", {"word": 2, "tag": 10}, ["Ada"], ["B-PER"]),
    "GermEval": ("#\thttp://x [2009-10-17]\n1\tAda\tB-PER\tO\n", {"word": 2, "tag": 3}, ["Ada"], ["B-PER"]),
}  # fmt: skip


def tagged(folder: Path, text: str, columns: dict[str, int] | None) -> TaskData:
    """Tagged sentences, each twice."""
    folder = write(folder, dict.fromkeys(["train.conll", "validation.conll"], 2 * f"{text}\n"))
    more = {"columns": columns} if columns else {}
    return load(folder, text="tokens", label="tags", metric="span_f1", **more)


@pytest.mark.parametrize("case", TAGGED)
def test_tagged_sentences(case: str, tmp_path: Path) -> None:
    text, columns, words, tags = TAGGED[case]
    data = tagged(tmp_path / "data", text, columns)
    first = data.splits["train"]
    assert first.texts[0][0] == " ".join(words)
    assert [data.label_names[tag] for tag in first.labels[0]] == tags


def test_spans_of_iob1_end_where_a_tag_begins_one(tmp_path: Path) -> None:
    """Two spans: New York and Boston, as conlleval counts them."""
    first = tagged(tmp_path / "data", "New\tI-LOC\nYork\tI-LOC\nBoston\tB-LOC\nx\tO\n", None)
    spans = TagScheme(first.label_names).spans(padded(first.splits["train"].labels[:1]))
    assert list(zip(spans.first, spans.last, strict=True)) == [(0, 1), (2, 2)]


def test_the_same_spans_in_another_scheme_are_right(tmp_path: Path) -> None:
    """The test split ends its spans with E-, which train never has: that is noted, and spans count, not tags."""
    sentences = {split: f"New\tB-LOC\nYork\t{end}-LOC\nis\tO\n\n" for split, end in (("train", "I"), ("test", "E"))}
    folder = write(tmp_path / "data", {f"{split}.conll": 4 * sentence for split, sentence in sentences.items()})
    data = load(folder, text="tokens", label="tags", metric="span_f1")
    assert "4 words of test have a tag that train never has: 'E-LOC'" in data.notes
    gold, predicted = (padded(data.splits[split].labels[:1]) for split in ("test", "train"))
    (spans, predictions, hits, _, right_words) = TagScheme(data.label_names).counts(gold, predicted)[0]
    assert (spans, predictions, hits, right_words) == (1, 1, 1, 2)


@pytest.mark.parametrize("text", ["1\tAda\tB-PER\n2\tx\tO\n", "1\tAda\ta\tN\t_\t_\t0\tr\t_\tB-PER\n"])
def test_a_first_column_that_counts_is_no_column_of_words(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="its first column counts the words; name the columns"):
        tagged(tmp_path / "data", text, None)


def test_an_empty_word_is_an_error_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"train.conll:2: the word before tag 'O' is empty"):
        tagged(tmp_path / "data", "Ada\tB-PER\n\tO\n", None)


def test_words_within_marks_of_direction_stay_whole(tmp_path: Path) -> None:
    marked = csv("no", text="\u200ecold\u200e \u200fday\u200f {}")
    data = load(write(tmp_path / "data", {"train.csv": csv(*YES_NO, text="cold day {}"), "test.csv": marked}))
    (text,) = data.splits["test"].texts[0]
    assert make_tokenizer("unicode").tokenize(text) == ["cold", "day", "0"]


def test_matthews_of_one_class_is_undefined(tmp_path: Path) -> None:
    files: Files = {"train.csv": csv(*YES_NO), "test.csv": csv("yes", "yes", text="x {}")}
    test = load(write(tmp_path / "data", files), metric="matthews").splits["test"]
    with pytest.raises(UndefinedScore, match="the targets are constant"):
        find_metric("matthews").score(test.labels, test.labels)


def test_pairs_have_the_class_names_of_the_hub(tmp_path: Path) -> None:
    feature = {"label": {"_type": "ClassLabel", "names": ["not_equivalent", "equivalent"]}}
    rows = table([0, 1, 1, 0], feature, second=["b"] * 4)
    data = load(write(tmp_path / "data", {"train.parquet": rows}), text=["text", "second"], metric="f1")
    assert data.label_names == ("not_equivalent", "equivalent") and data.counted == {"f1": "equivalent"}
    assert labels(data) == ["not_equivalent", "equivalent", "equivalent", "not_equivalent"]


DOCUMENTS = "".join(json.dumps({"text": f"document {row}"}) + "\n" for row in range(10)).encode()
ZIPPED = gzip.compress(DOCUMENTS, mtime=0)
FRAME = pa.Codec("zstd").compress(DOCUMENTS, asbytes=True)
# Files, the number of documents; or what refuses them
CORPORA: dict[str, tuple[Files, int | str]] = {
    "two members of gzip": ({"a.jsonl.gz": ZIPPED + ZIPPED}, 20),
    "gzip cut": ({"a.jsonl.gz": ZIPPED[:-20]}, "cannot be read"),
    "gzip without its end": ({"a.jsonl.gz": ZIPPED[:-8]}, "cannot be read"),
    "gzip with a wrong checksum": ({"a.jsonl.gz": ZIPPED[:-8] + bytes(8)}, "cannot be read"),
    "gzip with garbage": ({"a.jsonl.gz": ZIPPED + b"garbage!"}, "cannot be read"),
    "a bad line": ({"a.jsonl.gz": gzip.compress(DOCUMENTS + b"{no}\n")}, r"a.jsonl.gz:11: is not JSON"),
    "two frames of zstd": ({"a.jsonl.zst": FRAME * 2}, 20),
    "a skippable frame": ({"a.jsonl.zst": b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd" + FRAME}, 10),
    "names of C4": ({"c4-train.00000-of-00002.json.gz": ZIPPED, "b.jsonl": DOCUMENTS}, "shard 00001 of 2 is missing"),
    "all of C4": ({"c4-train.00000-of-00001.json.gz": ZIPPED, "b.jsonl": DOCUMENTS}, 20),
    "subfolders": ({"AA/a.jsonl": DOCUMENTS, "AB/a.jsonl": DOCUMENTS}, 20),
    "hidden files": ({"a.jsonl": DOCUMENTS, "._a.jsonl": b"\0\1", ".ipynb_checkpoints/a.jsonl": DOCUMENTS}, 10),
    "files about it": ({"a.jsonl": DOCUMENTS, "README.txt": "about", "LICENSE.txt": "terms"}, 10),
    "dictionary": ({"a.parquet": pa.table({"text": pa.array(["a", "b"] * 5).dictionary_encode()})}, 10),
    "large strings": ({"a.parquet": pa.table({"text": pa.array(["a"] * 10, pa.large_string())})}, 10),
    "WikiText's lines": ({"wiki.train.tokens.txt": " \n = Title 0 = \n \n 12 @-@ year <unk> . \n = Title 1 = \n"}, 1),
    "control characters": ({"a.jsonl": json.dumps({"text": "a\0b \ud800"}) + "\n"}, 1),
}  # fmt: skip


@pytest.mark.parametrize("case", CORPORA)
def test_a_corpus_is_read_whole_or_refused(case: str, tmp_path: Path) -> None:
    files, expected = CORPORA[case]
    folder = write(tmp_path / "c", files)
    if isinstance(expected, str):
        with pytest.raises(InputError, match=expected):
            list(folder_corpus("c", "c", folder).documents())
        return
    corpus = folder_corpus("c", "c", folder)
    assert len(list(corpus.documents())) == expected
    assert bool(corpus.notes) == (case == "files about it")


def test_blank_documents_give_no_words(tmp_path: Path) -> None:
    blank = "".join(json.dumps({"text": text}) + "\n" for text in ("\u00a0\n", "", None, "\t", " ")).encode()
    corpus = folder_corpus("c", "c", write(tmp_path / "c", {"a.jsonl": blank + DOCUMENTS + blank}))
    texts = [text for shard in corpus.shards(row_words=8) for text in shard.texts()]
    assert texts == [f"document {row}" for row in range(10)]
    for kind in ("words", "unicode"):
        tokenizer = make_tokenizer(kind)
        assert sum(bool(tokenizer.tokenize(text)) for text in corpus.documents()) == 10
