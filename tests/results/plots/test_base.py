"""A figure as SVG for a page: what it says of each model, and that it stands alone there."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hashbench.results.plots import robustness
from hashbench.results.plots.base import FigureData
from hashbench.results.plots.main import draw, page_figures
from hashbench.results.read.robustness import measure_robustness
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest, ReportSource
from hashbench.store.engine import Store, open_store
from tests.databases.made_up import World, build

TITLE, TEXT = "{http://www.w3.org/2000/svg}title", "{http://www.w3.org/2000/svg}text"
EXAMPLE = Path(__file__).parents[3] / "results.db.example"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    world = World(tasks=("cola", "sst2"), seeds=(0, 1), name="a <b> & 'c'", notes={"sst2": {"origin": "builtin"}})
    return build(tmp_path_factory.mktemp("inline") / "results.db", world)


@pytest.fixture(scope="module")
def svgs(store: Store) -> dict[str, str]:
    """Every figure of the experiment."""
    return {figure.name: figure.svg for figure in page_figures(ReportSource(store))}


def titles(svg: str) -> list[str]:
    """What the pointer can read."""
    return [title.text or "" for title in ElementTree.fromstring(svg).iter(TITLE)]


def test_each_point_of_a_pareto_figure_says_model_score_and_cost(svgs: dict[str, str], store: Store) -> None:
    row = next(row for row in tables(store)[0].rows if row.model == "hashformer-lsh-proj")
    average = row.cells["average"]
    text = f"hashformer-lsh-proj\naverage score: {average.value:.2f} ± {average.std:.2f}\nembedding parameters: 99.1K"
    assert text in titles(svgs["pareto_parameters"])


def test_each_marker_of_a_curve_says_its_step_and_mean(svgs: dict[str, str]) -> None:
    found = [text for text in titles(svgs["curves_finetuning"]) if text.startswith("bert-mlm\n")]
    assert "bert-mlm\nstep 200: 54.3 ± 0.28" in found  # of 54.1 and 54.5
    assert len(found) == 2 * 3  # tasks, evaluations


def test_shares_and_times_name_their_models(svgs: dict[str, str]) -> None:
    assert "bert-mlm\nembedding: 31.0 %  of 124.6M" in titles(svgs["shares"])
    assert any(re.fullmatch(r"bert-mlm\n[\d.]+ ms a sample, speed-up 1.00x", one) for one in titles(svgs["latency"]))


@pytest.mark.parametrize(
    ("name", "experiment", "text"),
    [("robustness", "robustness_tiny", r"bert-mlm\n5 % of words changed: \d+\.\d\d \[\d+\.\d\d, \d+\.\d\d\]"),
],
)  # fmt: skip
def test_figures_of_other_experiments_name_their_models(
    name: str, experiment: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(robustness, "measure_robustness", partial(measure_robustness, draws=20))
    example = open_store(EXAMPLE, create=False, read_only=True)
    (drawn,) = draw(name, FigureData(example, ReportRequest(experiment), "single", alone=False))
    assert any(re.fullmatch(text, one) for one in titles(drawn.svg))


def test_the_same_figure_is_the_same_text(store: Store, svgs: dict[str, str]) -> None:
    assert {figure.name: figure.svg for figure in page_figures(ReportSource(store))} == svgs


def test_figures_of_one_page_share_no_id(svgs: dict[str, str]) -> None:
    ids = [one for svg in svgs.values() for one in re.findall(r'\bid="([^"]+)"', svg)]
    assert ids and len(ids) == len(set(ids))


def test_text_is_text_and_what_a_page_says_itself_is_left_to_it(svgs: dict[str, str], store: Store) -> None:
    words = " ".join("".join(text.itertext()) for text in ElementTree.fromstring(svgs["curves_finetuning"]).iter(TEXT))
    assert "bert-mlm" in words and "cola" in words
    assert "BUILT-IN DATA" not in words and "seeds" not in words
    figure = next(one for one in page_figures(ReportSource(store)) if one.name == "curves_finetuning")
    assert figure.title == "learning curves, fine-tuning" and "seeds 0, 1" in figure.note
    assert "encoder" not in figure.note  # the page says it once, below its tables
    alone = next(one for one in draw("curves", FigureData(store)) if one.name == "curves_finetuning")
    assert "encoder: base" in alone.note


def test_files_hold_no_tips(store: Store, tmp_path: Path) -> None:
    figures = draw("curves", FigureData(store))
    assert figures
    for drawn in figures:
        assert "step 200" not in drawn.save(tmp_path, "svg").read_text()
