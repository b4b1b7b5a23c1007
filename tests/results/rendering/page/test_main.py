"""The page as text: what stands in it, that nothing in the data is read as markup, and how it is written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from hashbench.cli.app import main
from hashbench.common.errors import InputError
from hashbench.results.plots.base import Drawn
from hashbench.results.plots.main import page_figures
from hashbench.results.read import measured
from hashbench.results.rendering.page.main import page
from hashbench.results.tables.numbers import printed, signs
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest, ReportSource
from hashbench.store.engine import Store
from tests.databases.made_up import World, build

EXAMPLE = Path(__file__).parents[4] / "results.db.example"
EVIL = '</script><script>alert(1)</script>&<b title="x">'


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    world = World(tasks=("cola", "sst2"), seeds=(0, 1), name=EVIL, notes={"sst2": {"data": EVIL, "origin": "builtin"}})
    return build(tmp_path_factory.mktemp("page") / "results.db", world)


@pytest.fixture(scope="module")
def text(store: Store) -> str:
    return page(store, figures=page_figures)


def data_of(text: str) -> dict:  # type: ignore[type-arg]
    """The block of data."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


class Balance(HTMLParser):
    """Counts tags, and keeps those that are open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_names_and_notes_are_text_and_every_tag_is_closed(text: str) -> None:
    balance = Balance()
    balance.feed(text)
    assert balance.open == []
    assert sum(tag == "script" for tag, _ in balance.seen) == 3  # two of ours and the data
    assert "<b title" not in text and "&lt;/script&gt;" in text
    assert any(EVIL in one for one in data_of(text)["texts"])


def test_nothing_points_elsewhere(text: str) -> None:
    balance = Balance()
    balance.feed(text)
    addresses = [value for _, named in balance.seen for name, value in named.items() if name in ("src", "href")]
    assert all(str(address).startswith(("#", "data:")) for address in addresses)
    assert text.count("url(") == text.count("url(#") and "@import" not in text
    assert "default-src 'none'" in text


def test_cells_are_those_of_the_tables_with_published_values_beside_them(text: str, store: Store) -> None:
    cell = tables(store, ReportRequest(table="1"))[0].rows[0].cells["cola"]
    shown = f"{cell.value:.1f}{signs(cell)}</span>"
    assert f'<span class="v">{shown}' in text or f'<span class="v best">{shown}' in text
    assert f'<span class="p">{printed(cell)}' in text
    assert "BUILT-IN DATA" in text.split("<nav")[0]  # at the top, before anything else


def test_every_cell_with_a_score_names_its_runs(text: str, store: Store) -> None:
    data = data_of(text)
    own = data["tables"]["own-0"]
    column = next(one for one in own["columns"] if one["tasks"] == ["cola"])
    runs = [data["runs"][place] for place in own["rows"][0]["runs"]]
    found = {run["id"] for run in runs if run.get("task") is not None and data["texts"][run["task"]] == "cola"}
    rows = store.query("SELECT run_id FROM scores WHERE own = 1 AND task = 'cola' AND model = 'bert-mlm'")
    assert found == {row["run_id"][:16] for row in rows}
    assert column["reads"] == "matthews validation"


def test_figures_stand_in_the_page_as_they_were_drawn_and_no_id_stands_twice(store: Store, text: str) -> None:
    drawn = list(page_figures(ReportSource(store)))
    assert {"latency", "pareto_parameters", "shares", "curves_finetuning"} <= {figure.name for figure in drawn}
    assert all(figure.svg in text and f'<figure id="{figure.name}">' in text for figure in drawn)
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:url\(|href=")#([^")]+)', text)) <= set(ids)


def test_runs_and_predictions_are_read_once_for_tables_claims_and_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = World(tasks=("cola", "sst2"), seeds=(0, 1), examples={"cola": 40, "sst2": 40})
    store, read = build(tmp_path / "results.db", kept), []

    def counting(of: Callable[..., Any]) -> Callable[..., Any]:
        def called(store: Store, what: Any, *more: Any, **options: Any) -> Any:
            read.extend([(run_id, *more) for run_id in what] if more else ["runs"])
            return of(store, what, *more, **options)

        return called

    for name in ("measure_version", "predictions_of"):
        monkeypatch.setattr(measured, name, counting(getattr(measured, name)))
    text = page(store, figures=page_figures)
    assert 'href="#claims"' in text and 'href="#figures"' in text
    assert read.count("runs") == 1 and 1 < len(set(read)) == len(read)


def test_without_figures_there_is_no_such_section(store: Store) -> None:
    assert 'href="#figures"' not in page(store)


def test_wrong_input_is_said_before_anything_is_drawn(store: Store) -> None:
    def figures() -> Iterator[Drawn]:
        pytest.fail("drawn too early")
        yield

    with pytest.raises(InputError, match="no table '9'"):
        page(store, ReportRequest(table="9"), figures=lambda source: figures())


def test_the_command_writes_a_page_with_figures_of_less_than_a_megabyte(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    asked = ["report", "superbloom_entities_tiny", "--db", str(EXAMPLE), "--format", "html", "-o", str(file)]
    with pytest.raises(SystemExit, match="0"):
        main(asked)
    found = file.read_text(encoding="utf-8")
    assert 20_000 < len(found.encode()) < 1_000_000
    assert '<figure id="shares">' in found


def test_of_a_paper_the_tables_with_a_measured_number_are_shown(tmp_path: Path) -> None:
    store = build(tmp_path / "r.db", World(tasks=("cola",), models=("bert-mlm", "hashformer-md-pool")))
    titles = [table["title"] for table in data_of(page(store))["tables"].values()]
    assert "hashformers table 1: GLUE dev scores" in titles
    assert "hashformers table 6: Words against subwords" not in titles  # of other models


def test_one_table_can_be_asked_for(store: Store) -> None:
    names = list(data_of(page(store, ReportRequest(table="2")))["tables"])
    assert names == ["own-0", "paper-0"]
    with pytest.raises(InputError, match="hashformers has no table '9' here"):
        page(store, ReportRequest(table="9"))
