"""The page in a real browser: no error, no request, sorting, the panel behind a cell, phones, paper and dark rooms."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hashbench.results.plots.main import page_figures
from hashbench.results.rendering.page.main import page
from hashbench.store.engine import Store
from tests.browser import Browser, find_chromium
from tests.databases.made_up import World, build

CHROMIUM = find_chromium()
pytestmark = [
    pytest.mark.services,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine (apt-get install chromium)"),
]
EVIL = '</script><script>window.harmed=1</script><img src=x onerror="window.harmed=2">'
MODELS = "[...document.querySelectorAll('#own-0 tbody:first-of-type tr[data-row] th')]"
NAMES = f"{MODELS}.map(one => one.textContent.trim())"
RUNS = "[...document.querySelectorAll('#panel-body [data-run]')].map(one => [one.dataset.run, one.textContent])"
WAIT = "new Promise(done => setTimeout(done, 300))"
HEAD = "document.querySelector('#own-0 thead th[data-name=\"sst2\"]')"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    world = World(tasks=("cola", "sst2"), seeds=(0, 1), notes={"sst2": {"origin": "builtin", "data": EVIL}})
    return build(tmp_path_factory.mktemp("page") / "results.db", world)


@pytest.fixture(scope="module")
def opened(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    file = tmp_path_factory.mktemp("page") / "page.html"
    file.write_text(page(store, figures=page_figures), encoding="utf-8")
    assert CHROMIUM is not None
    with Browser(CHROMIUM) as browser:
        browser.size(1280, 900)
        browser.open(file)
        yield browser


def scores(store: Store, task: str) -> dict[str, float]:
    """Each model's mean over seeds, asked of the database in another way than the report does."""
    rows = store.query("SELECT model, value FROM scores_by_model WHERE own = 1 AND task = :t AND checkpoint = 'best' "
                       "AND model NOT IN ('majority', 'bag-of-words')", t=task)  # fmt: skip
    return {row["model"]: row["value"] for row in rows}


def test_it_opens_without_an_error_or_a_request_and_runs_nothing_of_the_data(opened: Browser) -> None:
    assert opened.said() == []
    assert [address for address in opened.requests() if not address.startswith(("file:", "data:"))] == []
    assert sum(address.startswith("file:") for address in opened.requests()) == 1
    assert opened.run("window.harmed === undefined") is True


def test_a_click_and_a_key_on_a_head_sort_the_models(opened: Browser, store: Store) -> None:
    found = scores(store, "sst2")
    falling = sorted(found, key=lambda model: -found[model])
    first = opened.run(NAMES)
    opened.run(f"{HEAD}.querySelector('button').click()")
    assert (opened.run(NAMES), opened.run(f"{HEAD}.getAttribute('aria-sort')")) == (falling, "descending")
    opened.run(f"{HEAD}.querySelector('button').focus()")
    opened.key("Enter", 13)
    assert (opened.run(NAMES), opened.run(f"{HEAD}.getAttribute('aria-sort')")) == (falling[::-1], "ascending")
    opened.key("Enter", 13)
    assert (opened.run(NAMES), opened.run(f"{HEAD}.getAttribute('aria-sort')")) == (first, "none")


def test_a_cell_equals_the_database_and_its_panel_names_the_runs(opened: Browser, store: Store) -> None:
    opened.run("document.querySelector('#own-0 tr[data-row=\"0\"] td:nth-of-type(2) .c').click()")
    value = opened.run("document.querySelector('#panel-body .v').textContent")
    assert value == f"{100 * scores(store, 'sst2')['bert-mlm']:.1f}"
    assert opened.run("document.getElementById('panel').open") is True
    runs = store.query("SELECT run_id, value FROM scores WHERE own = 1 AND task = 'sst2' AND model = 'bert-mlm' "
                       "AND checkpoint = 'best' ORDER BY seed")  # fmt: skip
    shown = opened.run(RUNS)
    assert shown == [[row["run_id"][:16], f"{100 * row['value']:.2f}"] for row in runs]
    said = opened.run("document.getElementById('panel-body').textContent")
    assert "0123456789abcdef" in said and "2 x CPU" in said and "data-sst2" in said  # commit, machine, data
    opened.key("Escape", 27)
    assert opened.run("document.getElementById('panel').open") is False


