"""A board of the example database and another one in a real browser: links, sorting, filters, phones, dark rooms."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.browser import Browser, find_chromium
from tests.commands import call

CHROMIUM = find_chromium()
pytestmark = [
    pytest.mark.services,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine (apt-get install chromium)"),
]
LEAST_CONTRAST = 4.5  # WCAG AA
LINKS = "[...document.querySelectorAll('a[href]')].map(link => link.href)"
IDS = "[...document.querySelectorAll('[id]')].map(each => each.id)"
ROWS = "[...document.querySelectorAll('#models-0 tbody tr[data-row]')]"
SHOWN = f"{ROWS}.filter(row => !row.hidden).map(row => row.cells[0].textContent)"
SCORE = "document.querySelector('#models-0 thead th[data-name=\"score\"]')"
SCORES = f"{ROWS}.map(row => row.cells[{SCORE}.cellIndex].dataset.v ?? null)"
FIELDS = "document.querySelector('#models .filter')"
# The least contrast of any visible text with the ground that is painted behind it, with that text
CONTRAST = """(() => {
  const rgba = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (rgb) => { const v = rgb.slice(0, 3).map(x => x / 255).map(x => x <= .04045 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4);
    return .2126 * v[0] + .7152 * v[1] + .0722 * v[2] };
  const painted = (each) => { for (; each; each = each.parentElement) {
    const ground = rgba(getComputedStyle(each).backgroundColor); if (ground[3] !== 0) return light(ground) }
    return light(rgba(getComputedStyle(document.body).backgroundColor)) };
  const texts = [...document.body.querySelectorAll(':not(script)')].filter((each) => each.checkVisibility() &&
    [...each.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()));
  const found = texts.map((each) => { const [ink, ground] = [light(rgba(getComputedStyle(each).color)), painted(each)];
    return [(Math.max(ink, ground) + .05) / (Math.min(ink, ground) + .05), each.className, each.textContent.slice(0, 40)] });
  return found.reduce((a, b) => (b[0] < a[0] ? b : a)) })()"""  # noqa: E501


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The board of the example database."""
    folder = tmp_path_factory.mktemp("board")
    outcome = call("board", "example", "--out", "site", cwd=folder)
    assert outcome.code == 0, outcome.err
    return folder / "site"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert CHROMIUM is not None
    with Browser(CHROMIUM) as opened:
        opened.size(1280, 900)
        yield opened


@pytest.fixture
def index(browser: Browser, site: Path) -> Browser:
    browser.open(site / "index.html")
    return browser


def entries(site: Path, of: str) -> list[dict[str, Any]]:
    """What the board says of its experiments, databases or models, as programs read it."""
    return json.loads((site / "board.json").read_text(encoding="utf-8"))[of]


def test_every_page_opens_without_an_error_or_a_request_and_every_link_leads_to_a_place(
    browser: Browser, site: Path
) -> None:
    ids, links = {}, {}
    for page in sorted(site.glob("*.html")):
        browser.open(page)
        assert browser.said() == [], page.name
        assert [address for address in browser.requests() if not address.startswith("data:")] == [page.as_uri()]
        ids[page.name], links[page.name] = set(browser.run(IDS)), browser.run(LINKS)
    assert len(ids) == len(entries(site, "experiments")) + 1
    for page_name, found in links.items():
        assert found, page_name
        for link in found:
            place = urlsplit(link)
            assert (place.scheme, Path(unquote(place.path)).parent) == ("file", site), link
            assert Path(place.path).name in ids, link
            assert not place.fragment or place.fragment in ids[Path(place.path).name], link


def test_the_index_names_all_experiments(index: Browser, site: Path) -> None:
    named = index.run("[...document.querySelectorAll('#experiments tbody th a')].map(each => each.textContent)")
    assert named == [of["name"] for of in entries(site, "experiments")]
    assert len(index.run(SHOWN)) == len(entries(site, "models"))


def test_a_click_and_a_key_on_the_score_sort_all_models(index: Browser) -> None:
    def expected(*, falling: bool) -> list[str | None]:
        numbers = [value for value in first if value is not None]
        return [*sorted(numbers, key=float, reverse=falling), *[None] * (len(first) - len(numbers))]

    first = index.run(SCORES)
    index.run(f"{SCORE}.querySelector('button').click()")
    assert (index.run(SCORES), index.run(f"{SCORE}.ariaSort")) == (expected(falling=True), "descending")
    index.run(f"{SCORE}.querySelector('button').focus()")
    index.key("Enter", 13)
    assert (index.run(SCORES), index.run(f"{SCORE}.ariaSort")) == (expected(falling=False), "ascending")
    index.key("Enter", 13)
    assert (index.run(SCORES), index.run(f"{SCORE}.ariaSort")) == (first, "none")


