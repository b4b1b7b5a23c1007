"""Learning curves from the stored metrics."""

from __future__ import annotations

from functools import partial

import pytest

from hashbench.results.plots.base import FigureData, NothingToDraw
from hashbench.results.plots.curves import _of_points, draw
from hashbench.results.read.curves import curves
from hashbench.results.read.measured import measure
from hashbench.store.engine import Store
from tests.databases.made_up import World, build


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return build(tmp_path_factory.mktemp("curves") / "results.db", World(tasks=("cola", "subj"), seeds=(0, 1)))


def test_curves_hold_the_reported_metric_of_every_evaluation_and_seed(store: Store) -> None:
    found = {one.name: one for one in curves(measure(store))}["curves_finetuning"]
    assert sorted(found.panels) == ["cola", "subj"]
    curve = found.panels["cola"]["bert-mlm"]
    assert sorted(curve) == [100, 200, 300]
    assert curve[200] == [pytest.approx(0.541), pytest.approx(0.545)]
    assert curve[300] == [pytest.approx(0.531), pytest.approx(0.535)]
    assert (found.labels["cola"], found.scale) == ("matthews, percent", 100.0)


def test_a_panel_a_task_with_the_means_over_seeds(store: Store) -> None:
    figure = {one.name: one.figure for one in draw(FigureData(store))}["curves_finetuning"]
    panels = {axes.get_title(): axes for axes in figure.axes if axes.get_title()}
    assert list(panels) == ["cola", "subj"]
    assert any(line.get_ydata()[1] == pytest.approx(54.3) for line in panels["cola"].lines)


def test_another_metric_of_training_can_be_drawn(store: Store) -> None:
    assert len(draw(FigureData(store), metric="loss")) == 2


def test_an_unknown_metric_has_no_curve(store: Store) -> None:
    with pytest.raises(NothingToDraw, match="no curve 'lss'"):
        partial(draw, metric="lss")(FigureData(store))


def test_one_evaluation_is_no_curve() -> None:
    """A panel whose models have one point each is left out, and so is such a model of another panel."""
    line: dict[int, list[float]] = {5: [0.5], 9: [0.6]}
    panels = {"cola": {"m": line, "once": {9: [0.7]}}, "sst2": {"m": {9: [0.5]}, "once": {9: [0.7]}}}
    assert _of_points(panels) == {"cola": {"m": line}}
