"""A board of a database: its pages, what links them, what a stranger's names cannot do, and its JSON."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace

import pytest

from hashbench.results.rendering.page.board import site
from hashbench.results.rendering.page.data import lacking_of
from hashbench.store.engine import Store, open_store
from hashbench.store.planning import add_experiment
from hashbench.store.status import experiment_names, versions
from tests.databases.made_up import World, build, specs
from tests.results.rendering.page.test_main import EVIL, Balance, data_of

EXAMPLE = Path(__file__).parents[4] / "results.db.example"
NAMES = ("../../escape", "Made-up", "made-up")
SECTIONED = {"budget": {"embedding_parameters": 12_800_000}}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Experiments of hostile and of colliding names; one name has two versions."""
    made = World(tasks=("cola", "sst2"), seeds=(0, 1), name=EVIL, failed={("hashformer-lsh-proj", "cola", 1)},
                 notes={"sst2": {"data": EVIL, "origin": "builtin"}}, examples={"cola": 40, "sst2": 40})  # fmt: skip
    store = build(tmp_path_factory.mktemp("board") / "results.db", made)
    for name in (*NAMES, "made-up"):
        world = World(tasks=("cola",), seeds=(0, 1), name=name)
        config = {"name": name, "data": "hub", "encoder": "base", **SECTIONED}
        rows = specs(world) if (name, len(versions(store))) != ("made-up", 4) else specs(world)[:-1]
        add_experiment(store, name, config, rows, baseline="bert-mlm")
    return store


@pytest.fixture(scope="module")
def files(store: Store) -> dict[str, str]:
    return dict(site(store))


def finished(files: dict[str, str]) -> dict[str, str]:
    """The entry of the experiment that was swept."""
    pages = [of for of in json.loads(files["board.json"])["experiments"] if of["name"] == EVIL]
    return max(pages, key=lambda of: of["finished_runs"])


def test_files_have_safe_and_distinct_names(files: dict[str, str], store: Store) -> None:
    assert len(files) == 2 * len(experiment_names(store)) + 2
    assert len({name.lower() for name in files}) == len(files)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+\.(html|json)", name) for name in files)


def test_every_link_leads_to_a_place_of_the_board_and_nothing_leads_elsewhere(files: dict[str, str]) -> None:
    pages = {name: text for name, text in files.items() if name.endswith(".html")}
    ids = {name: set(re.findall(r'\bid="([^"]+)"', text)) for name, text in pages.items()}
    for name, text in pages.items():
        balance = Balance()
        balance.feed(text)
        assert balance.open == []
        links = [str(of[key]) for tag, of in balance.seen for key in ("href", "src") if key in of and tag != "link"]
        assert links
        for link in links:
            page, _, anchor = link.partition("#")
            assert not anchor or anchor in ids[page or name], link
            assert not page or page in pages, link


def test_names_are_text_and_only_the_pages_own_scripts_run(files: dict[str, str]) -> None:
    for name, text in files.items():
        if name.endswith(".html"):
            assert "<b title" not in text and "alert(1)</script>" not in text
            policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
            assert policy is not None and policy[1].startswith("default-src 'none'; script-src 'sha256-")
            assert "script-src 'unsafe" not in policy[1]
            scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
            digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
            assert re.findall(r"'sha256-([^']+)'", policy[1]) == digests and len(digests) == 2


def test_the_index_names_the_best_and_what_it_is_tied_with_and_what_was_not_run(files: dict[str, str]) -> None:
    board = json.loads(files["board.json"])
    best = next(of for of in board["best"] if of["experiment"] == EVIL and not of["not_compared"])
    assert {best["model"], *best["not_separable"]} <= set(World().models)
    page = finished(files)
    whole = json.loads(files[page["json"]])
    assert {"what": "1 run", "why": "failed", "models": ["hashformer-lsh-proj on cola"]} in whole["not_run"]
    text = files[page["page"]]
    assert "hashformer-lsh-proj on cola" in text.partition('id="lacking"')[2].partition("</section>")[0]
    assert EVIL not in text


