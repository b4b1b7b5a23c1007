"""A figure is one file: put beside the others, it is drawn as a file and stands on the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.results.plots.base import find_plot
from hashbench.results.plots.main import page_figures, plot
from hashbench.results.tables.request import ReportSource
from hashbench.store.engine import Store
from tests.databases.made_up import World, build

TOY = '''
"""One bar: how many models there are."""

from hashbench.results.plots.base import Plot, tip
from hashbench.results.plots.sheet import sheet


def draw(data):
    drawn = sheet(data, "toy", "number of models", height=1.0)
    n = len(data.measured.labels())
    (bar,) = drawn.panels[0].barh(0, n)
    tip(bar, f"{n} models")
    return [drawn]


PLOT = Plot("toy", "number of models", draw)
'''


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return build(tmp_path / "results.db", World(models=("bert-mlm",), tasks=("cola",), seeds=(0,)))


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "toys").mkdir()
    (tmp_path / "toys" / "toy.py").write_text(TOY)
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(tmp_path / "toys"))


@pytest.mark.usefixtures("toy")
def test_a_figure_is_one_file(store: Store, tmp_path: Path) -> None:
    assert [file.name for file in plot(store, ["toy"], folder=tmp_path).files] == ["toy.png"]
    figure = next(figure for figure in page_figures(ReportSource(store)) if figure.name == "toy")
    assert figure.title == "number of models" and "title>1 models</" in figure.svg


def test_an_unknown_name_is_told_the_near_one() -> None:
    message = "no figure 'paretto'; did you mean 'pareto'\\?.*there are: curves, differences"
    with pytest.raises(InputError, match=message):
        find_plot("paretto")
