"""Which models lie on the front, and which points are drawn."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from hashbench.results.papers.paper import Column
from hashbench.results.plots.base import FigureData, NothingToDraw
from hashbench.results.plots.pareto import COSTS, CostPoint, _differ, _meaning_of_bars, _scale, draw, front, points_of
from hashbench.results.plots.sheet import FURTHER
from hashbench.results.tables.report import tables
from hashbench.results.tables.table import Cell, ComparedPairs, Row, Table
from hashbench.store.engine import Store
from tests.databases.made_up import World, build

MODELS = ("bert-mlm", "bert-sr", "hashformer-lsh-proj", "hashformer-md-pool")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return build(tmp_path_factory.mktemp("pareto") / "results.db", World(models=MODELS, tasks=("cola", "rte")))


def test_a_point_that_is_dearer_and_no_better_is_not_on_the_front() -> None:
    points = [CostPoint("dear", 3, 5), CostPoint("cheap", 1, 5), CostPoint("best", 2, 6), CostPoint("worse", 2, 5.5)]
    assert [point.name for point in front(points)] == ["cheap", "best"]


def test_points_are_read_from_the_experiments_own_table(store: Store) -> None:
    points = {point.name: point for point in points_of(tables(store)[0], "emb_params")}
    assert points["hashformer-lsh-proj"].cost == pytest.approx(99_100)  # as printed
    assert points["hashformer-lsh-proj"].score == pytest.approx((56.2 + 63.4) / 2)
    assert points["hashformer-lsh-proj"].reach == pytest.approx(0.4)  # no predictions are stored, so no interval
    assert not points["hashformer-lsh-proj"].interval
    assert set(points) == set(MODELS)


def test_each_model_is_drawn_at_its_cost_and_score_and_named(store: Store) -> None:
    figure = next(one.figure for one in draw(FigureData(store)) if one.name == "pareto_parameters")
    axes = figure.axes[0]
    drawn = {(line.get_xdata()[0], round(line.get_ydata()[0], 6)) for line in axes.lines if len(line.get_xdata()) == 1}
    points = points_of(tables(store)[0], "emb_params")
    assert {(point.cost, round(point.score, 6)) for point in points} <= drawn
    assert set(MODELS) <= {text.get_text() for text in figure.legends[0].get_texts()}


def test_among_many_models_those_on_the_front_and_the_baseline_are_named(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    best = {point.name for point in front(points_of(tables(store)[0], "emb_params"))}
    monkeypatch.setattr("hashbench.results.plots.sheet.LABELLED_MODELS", len(best | {"bert-mlm"}))
    drawn = next(of for of in draw(FigureData(store)) if of.name == "pareto_parameters")
    names = {text.get_text() for text in drawn.figure.legends[0].get_texts()} & set(MODELS)
    assert names == best | {"bert-mlm"} != set(MODELS)
    assert f"grey: {len(MODELS) - len(names)} further" in drawn.note


def test_models_of_one_cost_are_drawn_side_by_side(tmp_path: Path) -> None:
    names = tuple(f"hashformer-{kind}" for kind in ("md-emb-50k", "lsh-emb-50k"))
    same = build(tmp_path / "r.db", World(models=("bert-mlm", "hashformer-md-pool", *names), tasks=("cola",)))
    axes = next(one.panels[0] for one in draw(FigureData(same)) if one.name == "pareto_parameters")
    axes.figure.draw_without_rendering()  # type: ignore[union-attr]
    marks = [line for line in axes.lines if line.get_linestyle() == "None" and line.get_marker() != "_"]
    by_cost: dict[float, list[float]] = defaultdict(list)
    for line in marks:
        by_cost[float(line.get_xdata()[0])].append(line.get_transform().transform(line.get_xydata())[0][0])
    crowd = max(by_cost.values(), key=len)
    assert len(crowd) > 1 and min(abs(one - other) for one, other in combinations(crowd, 2)) > 4  # pixels


def test_a_model_without_a_label_stays_at_its_cost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hashbench.results.plots.sheet.LABELLED_MODELS", 2)
    names = ("bert-mlm", "hashformer-md-pool", "hashformer-md-emb-50k", "hashformer-lsh-emb-50k")
    same = build(tmp_path / "r.db", World(models=names, tasks=("cola",)))
    axes = next(one.panels[0] for one in draw(FigureData(same)) if one.name == "pareto_parameters")
    axes.figure.draw_without_rendering()  # type: ignore[union-attr]
    grey = [line for line in axes.lines if line.get_color() == FURTHER and line.get_marker() == "o"]
    assert len(grey) == 2
    for line in grey:
        drawn, at_cost = (of.transform(line.get_xydata())[0][0] for of in (line.get_transform(), axes.transData))
        assert drawn == pytest.approx(at_cost)


def test_an_axis_with_an_embedding_without_parameters_has_three_labels_that_do_not_touch() -> None:
    for costs in ([0.0, 3.9e6], [0.0, 16_512.0, 6.4e6], [0.0, 5.0]):
        axes = Figure().subplots()
        axes.plot(costs, costs)
        _scale(axes, COSTS[0], costs)
        ticks = axes.get_xticks()
        assert len(ticks) >= 3 and ticks[0] == 0 and all(b == 10 * a for a, b in pairwise(ticks[1:]))
        assert max(costs) <= axes.get_xlim()[1]


def test_a_compared_model_has_its_interval_and_another_one_its_deviation() -> None:
    columns = (Column("emb_params", "count", "size"), Column("score", "percent", "score"))
    rows = [Row(name, name, {"emb_params": Cell(10.0), "score": Cell(50.0, std=0.5)}) for name in ("a", "b", "c")]
    compared = ComparedPairs(
        "score",
        "",
        (("a", ""), ("b", "")),
        (50.0, 50.0),
        ((0.0, 0.0), (0.0, 0.0)),
        ((0.0, 3.0), (3.0, 0.0)),
        (2.0, 1.5),
    )
    points = points_of(Table("", "own", "", "", columns, tuple(rows), pairs=(compared,)), "emb_params")
    assert [(point.reach, point.interval) for point in points] == [(2.0, True), (1.5, True), (0.5, False)]
    assert _meaning_of_bars(points)[0].endswith("or sd over seeds where a model is not compared")
    assert _meaning_of_bars(points[:2]) == ["bars: 95 % interval over seeds and examples"]


def test_models_of_one_size_have_no_front() -> None:
    assert _differ([CostPoint("a", 100.0, 5), CostPoint("b", 300.0, 6)])
    assert not _differ([CostPoint("a", 799_900.0, 5), CostPoint("b", 800_000.0, 6)])
    assert not _differ([CostPoint("a", 100.0, 5)])


def test_without_sizes_there_is_nothing_to_draw(tmp_path: Path) -> None:
    bare = build(tmp_path / "r.db", World(models=("bert-mlm",), tasks=("cola",), seeds=(0,), efficiency=False))
    with pytest.raises(
        NothingToDraw,
        match="no measured cost sets two models apart: 0 have a score and a stored size; finish the sweep, set `eff",
    ):
        draw(FigureData(bare))
