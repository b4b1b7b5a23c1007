"""Tables of the hub with stand-ins for its packages; tests/hub has the packages themselves against a server."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hashbench.common import hub as common_hub
from hashbench.common.errors import InputError
from hashbench.data.sources import hub, hub_copies
from hashbench.data.sources.hub import HubPlace, HubTable, named_place, with_commit
from hashbench.data.sources.sources import locate_corpus, open_sources
from hashbench.data.tasks.catalogue import available, find_task, load_task, locate_task

ROOT = "hf://datasets/some/name@c0ffee"
UNREACHABLE = (
    r"the hub at https://huggingface\.co cannot be reached \(Couldn't reach .*\); "
    r"connect to the network, or use other data: --data FOLDER, or --data builtin"
)


@pytest.fixture(autouse=True)
def real_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    hub._problem.cache_clear()


def use(monkeypatch: pytest.MonkeyPatch, **packages: object) -> None:
    """Stand-ins in place of the hub's packages."""
    for module in (common_hub, hub, hub_copies):
        monkeypatch.setattr(module, "import_package", packages.__getitem__)


def out_of_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub's packages as they behave without a network."""

    def fail(*_: object, **__: object) -> None:
        raise ConnectionError("Couldn't reach 'nyu-mll/glue' on the Hub (ConnectError)")

    api = SimpleNamespace(HfApi=lambda: SimpleNamespace(dataset_info=fail))
    use(monkeypatch, huggingface_hub=api, datasets=SimpleNamespace(load_dataset=fail, load_dataset_builder=fail))


def test_hub_tasks_are_pinned_and_located_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_copies, "import_package", lambda name: pytest.fail(f"{name} was imported"))
    located = locate_task(find_task("mnli"), open_sources("hub"))
    assert set(located.tables) == {"train", "validation_matched", "validation_mismatched"}
    assert len(located.fingerprint) == 64


def test_hub_out_of_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    out_of_reach(monkeypatch)
    with pytest.raises(InputError, match=rf"^hub nyu-mll/glue \(cola\) train: {UNREACHABLE}$"):
        load_task(find_task("cola"), open_sources("hub"))


def test_hub_corpus_out_of_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    out_of_reach(monkeypatch)
    with pytest.raises(InputError, match=rf"^hub wikimedia/wikipedia \(20231101\.en\) train: {UNREACHABLE}$"):
        next(locate_corpus("wikipedia", open_sources("hub")).documents())
    with pytest.raises(InputError, match=rf"^hub rojagtap/bookcorpus: {UNREACHABLE}$"):
        _ = locate_corpus("bookcorpus", open_sources("hub")).fingerprint


def test_list_says_that_the_hub_is_out_of_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    out_of_reach(monkeypatch)
    lines = {(line.kind, line.name): line for line in available(open_sources("hub"))}
    assert lines["task", "cola"].rows == {"train": 8_551, "validation": 1_043}
    (note,) = {line.note for line in lines.values()}
    assert note.startswith("the hub at https://huggingface.co cannot be reached")
    assert {name for kind, name in lines if kind == "corpus"} == {"wikipedia", "bookcorpus", "openwebtext"}


def test_list_names_the_hubs_repositories_without_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """The commit of a copy that is pinned nowhere is known once a sweep has asked for it."""
    out_of_reach(monkeypatch)
    found = {line.name: line.source for line in available(open_sources("hub"))}
    assert found["cola"] == "hub nyu-mll/glue@bcdcba79d07b"
    assert found["bookcorpus"] == "hub rojagtap/bookcorpus@newest"
    monkeypatch.setattr(hub_copies, "_newest", lambda *_: hub_copies.HubCopy("c0ffee" * 6))
    assert locate_corpus("bookcorpus", open_sources("hub")).revision == "c0ffee" * 6
    found = {line.name: line.source for line in available(open_sources("hub"))}
    assert found["bookcorpus"] == "hub rojagtap/bookcorpus@c0ffeec0ffee"


class Answers:
    """A hub with one data set of one parquet file."""

    def __init__(self, file: Path) -> None:
        self.file, self.fetched, self.kept = file, 0, False

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        config = SimpleNamespace(data_files={"train": [f"{ROOT}/data/train.parquet"]})
        builder = SimpleNamespace(config=config, info=SimpleNamespace(features=None))
        rows = iter([{"text": "one"}, {"text": None}])
        use(
            monkeypatch,
            huggingface_hub=SimpleNamespace(
                HfApi=lambda: SimpleNamespace(
                    dataset_info=lambda *_, **__: SimpleNamespace(siblings=[], card_data=None),
                    get_paths_info=lambda *_, **__: [SimpleNamespace(size=1_000)],
                ),
                hf_hub_download=self.download,
                try_to_load_from_cache=lambda *_, **__: str(self.file) if self.kept else None,
            ),
            datasets=SimpleNamespace(load_dataset_builder=lambda **_: builder, load_dataset=lambda **_: rows),
        )

    def download(self, repository: str, file: str, *, revision: str, repo_type: str) -> str:
        assert (repository, file, revision, repo_type) == ("some/name", "data/train.parquet", "c0ffee", "dataset")
        self.fetched += 1
        return str(self.file)


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Answers:
    file = tmp_path / "train.parquet"
    pq.write_table(pa.table({"sentence": ["a", "b"], "label": [1, 0]}), file)
    made = Answers(file)
    made.install(monkeypatch)
    return made


