from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hashbench.data import hub, sources
from hashbench.data.builtin import BuiltinTable
from hashbench.data.files import FileTable
from hashbench.data.sources import locate_corpus, open_sources
from hashbench.errors import InputError
from hashbench.tasks.catalogue import find_task
from hashbench.tasks.locate import available, load_task, locate_task


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
    there = r"there: books, wikipedia, builtin \(set corpora of pretrain or phrases, or --data\)"
    with pytest.raises(InputError, match=rf"corpus 'openwebtext': not in .* or builtin; {there}"):
        locate_corpus("openwebtext", sources)


def test_a_misspelled_corpus(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"corpus 'wikipedea': not in .*; did you mean 'wikipedia'\?"):
        locate_corpus("wikipedea", open_sources(str(data_folder(tmp_path))))


def test_a_corpus_folder_without_files(tmp_path: Path) -> None:
    (tmp_path / "corpora" / "empty").mkdir(parents=True)
    with pytest.raises(InputError, match=r"corpora/empty: no corpus files; put \.parquet, \.csv, \.jsonl or \.txt"):
        locate_corpus("empty", open_sources(str(tmp_path)))


def test_a_file_for_a_corpus_folder(tmp_path: Path) -> None:
    (tmp_path / "corpora").mkdir()
    (tmp_path / "corpora" / "flat").touch()
    with pytest.raises(InputError, match=r"corpora/flat: is a file; a corpus is a folder"):
        locate_corpus("flat", open_sources(str(tmp_path)))


def test_a_corpus_of_numbers(tmp_path: Path) -> None:
    (tmp_path / "corpora" / "n").mkdir(parents=True)
    pq.write_table(pa.table({"text": [1]}), tmp_path / "corpora" / "n" / "0.parquet")
    with pytest.raises(InputError, match=r"corpora/n: row 1: int in column 'text', not text"):
        list(locate_corpus("n", open_sources(str(tmp_path))).documents())


def test_list_of_what_there_is(tmp_path: Path) -> None:
    data_folder(tmp_path)
    (tmp_path / "glue" / "cola").mkdir()
    lines = {(line.kind, line.name): line for line in available(open_sources([str(tmp_path), "builtin"])[:1])}
    assert lines["task", "rte"].rows == {"train": 4, "validation": 4}
    assert "no train split" in lines["task", "cola"].note
    assert {name for kind, name in lines if kind == "corpus"} == {"wikipedia", "books"}


def test_hub_tasks_are_pinned_and_located_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "import_package", lambda name: pytest.fail(f"{name} was imported"))
    located = locate_task(find_task("mnli"), open_sources("hub"))
    assert set(located.tables) == {"train", "validation_matched", "validation_mismatched"}
    assert len(located.fingerprint) == 64


def out_of_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub's packages as they behave without a network, and for a name that does not exist."""
    hub._problem.cache_clear()

    def fail(*_: object, **__: object) -> None:
        raise ConnectionError("Couldn't reach 'nyu-mll/glue' on the Hub (OfflineModeIsEnabled)")

    packages = {
        "huggingface_hub": SimpleNamespace(HfApi=lambda: SimpleNamespace(dataset_info=fail)),
        "datasets": SimpleNamespace(load_dataset=fail, DownloadConfig=SimpleNamespace),
    }
    monkeypatch.setattr(hub, "import_package", packages.__getitem__)


REMEDY = (
    r"cannot be opened; either the hub is out of reach or it has no data set of this name \(Couldn't reach .*\); "
    r"use other data: --data FOLDER, or --data builtin"
)


def test_hub_out_of_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    out_of_reach(monkeypatch)
    with pytest.raises(InputError, match=r"hub nyu-mll/glue \(cola\) train: " + REMEDY):
        load_task(find_task("cola"), open_sources("hub"))


def test_hub_corpus_out_of_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    out_of_reach(monkeypatch)
    with pytest.raises(InputError, match=r"hub wikimedia/wikipedia \(20231101\.en\) train: " + REMEDY):
        next(locate_corpus("wikipedia", open_sources("hub")).documents())
    with pytest.raises(InputError, match="hub rojagtap/bookcorpus: " + REMEDY):
        _ = locate_corpus("bookcorpus", open_sources("hub")).fingerprint


