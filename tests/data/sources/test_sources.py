from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hashbench.common.errors import InputError
from hashbench.data.sources import sources
from hashbench.data.sources.builtin import BuiltinTable
from hashbench.data.sources.files import FileTable
from hashbench.data.sources.hub import HubTable
from hashbench.data.sources.sources import locate_corpus, open_sources
from hashbench.data.tasks.catalogue import available, find_task, load_task, locate_task


def data_folder(folder: Path, rows: int = 4, **extra: list[str]) -> Path:
    """A folder with rte and two corpora."""
    for split in ("train", "validation"):
        path = folder / "glue" / "rte" / f"{split}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        texts = [f"{split} {i}" for i in range(rows)]
        pq.write_table(pa.table({"sentence1": texts, "sentence2": texts, "label": [0, 1] * (rows // 2)}), path)
    for name, texts in {"wikipedia": ["One article.", "Another."], "books": ["A book."], **extra}.items():
        (folder / "corpora" / name).mkdir(parents=True)
        pq.write_table(pa.table({"title": texts, "text": texts}), folder / "corpora" / name / "000.parquet")
    return folder


def test_a_task_of_a_folder(tmp_path: Path) -> None:
    data = load_task(find_task("rte"), open_sources(str(data_folder(tmp_path / "d"))))
    assert data.splits["train"].texts[0] == ["train 0", "train 1", "train 2", "train 3"]
    assert data.splits["validation"].labels.tolist() == [0, 1, 0, 1]
    assert (data.origin, data.kind, data.label_names) == ("folder d", "folder", ("entailment", "not_entailment"))
    assert data.notes == ("sample: train 4 of 2,490 rows, validation 4 of 277 rows",)


def test_relative_folder_from_the_base(tmp_path: Path) -> None:
    data_folder(tmp_path / "d")
    assert locate_task(find_task("rte"), open_sources("d", base=tmp_path)).kind == "folder"


def test_sources_are_tried_in_order(tmp_path: Path) -> None:
    folder = str(data_folder(tmp_path))
    kinds = {name: locate_task(find_task(name), open_sources([folder, "builtin"])).kind for name in ("rte", "cola")}
    assert kinds == {"rte": "folder", "cola": "builtin"}
    assert locate_task(find_task("rte"), open_sources(["builtin", folder])).kind == "builtin"


def test_nothing_falls_back_to_built_in(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"task 'cola': not in .*; a data folder holds glue/cola/train\.parquet"):
        locate_task(find_task("cola"), open_sources(str(data_folder(tmp_path))))


def test_folder_without_a_train_split(tmp_path: Path) -> None:
    (data_folder(tmp_path) / "glue" / "rte" / "train.parquet").unlink()
    with pytest.raises(InputError, match=r"glue/rte: no train split; put a train file there"):
        locate_task(find_task("rte"), open_sources(str(tmp_path)))


def test_folder_without_a_validation_split(tmp_path: Path) -> None:
    (data_folder(tmp_path) / "glue" / "rte" / "validation.parquet").unlink()
    with pytest.raises(InputError, match=r"glue/rte: no validation split; put a validation file there"):
        locate_task(find_task("rte"), open_sources(str(tmp_path)))


def test_a_label_that_is_not_one(tmp_path: Path) -> None:
    path = data_folder(tmp_path) / "glue" / "rte" / "validation.parquet"
    pq.write_table(pa.table({"sentence1": ["a"], "sentence2": ["b"], "label": [-1]}), path)
    with pytest.raises(InputError, match=r"validation\.parquet: row 1: -1 is not a label; expected 0 to 1"):
        load_task(find_task("rte"), open_sources(str(tmp_path)))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere", "data: no folder 'nowhere'; name a folder, hub, or builtin"),
        ("buildin", r"data: no folder 'buildin'; did you mean 'builtin'\?"),
        ("file", "data: 'file' is a file; name the folder with glue/ and corpora/, or hub, or builtin"),
    ],
)
def test_wrong_source(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=message):
        open_sources(name, base=tmp_path)


def test_no_source() -> None:
    with pytest.raises(InputError, match="data: no source"):
        open_sources([])


def test_fingerprint_is_the_contents_alone(tmp_path: Path) -> None:
    task = find_task("rte")
    one, two = (locate_task(task, open_sources(str(data_folder(tmp_path / name)))) for name in ("one", "two"))
    other = locate_task(task, open_sources(str(data_folder(tmp_path / "three", rows=6))))
    assert one.fingerprint == two.fingerprint != other.fingerprint


def test_documents_of_a_folder(tmp_path: Path) -> None:
    source = locate_corpus("wikipedia", open_sources(str(data_folder(tmp_path))))
    assert list(source.documents()) == ["One article.", "Another."]
    assert list(source.documents(1)) == ["One article."]
    assert (source.packed, source.revision) == (False, None)


def test_books_are_no_articles(tmp_path: Path) -> None:
    assert locate_corpus("books", open_sources(str(data_folder(tmp_path)))).packed
    assert locate_corpus("bookcorpus", open_sources("hub")).packed


def test_text_files_are_documents(tmp_path: Path) -> None:
    folder = tmp_path / "corpora" / "mine"
    folder.mkdir(parents=True)
    (folder / "b.txt").write_text("second\nline")
    (folder / "a.txt").write_text("first")
    assert list(locate_corpus("mine", open_sources(str(tmp_path))).documents()) == ["first", "second\nline"]


def test_a_corpus_that_no_source_has(tmp_path: Path) -> None:
    sources = open_sources([str(data_folder(tmp_path)), "builtin"])
    there = r"there: books, wikipedia, builtin \(set corpora of pretrain or phrases, or --data; files of"
    with pytest.raises(InputError, match=rf"corpus 'openwebtext': not in .* or builtin; {there}"):
        locate_corpus("openwebtext", sources)


def test_a_misspelled_corpus(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"corpus 'wikipedea': not in .*; did you mean 'wikipedia'\?"):
        locate_corpus("wikipedea", open_sources(str(data_folder(tmp_path))))


def test_a_corpus_folder_without_files(tmp_path: Path) -> None:
    (tmp_path / "corpora" / "empty").mkdir(parents=True)
    formats = r"\.parquet, \.csv, \.tsv, \.jsonl, \.json, \.txt"
    with pytest.raises(InputError, match=rf"corpora/empty: no corpus files; put some there \({formats}, or with"):
        locate_corpus("empty", open_sources(str(tmp_path)))


def test_a_file_for_a_corpus_folder(tmp_path: Path) -> None:
    (tmp_path / "corpora").mkdir()
    (tmp_path / "corpora" / "flat").touch()
    with pytest.raises(InputError, match=r"corpora/flat: is a file; a corpus is a folder"):
        locate_corpus("flat", open_sources(str(tmp_path)))


def test_a_corpus_of_numbers(tmp_path: Path) -> None:
    (tmp_path / "corpora" / "n").mkdir(parents=True)
    pq.write_table(pa.table({"text": [1]}), tmp_path / "corpora" / "n" / "0.parquet")
    with pytest.raises(InputError, match=r"corpora/n: 0.parquet row 1: int in column 'text', not text"):
        list(locate_corpus("n", open_sources(str(tmp_path))).documents())


def test_list_of_what_there_is(tmp_path: Path) -> None:
    data_folder(tmp_path)
    (tmp_path / "glue" / "cola").mkdir()
    lines = {(line.kind, line.name): line for line in available(open_sources([str(tmp_path), "builtin"])[:1])}
    assert lines["task", "rte"].rows == {"train": 4, "validation": 4}
    assert "no train split" in lines["task", "cola"].note
    assert {name for kind, name in lines if kind == "corpus"} == {"wikipedia", "books"}


def test_a_folder_of_texts_is_listed_as_a_corpus_of_its_path(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one text")
    (tmp_path / "b.jsonl").write_text('{"text": "two"}\n{"text": "three"}\n')
    (line,) = available(open_sources([str(tmp_path)]))
    assert (line.kind, line.name, line.rows) == ("corpus", str(tmp_path), {"documents": 3})
    assert list(locate_corpus(line.name, ()).documents()) == ["one text", "two", "three"]
    (tmp_path / "b.jsonl").write_text("no JSON\n")
    assert "b.jsonl:1: is not JSON" in available(open_sources([str(tmp_path)]))[0].note


@pytest.mark.parametrize(
    ("name", "header", "said"),
    [
        ("a.csv", "text;x", r"cells separated by ';'\? write commas, or for a task of your own delimiter: ';'$"),
        ("a.csv", "text\tx", r"cells separated by a tab\? call the file .tsv$"),
        ("a.tsv", "text,x", r"cells separated by ','\? call the file .csv$"),
        ("a.tsv", "text|x", r"cells separated by '\|'\? write tabs$"),
    ],
)
def test_what_to_do_about_other_delimiters_in_a_corpus(tmp_path: Path, name: str, header: str, said: str) -> None:
    (tmp_path / name).write_text(f"{header}\nabc;1\n")
    with pytest.raises(InputError, match=said):
        list(locate_corpus(str(tmp_path / name), ()).documents())


def test_sources_and_tables_are_documented() -> None:
    for each in (sources.Folder, sources.Hub, sources.Builtin, FileTable, HubTable, BuiltinTable):
        for name, member in vars(each).items():
            if not name.startswith("_") and (callable(member) or isinstance(member, property)):
                assert member.__doc__, f"{each.__name__}.{name}"


def test_train_texts_of_languages_are_read_once(tmp_path: Path) -> None:
    folder = tmp_path / "multilingual" / "m" / "de"
    folder.mkdir(parents=True)
    for name in ("train.jsonl", "train.jsonl.md5", "train.ndjson"):
        (folder / name).write_text('{"text": "a"}\n')
    with pytest.raises(InputError, match="are the same documents; keep one"):
        locate_corpus("m", open_sources(str(tmp_path)))
    (folder / "train.ndjson").unlink()
    corpus = locate_corpus("m", open_sources(str(tmp_path)))
    assert ([*corpus.documents()], corpus.notes) == (["a"], ("not read: de/train.jsonl.md5",))


def test_a_table_of_a_task_folder_that_is_not_read_is_a_note(tmp_path: Path) -> None:
    folder = tmp_path / "classification" / "trec"
    folder.mkdir(parents=True)
    for name in ("train.csv", "test.csv", "train_old.csv", "more.csv"):
        (folder / name).write_text("text,label\na,0\nb,1\n")
    located = locate_task(find_task("trec"), open_sources(str(tmp_path)))
    assert located.notes == ("not read: more.csv, train_old.csv",)  # type: ignore[attr-defined]  # of tables alone