def test_fields_above_the_table_leave_the_rows_of_a_name_and_a_least_number(index: Browser) -> None:
    def enter(field: str, text: str) -> None:
        at = f"{FIELDS}.querySelector('{field}')"
        index.run(f"{at}.value = {text}; {at}.dispatchEvent(new Event('input'))")

    every = index.run(SHOWN)
    enter("input[type=search]", "'GLUE_tiny lsh'")
    named = index.run(SHOWN)
    assert named == [name for name in every if "glue_tiny" in name.lower() and "lsh" in name.lower()]
    assert 0 < len(named) < len(every)
    assert index.run(f"{FIELDS}.querySelector('output').textContent") == f"{len(named)} of {len(every)} rows"
    enter("input[type=search]", "''")
    enter("select", f"{SCORE}.cellIndex")
    enter("input[type=text]", "'70'")
    shown = index.run(f"{ROWS}.filter(row => !row.hidden).map(row => row.cells[{SCORE}.cellIndex].dataset.v)")
    assert shown and min(map(float, shown)) >= 70
    enter("input[type=text]", "'many'")
    assert index.run(f"{FIELDS}.querySelector('input[type=text]').ariaInvalid") == "true"
    assert index.run(SHOWN) == every


def test_a_number_of_the_index_leads_to_its_runs_and_a_page_leads_back(index: Browser, site: Path) -> None:
    models = entries(site, "models")
    scored = next(place for place, model in enumerate(models) if "score" in model)  # of others an average lacks a task
    number = f"{ROWS}[{scored}].cells[{SCORE}.cellIndex].querySelector('a')"
    link = index.run(f"{number}.href")
    index.follow(number)
    assert index.run("location.href") == link
    model = index.run("document.querySelector(':target th').textContent")
    assert model == models[scored]["model"]
    assert index.run("document.querySelectorAll(':target code').length") > 0
    index.follow("document.querySelector('.over a')")
    assert index.run("location.href") == (site / "index.html").as_uri()


def test_two_models_are_compared_on_the_page_of_an_experiment(browser: Browser, site: Path) -> None:
    browser.open(site / "curves_bytes.html")
    browser.run("document.querySelector('.compare').open = true")
    verdicts = browser.run("[...document.querySelectorAll('.compare tbody tr td:last-child')].map(e => e.textContent)")
    assert verdicts and all(text == "not separable" or text.startswith("differ: ") for text in verdicts)


@pytest.mark.parametrize("width", [360, 390, 820, 1440])
@pytest.mark.parametrize("name", ["index", "curves_bytes", "glue_tiny", "robustness_tiny"])
def test_only_the_tables_scroll_sideways(browser: Browser, site: Path, name: str, width: int) -> None:
    browser.size(width, 800)
    browser.open(site / f"{name}.html")
    assert browser.run("document.documentElement.scrollWidth <= innerWidth") is True
    browser.size(1280, 900)


def test_columns_of_sentences_are_no_strips_on_a_tablet(browser: Browser, site: Path) -> None:
    browser.size(820, 1180)
    browser.open(site / "index.html")
    widths = browser.run("[...document.querySelectorAll('.claims td.long')].map(td => td.offsetWidth)")
    boxes = browser.run("[...document.querySelectorAll('.claims')].map(table => "
                        "[table.scrollWidth, table.closest('.scroll').clientWidth])")  # fmt: skip
    assert min(widths) >= 120 and all(table <= box for table, box in boxes)  # and all columns are in sight
    browser.size(1280, 900)


@pytest.mark.parametrize("name", ["index", "glue_tiny", "curves_bytes"])
def test_all_text_can_be_read_on_white_and_dark_ground(browser: Browser, site: Path, name: str) -> None:
    browser.open(site / f"{name}.html")
    grounds = []
    for scheme in ("light", "dark"):
        browser.media(prefers_color_scheme=scheme)
        grounds.append(browser.run("getComputedStyle(document.body).backgroundColor"))
        least, *where = browser.run(CONTRAST)
        assert least >= LEAST_CONTRAST, where
    browser.media()
    assert grounds == ["rgb(255, 255, 255)", "rgb(20, 23, 27)"]


def test_it_is_whole_without_scripts(browser: Browser, site: Path) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(site / "index.html")
        assert browser.run(f"{ROWS}.length") == len(entries(site, "models"))
        assert browser.run("document.querySelectorAll('.filter').length") == 0  # no field that does nothing
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