def test_list_says_that_the_hub_is_out_of_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    out_of_reach(monkeypatch)
    lines = {(line.kind, line.name): line for line in available(open_sources("hub"))}
    assert lines["task", "cola"].rows == {"train": 8_551, "validation": 1_043}
    assert {line.note for line in lines.values()} == {"the hub is out of reach, or has no such data set"}
    assert {name for kind, name in lines if kind == "corpus"} == {"wikipedia", "bookcorpus", "openwebtext"}


def test_list_names_the_hubs_repositories_without_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """From hub.json; the commit of a copy that is pinned nowhere is known once a sweep has asked for it."""
    out_of_reach(monkeypatch)
    found = {line.name: line.source for line in available(open_sources("hub"))}
    assert found["cola"] == "hub nyu-mll/glue@bcdcba79d07b"
    assert found["bookcorpus"] == "hub rojagtap/bookcorpus@newest"
    monkeypatch.setattr(hub, "_newest_revision", lambda repository: "c0ffee" * 6)
    assert locate_corpus("bookcorpus", open_sources("hub")).revision == "c0ffee" * 6
    found = {line.name: line.source for line in available(open_sources("hub"))}
    assert found["bookcorpus"] == "hub rojagtap/bookcorpus@c0ffeec0ffee"


def test_sources_and_tables_are_documented() -> None:
    for each in (sources.Folder, sources.Hub, sources.Builtin, FileTable, hub.HubTable, BuiltinTable):
        for name, member in vars(each).items():
            if not name.startswith("_") and (callable(member) or isinstance(member, property)):
                assert member.__doc__, f"{each.__name__}.{name}"


def test_hub_package_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "datasets", None)
    with pytest.raises(InputError, match=r"'datasets' is not installed; run: pip install datasets"):
        hub.import_package("datasets")


def test_offline_mode_ends_where_it_began() -> None:
    from datasets import config

    before = config.HF_HUB_OFFLINE
    with pytest.raises(ZeroDivisionError), hub.offline():
        assert config.HF_HUB_OFFLINE is True
        raise ZeroDivisionError
    assert config.HF_HUB_OFFLINE is before


def test_an_open_revision_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def dataset_info(repository: str, **_: object) -> SimpleNamespace:
        asked.append(repository)
        return SimpleNamespace(sha="c0ffee")

    api = SimpleNamespace(HfApi=lambda: SimpleNamespace(dataset_info=dataset_info))
    monkeypatch.setattr(hub, "import_package", lambda _: api)
    revisions = {locate_corpus("bookcorpus", open_sources("hub")).revision for _ in range(3)}
    assert revisions == {"c0ffee"}
    assert asked == ["rojagtap/bookcorpus"]


def test_hub_columns_and_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    class Column(list[object]):
        column_names = ("sentence", "label")

        def __getitem__(self, name: object) -> object:
            return {"sentence": ["a", "b"], "label": [1, 0]}[name]  # type: ignore[index]

    calls: list[dict[str, object]] = []

    def load_dataset(*names: object, **options: object) -> object:
        calls.append(options)
        return iter([{"text": "one"}, {"text": None}]) if options["streaming"] else Column()

    datasets = SimpleNamespace(load_dataset=load_dataset)
    monkeypatch.setattr(hub, "reach", lambda *_: True)
    monkeypatch.setattr(hub, "import_package", lambda _: datasets)
    table = hub.HubTable("some/name", "cola", "train", "c0ffee")
    assert table.read(["sentence", "label"]) == {"sentence": ["a", "b"], "label": [1, 0]}
    assert calls[0]["revision"] == "c0ffee" and calls[0]["split"] == "train"
    with pytest.raises(InputError, match="no column 'text'; it has sentence, label"):
        table.read(["text"])
    assert list(locate_corpus("wikipedia", open_sources("hub")).documents()) == ["one", ""]
    assert calls[-1]["streaming"] is True