def test_arrow_keys_go_from_cell_to_cell(opened: Browser) -> None:
    opened.run("document.querySelector('#own-0 tr[data-row=\"0\"] td .c').focus()")
    opened.key("ArrowDown", 40)
    opened.key("ArrowRight", 39)
    place = "[document.activeElement.closest('tr').dataset.row, document.activeElement.closest('td').cellIndex]"
    assert opened.run(place) == ["1", 2]
    assert opened.run("document.querySelectorAll('#own-0 td .c[tabindex=\"0\"]').length") == 1


def test_hovering_a_point_reads_it_out(opened: Browser, store: Store) -> None:
    opened.run("document.getElementById('pareto_parameters').scrollIntoView({behavior: 'instant'})")
    opened.run(WAIT)
    text = opened.run(
        "(() => { const named = [...document.querySelectorAll('#pareto_parameters g > title')]"
        ".find(title => title.textContent.startsWith('bert-mlm'));"
        "const box = named.parentElement.querySelector('use').getBoundingClientRect();"
        "const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);"
        "return hit.closest('g:has(> title)').querySelector('title').textContent })()"
    )
    mean = 100 * (scores(store, "cola")["bert-mlm"] + scores(store, "sst2")["bert-mlm"]) / 2
    assert text.startswith("bert-mlm\n") and f"average score: {mean:.2f}" in text


@pytest.mark.parametrize("width", [360, 390, 820, 1440])
def test_only_the_tables_scroll_sideways(opened: Browser, width: int) -> None:
    opened.size(width, 800)
    assert opened.run("document.documentElement.scrollWidth <= innerWidth") is True
    opened.run("document.querySelector('.scroll').scrollLeft = 200")
    stays = "Math.abs(document.querySelector('#own-0 tbody tr[data-row] th').getBoundingClientRect().left - " \
            "document.querySelector('.scroll').getBoundingClientRect().left) < 1"  # fmt: skip
    assert opened.run(stays) is True
    opened.size(1280, 900)


def test_dark_rooms_and_paper_have_their_own_look(opened: Browser) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    opened.media(prefers_color_scheme="dark")
    assert opened.run(ground) == "rgb(20, 23, 27)"
    opened.media("print", prefers_color_scheme="dark")
    assert opened.run(ground) == "rgb(255, 255, 255)"
    assert opened.run("getComputedStyle(document.querySelector('nav')).display") == "none"
    opened.media()


def test_figures_fit_their_column_and_are_light_letters_on_dark_ground(opened: Browser) -> None:
    opened.size(390, 800)
    wide = "[...document.querySelectorAll('figure svg')].every(svg => svg.getBoundingClientRect().right <= innerWidth)"
    assert opened.run(wide) is True
    turned = "getComputedStyle(document.querySelector('#shares svg')).filter"
    assert opened.run(turned) == "none"
    opened.media(prefers_color_scheme="dark")
    assert opened.run(turned).startswith("invert(")
    opened.media("print", prefers_color_scheme="dark")
    assert opened.run(turned) == "none"
    opened.media()
    opened.size(1280, 900)


def test_the_text_can_be_read_by_its_contrast(opened: Browser) -> None:
    ratio = """(() => {
      const light = (c) => { const v = c.match(/[\\d.]+/g).slice(0, 3).map(x => x / 255).map(x => x <= .04045 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4);
        return .2126 * v[0] + .7152 * v[1] + .0722 * v[2] };
      const ground = light(getComputedStyle(document.body).backgroundColor);
      return Math.min(...['.small', '.sub', '.p', '.name', '.facts', 'nav a'].map((each) => {
        const ink = light(getComputedStyle(document.querySelector(each)).color);
        return (Math.max(ink, ground) + .05) / (Math.min(ink, ground) + .05) })) })()"""  # noqa: E501
    for scheme in ("light", "dark"):
        opened.media(prefers_color_scheme=scheme)
        assert opened.run(ratio) >= 4.5  # WCAG AA
    opened.media()
