"""Rows of the first pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow import feather

from hashbench.data.sources.dumps import spill as module
from hashbench.data.sources.dumps.pages import Wiki, WikiPage, title_key
from hashbench.data.sources.dumps.spill import DumpReading, index_of, rows_of, spill, stretches, whole
from tests.data.sources.dumps.wiki_dumps import Dumped, write_dump

GERMAN = Wiki(True, "Vorlage:")


def test_other_namespaces_are_counted_and_have_no_row() -> None:
    pages = [WikiPage("Talk:A", 1, None, "[[A]]"), WikiPage("Template:T", 10, None, ""), WikiPage("A", 0, None, "")]
    rows = list(rows_of(pages, DumpReading(Wiki(True, "Template:"), templates=False)))
    assert rows[:2] == [None, None]
    assert rows[2] == {"namespace": 0, "title": "A", "key": title_key("A"), "redirect": None, "links": []}


def test_a_redirect_has_a_target_and_no_links() -> None:
    (row,) = rows_of(
        [WikiPage("UK", 0, "united Kingdom#x", "#REDIRECT [[United Kingdom]]")], DumpReading(GERMAN, False)
    )
    assert row == {"namespace": 0, "title": "UK", "key": title_key("UK"), "redirect": title_key("United Kingdom")}


@pytest.mark.parametrize("name", ["Begriffsklärung", "Vorlage:Begriffsklärung", "Template:begriffsklärung"])
def test_the_prefix_of_a_template_is_local_or_english(name: str) -> None:
    pages = [WikiPage("A", 0, None, f"{{{{{name}|x}}}}"), WikiPage("Vorlage:Begriffsklärung", 10, None, "__DISAMBIG__")]
    page, template = rows_of(pages, DumpReading(GERMAN, templates=True))
    assert page is not None and template is not None
    assert page["templates"] == [template["key"]]
    assert (page["marked"], template["marked"]) == (False, True)


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("{{Disambiguation|geo}}", True),
        ("{{human name disambiguation}}", True),
        ("{{Disambiguation page}}", True),
        ("__DISAMBIG__", True),
        ("<nowiki>__DISAMBIG__</nowiki>", False),
        ("[[A]]{{disambiguation needed}}", False),
        ("{{About|x}}", False),
    ],
)
def test_the_marks_of_a_disambiguation_page(text: str, marked: bool) -> None:
    (row,) = rows_of([WikiPage("A", 0, None, text)], DumpReading(GERMAN, templates=True))
    assert row is not None and row["marked"] is marked


@pytest.mark.e2e
def test_files_follow_the_dump_whatever_the_number_of_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGES_IN_A_FILE", 4)
    dump = write_dump(tmp_path, [Dumped(f"Page {n}", "", n % 2) for n in range(10)], streams=5)
    index = index_of(dump)
    assert index is not None
    told: list[int] = []
    files = {}
    for workers, work in ((1, [whole(dump)]), (1, stretches(dump, index, 1)), (2, stretches(dump, index, 1))):
        folder = tmp_path / f"{workers}-{len(work)}"
        folder.mkdir()
        files[folder] = spill(work, DumpReading(GERMAN, False, folder), workers=workers, report=told.append)
        titles = [title for file in files[folder] for title in feather.read_table(file)["title"].to_pylist()]
        assert titles == [f"Page {n}" for n in range(0, 10, 2)]
    assert told[-1] == dump.stat().st_size
    assert [len(each) for each in files.values()] == [3, 4, 2]  # other processes have files of the usual size