def test_the_index_says_what_scores_are_not(files: dict[str, str]) -> None:
    """An experiment on generated data is named so at its best model, each model, and in the list."""
    warned = [line["name"] for line in json.loads(files["board.json"])["experiments"] if line["warnings"]]
    assert warned, "the store has generated data"
    assert files["index.html"].count("built-in data") >= 3


def test_a_cell_leads_to_its_runs_with_code_and_data_without_a_script(files: dict[str, str], store: Store) -> None:
    page = finished(files)
    text = files[page["page"]]
    first = re.search(r'<tr data-row="0".*?</tr>', text, re.DOTALL)
    assert first is not None
    anchors = re.findall(r'href="#(runs-\d+)"', first[0])
    row = re.search(f'<tr id="{anchors[1]}">.*?</tr>', text, re.DOTALL)  # after the average
    assert row is not None and "bert-mlm" in row[0] and "0123456789ab" in row[0]
    runs = store.query("SELECT id, data_fingerprint FROM run WHERE model = 'bert-mlm' AND task = 'sst2'")
    of_task = [run for run in runs if run["id"][:8] in row[0]]
    assert of_task and all(run["data_fingerprint"][:12] in row[0] for run in of_task)
    assert {run["id"] for run in of_task} <= {run["id"] for run in json.loads(files[page["json"]])["runs"]}


def test_pairs_of_models_have_an_interval_that_agrees_with_the_groups(files: dict[str, str]) -> None:
    page = finished(files)
    table = data_of(files[page["page"]])["tables"]["own-0"]
    assert table["pairs"]
    for pairs in table["pairs"]:
        n = len(pairs["rows"])
        assert len(pairs["means"]) == len(pairs["half"]) == n
        assert [len(row) for row in pairs["half"]] == list(range(n))
        assert all(half > 0 for row in pairs["half"] for half in row)
        for place, mean in zip(pairs["rows"], pairs["means"], strict=True):
            row = re.search(f'<tr data-row="{place}".*?</tr>', files[page["page"]], re.DOTALL)
            assert row is not None
            value = re.findall('<td(?: data-v="(.*?)")?', row[0])[pairs["column"]]
            assert float(value) == pytest.approx(mean, abs=0.3)  # made-up predictions have about the scores


def test_runs_that_are_not_finished_are_counted_by_state() -> None:
    runs = [SimpleNamespace(state=state, model="m", task=f"t{place}", kind="finetune")
            for place, state in enumerate(["done", "failed", "planned", "planned"])]  # fmt: skip
    lacking = lacking_of([], SimpleNamespace(runs=runs))  # type: ignore[arg-type]
    assert [(of.what, of.why, of.text) for of in lacking] == [
        ("1 run", "failed", "1 of 4: m on t1"),
        ("2 runs", "planned", "2 of 4: m on t2, m on t3"),
    ]


def test_the_same_database_makes_the_same_board(files: dict[str, str], store: Store) -> None:
    assert dict(site(store)) == files


def test_a_board_of_nothing_is_an_index(tmp_path: Path) -> None:
    store = build(tmp_path / "results.db", World(tasks=("cola",), seeds=(0,), floors=False, efficiency=False))
    names = dict(site(store))
    assert set(names) == {"index.html", "board.json", "made-up.html", "made-up.json"}


def test_the_largest_experiment_comes_first(files: dict[str, str]) -> None:
    board = json.loads(files["board.json"])
    sizes = [
        (len({run["model"] for run in whole["runs"] if "seed" in run}), len({run.get("task") for run in whole["runs"]}))
        for whole in (json.loads(files[of["json"]]) for of in board["experiments"])
    ]
    assert sizes == sorted(sizes, reverse=True) and len(set(sizes)) > 1