def test_the_columns_of_a_table(answers: Answers) -> None:
    table = HubTable(HubPlace("some/name", "cola", "c0ffee"), "train")
    assert table.read(["sentence", "label"]) == {"sentence": ["a", "b"], "label": [1, 0]}
    with pytest.raises(
        InputError, match=r"^hub some/name \(cola\) train: .*: no column 'text'; it has sentence, label"
    ):
        table.read(["text"])


def test_columns_are_renamed_and_joined(answers: Answers) -> None:
    made = (("text", ("sentence", "sentence")), ("label", ("label",)))
    table = HubTable(HubPlace("some/name", revision="c0ffee", columns=made), "train")
    assert table.read(("text", "label")) == {"text": ["a a", "b b"], "label": [1, 0]}


def test_what_was_fetched_is_not_asked_for_again(answers: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    table = HubTable(HubPlace("some/name", "cola", "c0ffee"), "train")
    before = table.read(["label"])
    answers.kept = True
    monkeypatch.setattr(hub_copies, "data_set_info", lambda *_: pytest.fail("the hub was asked"))
    assert table.read(["label"]) == before and answers.fetched == 1


def test_a_split_that_is_not_there(answers: Answers) -> None:
    with pytest.raises(InputError, match=r"^hub some/name dev: no such split; it has train$"):
        HubTable(HubPlace("some/name", revision="c0ffee"), "dev").files()


def test_a_stream(answers: Answers) -> None:
    assert list(locate_corpus("wikipedia", open_sources("hub")).documents()) == ["one", ""]


def test_a_stream_without_the_column(answers: Answers) -> None:
    with pytest.raises(InputError, match=r"^hub some/name train: no column 'body'; it has text: name one of these$"):
        list(HubTable(HubPlace("some/name", revision="c0ffee"), "train").stream("body"))


def test_converted_files_are_named_by_config_and_split() -> None:
    table = HubTable(HubPlace("some/name", "mrda", "c0ffee", converted=True), "test")
    assert table.arguments() == {
        "path": "hf://datasets/some/name", "revision": "c0ffee", "data_files": {"test": "mrda/test/*.parquet"}
    }  # fmt: skip


def test_a_fingerprint_is_of_names_columns_and_commit() -> None:
    """The same as before the copies of a data set were told apart: no run gets another id."""
    at = HubPlace("some/name", "cola", "c0ffee", columns=(("text", ("title", "body")),))
    expected = hub.digest("hub", "some/name", "cola", "train", "c0ffee", "text=title+body")
    assert HubTable(at, "train").fingerprint() == expected
    assert HubTable(HubPlace("some/name", "cola", "c0ffee"), "train").fingerprint() != expected


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("acme/news", ("acme/news", None, None)),
        ("acme/news@c0ffee", ("acme/news", None, "c0ffee")),
        ("acme/news:2023-11.en@refs/convert/parquet", ("acme/news", "2023-11.en", "refs/convert/parquet")),
        ("Acme.org/the_set-2:Some words", ("Acme.org/the_set-2", "Some words", None)),
    ],
)
def test_a_user_names_a_data_set(text: str, parts: tuple[str, str | None, str | None]) -> None:
    at = named_place(text)
    assert (at.repository, at.config, at.revision) == parts and at.own and at.known_copy() is None
    assert with_commit(text) == text  # nothing was read


@pytest.mark.parametrize(
    "text",
    ["", "acme", "acme/", "/news", "../news", "acme/..", "acme/a..b", "a/b/c", "acme/news@", "acme/news@../x",
     "acme/news:", "acme/news:a/b", "acme/news:a\\b", "acme/--x", "https://hub/a/b", "acme/news x", "acme/news\n"],
)  # fmt: skip
def test_other_texts_name_none(text: str) -> None:
    """Among them whatever could be a path."""
    with pytest.raises(InputError, match=r"is no data set of the hub; write OWNER/NAME, with @COMMIT behind it to pin"):
        named_place(text)


def test_a_config_has_one_place() -> None:
    assert named_place("acme/news", config="en").config == "en"
    with pytest.raises(InputError, match=r"names a config, and config another; leave one out"):
        named_place("acme/news:en", config="de")
