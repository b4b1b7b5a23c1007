"""data/tasks/items.py: page-link sets as numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hashbench.common.errors import InputError
from hashbench.data.sources import files
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks import items as links
from hashbench.data.tasks.blocks import TaskEntry
from hashbench.data.tasks.catalogue import available, locate_task
from hashbench.data.tasks.items import EntitiesBlock, LinkSet, in_folder
from hashbench.data.tasks.kinds.entities import ENTITIES, KIND


def written(folder: Path, pages: list[dict[str, object]], name: str = "links.parquet") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(pages), folder / name)
    return folder


def loaded(folder: Path, **protocol: object) -> LinkSet:
    task = replace(ENTITIES, protocol=EntitiesBlock(**protocol))  # type: ignore[arg-type]
    located = in_folder(folder, task, "folder", "folder")
    assert located is not None
    return located.load()


def some_pages(n: int = 20) -> list[dict[str, object]]:
    return [{"page": f"p{i}", "links": ["often", f"item {i % 7}", f"item {i % 5}"]} for i in range(n)]


def test_items_are_numbered_by_links_on_training_pages(tmp_path: Path) -> None:
    links = loaded(written(tmp_path, some_pages()))
    train = links.links_of("train")
    counts = np.bincount(train.ids, minlength=len(links.items))
    assert np.array_equal(counts, links.items.counts) and (np.diff(counts) <= 0).all()
    assert links.items.string(0) == "often" and len(links.items) == 8


def test_pages_keep_their_links(tmp_path: Path) -> None:
    pages = some_pages()
    links = loaded(written(tmp_path, pages))
    for number, page in enumerate(pages):
        expected = list(dict.fromkeys(page["links"]))  # type: ignore[call-overload]
        assert links.items.strings(links.pages.text(number)) == expected


def test_repeated_links_and_short_pages_are_left_out_and_reported(tmp_path: Path) -> None:
    pages = [*some_pages(), {"page": "one", "links": ["often", "often"]}, {"page": "none", "links": []}]
    links = loaded(written(tmp_path, pages))
    repeated = sum(len(page["links"]) - len(set(page["links"])) for page in pages)  # type: ignore[arg-type]
    assert links.notes == (f"{repeated} repeated links left out", "2 pages with fewer than 2 links left out")
    assert sorted(np.concatenate(list(links.splits.values())).tolist()) == list(range(20))


def test_a_missing_list_is_an_empty_page(tmp_path: Path) -> None:
    assert len(loaded(written(tmp_path, [*some_pages(), {"page": "x", "links": None}])).pages) == 21


def test_a_tenth_of_the_pages_is_held_out_and_a_tenth_of_the_rest_validates(tmp_path: Path) -> None:
    links = loaded(written(tmp_path, some_pages(100)))
    assert {name: len(rows) for name, rows in links.splits.items()} == {"test": 10, "validation": 9, "train": 81}
    other = loaded(tmp_path, split_seed=1)
    assert not np.array_equal(other.splits["test"], links.splits["test"])
    assert np.array_equal(loaded(tmp_path).splits["test"], links.splits["test"])


def test_an_item_of_a_test_page_alone_stays_in_the_vocabulary(tmp_path: Path) -> None:
    pages = [{"page": f"p{i}", "links": ["often", f"only on {i}"]} for i in range(30)]
    links = loaded(written(tmp_path, pages))
    assert len(links.items) == 31 and (links.items.counts == 0).sum() == 5  # of three test and two validation pages


def test_the_most_linked_items_alone(tmp_path: Path) -> None:
    links = loaded(written(tmp_path, some_pages()), max_items=3)
    assert len(links.items) == 3 and links.items.string(0) == "often"
    assert any(note.startswith("the 3 most linked items alone, ") for note in links.notes)


def test_links_read_in_pieces_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = written(tmp_path, some_pages(50))
    whole = loaded(folder)
    monkeypatch.setattr(links, "ROWS_AT_ONCE", 7)
    pieces = loaded(folder)
    assert np.array_equal(pieces.pages.ids, whole.pages.ids) and pieces.items.strings() == whole.items.strings()
    assert files.ROWS_AT_ONCE == 4096


def test_a_set_in_several_files(tmp_path: Path) -> None:
    written(tmp_path, some_pages()[:12], "links-00000-of-00002.parquet")
    written(tmp_path, some_pages()[12:], "links-00001-of-00002.parquet")
    assert len(loaded(tmp_path).pages) == 20


def test_the_fingerprint_is_of_content_and_columns(tmp_path: Path) -> None:
    first, second = (in_folder(written(tmp_path / name, some_pages()), ENTITIES, "folder", "folder") for name in "ab")
    assert first is not None and second is not None
    assert first.fingerprint == second.fingerprint != replace(first, task=replace(ENTITIES, label="x")).fingerprint


def test_a_data_folder_offers_its_set(page_links: Path) -> None:
    located = locate_task(ENTITIES, open_sources(str(page_links)))
    assert located.load().origin == "folder entities"
    found = available(open_sources(str(page_links)))
    assert [(line.name, line.rows) for line in found] == [("entities", {"links": 92})]


def test_sources_without_one_say_what_it_is() -> None:
    with pytest.raises(InputError, match=r"'entities': not in builtin; a data folder holds entities/links\.parquet"):
        locate_task(ENTITIES, open_sources("builtin"))


def entry(path: Path, **changes: object) -> TaskEntry:
    values = {"name": "mine", "path": str(path), "text": "page", "links": "links", **changes}
    return TaskEntry(**values)  # type: ignore[arg-type]


def test_a_set_of_the_users_own(tmp_path: Path) -> None:
    pages = [{"titel": page["page"], "ziele": page["links"]} for page in some_pages()]
    task = KIND.own_task(entry(written(tmp_path, pages), text="titel", links="ziele"), tmp_path)
    located = locate_task(task, ())
    assert isinstance(data := located.load(), LinkSet) and data.origin == f"own data set {tmp_path.name}"
    assert task.select_metric == "rec@1"
    assert KIND.own_task(entry(tmp_path, metric="mrr"), tmp_path).select_metric == "mrr"


WRONG_SETS = {
    "no lists": ([{"page": "a", "links": "b"}], "column 'links' holds string, not lists of texts; name the column"),
    "lists of numbers": ([{"page": "a", "links": [1, 2]}], "holds list<element: int64>, not lists of texts"),
    "no such column": ([{"page": "a", "link": ["b"]}], "no column 'links'; did you mean 'link'"),
    "no page column": ([{"links": ["b", "c"]}], "no column 'page'; it has links"),
    "an empty cell": ([{"page": "a", "links": ["b", None]}], "column 'links' has an empty cell within a list; drop it"),
    "pages with one link": ([{"page": "a", "links": ["b"]}] * 5, "0 pages with 2 links or more cannot be split"),
    "too few pages": (some_pages(2), "2 pages with 2 links or more cannot be split; give more pages"),
}


@pytest.mark.parametrize(("pages", "message"), WRONG_SETS.values(), ids=WRONG_SETS)
def test_what_is_no_page_link_set(tmp_path: Path, pages: list[dict[str, object]], message: str) -> None:
    with pytest.raises(InputError) as error:
        loaded(written(tmp_path, pages))
    assert message in str(error.value) and "\n" not in str(error.value)


def test_an_empty_table(tmp_path: Path) -> None:
    kind = pa.schema({"page": pa.string(), "links": pa.list_(pa.string())})
    pq.write_table(kind.empty_table(), tmp_path / "links.parquet")
    with pytest.raises(InputError, match="has no rows; put some in it"):
        loaded(tmp_path)


def test_another_format(tmp_path: Path) -> None:
    (tmp_path / "links.csv").write_text("page,links\n")
    with pytest.raises(InputError, match="a page-link set is a parquet file, whose cells may be lists; convert it"):
        in_folder(tmp_path, ENTITIES, "folder", "folder")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text": ("a", "b")}, "task 'mine': text is the column of the page, one name"),
        ({"metric": "rec@5"}, "metric 'rec@5' is none of a page-link set"),
        ({"path": "nowhere"}, r"no links\.parquet in .*nowhere; check path"),
    ],
)
def test_wrong_entries(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        KIND.own_task(entry(**{"path": written(tmp_path, some_pages()), **changes}), tmp_path)