def test_models_differ_by_their_average(files: dict[str, str]) -> None:
    text = files[finished(files)["page"]]
    columns = [of["column"] for of in data_of(text)["tables"]["own-0"]["pairs"]]
    assert columns == sorted(columns)


def test_the_newest_version_of_a_name_has_a_page_and_counts_the_earlier_ones(
    files: dict[str, str], store: Store
) -> None:
    board = json.loads(files["board.json"])
    newest = {of.name: mark for of, mark in reversed(versions(store))}
    assert {of["name"]: of["fingerprint"] for of in board["experiments"]} == newest
    assert {of["name"]: of["earlier"] for of in board["experiments"]} == {**dict.fromkeys(newest, 0), "made-up": 1}
    assert files["index.html"].count("and 1 earlier") == 1
    assert f"version {newest['made-up'][:8]}, and 1 earlier" in files["index.html"]
    said = "the version that was swept last is shown; 1 earlier version is left out (hashbench list --all)"
    assert said in files["index.html"]


def test_the_table_of_all_models_has_one_floor_of_each_experiment(files: dict[str, str]) -> None:
    board = json.loads(files["board.json"])
    floors = [of for of in board["models"] if "trivial baseline" in of["where"]]
    assert [of["where"].count("best trivial baseline") for of in floors] == [1] * len(floors)
    (floor,) = [of for of in floors if of["experiment"] == EVIL]
    cells = [cell for table in json.loads(files[finished(files)["json"]])["tables"] for cell in table["cells"]]
    of_tasks: dict[str, list[float]] = {}
    for cell in cells:
        if cell["model"] in ("majority", "bag-of-words") and cell["column"] in ("cola", "sst2") and cell["value"]:
            of_tasks.setdefault(cell["column"], []).append(cell["value"])
    assert len(of_tasks) == 2
    assert floor["score"]["value"] == pytest.approx(fmean(max(values) for values in of_tasks.values()), abs=1e-6)


def test_a_floor_that_all_experiments_of_a_task_share_is_one_line_above_them() -> None:
    files = dict(site(open_store(EXAMPLE, create=False, read_only=True)))
    tasks = files["index.html"].partition('id="tasks"')[2].partition("</section>")[0]
    sst2, ag_news = (tasks.partition(f">{task}</h3>")[2].partition("<h3")[0] for task in ("sst2", "ag_news"))
    assert sst2.count("bag-of-words 83.3") == 1 and ">best trivial baseline</th>" not in sst2
    assert ag_news.count("bag-of-words") > 1 and ">best trivial baseline</th>" in ag_news  # on other samples
    board = json.loads(files["board.json"])
    names = [of["experiment"] for of in board["models"] if "best trivial baseline" in of["where"]]
    assert len(names) == len(set(names)) > 10
    assert (
        "<h1>embeddings_<wbr>tiny_<wbr>common</h1>" in files["embeddings_tiny_common.html"]
    )  # a phone breaks it there


def test_the_licence_of_data_is_that_of_its_card_and_else_not_stated(tmp_path: Path) -> None:
    notes = {
        "cola": {"origin": "hub a/a", "data": "on the hub: config de, licence cc-by-4.0, other, 12.5 KB of files"},
        "sst2": {"origin": "hub acme/b@01", "data": "on the hub: licence not declared, 3.0 MB of files"},
    }  # fmt: skip
    store = build(tmp_path / "r.db", World(models=("bert-mlm",), tasks=("cola", "sst2"), seeds=(0,), notes=notes))
    files = dict(site(store))
    (experiment,) = json.loads(files["board.json"])["experiments"]
    assert experiment["data_licences"] == {"cc-by-4.0, other": ["cola"], "not stated": ["sst2"]}
    shown = files["index.html"].partition('data-head="licence of the data">')[2].partition("</td>")[0]
    assert shown == "cc-by-4.0, other: cola; not stated: sst2"
    assert "Licence of the results: not stated" in files["index.html"]
