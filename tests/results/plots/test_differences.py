"""Differences to the baseline: one panel each average that is named and each task in none, points with intervals."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.results.plots.base import FigureData, NothingToDraw
from hashbench.results.plots.differences import draw
from hashbench.results.read.comparison import compare
from hashbench.results.tables.request import ReportRequest
from tests.results.claims.world import Answers, build

SHARES = {"bert-mlm": 0.8, "b": 0.9, "c": 0.7}


def _runs(*tasks: str, seeds: int = 3) -> list[Answers]:
    return [
        Answers(model, share, seed, task) for task in tasks for seed in range(seeds) for model, share in SHARES.items()
    ]


def test_a_point_is_the_difference_of_compare_and_the_floor_is_a_line(tmp_path: Path) -> None:
    floors = [Answers("bag-of-words", 0.85, None, task) for task in ("sst2", "rte", "cola")]
    config = {"averages": {"two": ["sst2", "rte"]}, "tasks": ["sst2", "rte", "cola"]}
    store = build(tmp_path / "r.db", [*_runs("sst2", "rte", "cola"), *floors], **config)
    (drawn,) = draw(FigureData(store, ReportRequest(examples=True)))
    assert [axes.get_title() for axes in drawn.panels] == ["two", "CoLA"]
    cola = drawn.panels[1]
    assert [text.get_text() for text in drawn.panels[0].get_yticklabels()] == ["b", "c"]
    found = {line.get_ydata()[0]: line.get_xdata()[0] for line in cola.lines if line.get_marker() == "o"}
    of_compare = {
        place: 100
        * next(line for line in compare([store], model, "bert-mlm").lines if line.task == "cola").difference.value
        for place, model in enumerate(("b", "c"))
    }
    assert found == pytest.approx(of_compare)
    dashed = [line.get_xdata()[0] for line in cola.lines if line.get_linestyle() == "--"]
    assert dashed == pytest.approx([100 * (0.85 - 0.8)])


def test_models_with_other_seeds_are_compared_on_those_of_both_as_compare_does(tmp_path: Path) -> None:
    """Its further seeds are worse: the difference of the means of all is another one."""
    runs = [Answers("bert-mlm", share, seed) for seed, share in enumerate((0.8, 0.81, 0.5, 0.52))]
    store = build(tmp_path / "r.db", [*runs, *(Answers("b", share, seed) for seed, share in enumerate((0.9, 0.92)))])
    data = FigureData(store, ReportRequest(examples=True))
    (drawn,) = draw(data)
    (point,) = (line.get_xdata()[0] for line in drawn.panels[-1].lines if line.get_marker() == "o")
    of_compare = 100 * compare([store], "b", "bert-mlm").lines[0].difference.value
    (pairs, *_) = data.table.pairs
    assert point == pytest.approx(of_compare) and abs(point - abs(pairs.means[0] - pairs.means[1])) > 10


def test_one_seed_has_no_differences(tmp_path: Path) -> None:
    store = build(tmp_path / "r.db", _runs("sst2", seeds=1))
    with pytest.raises(NothingToDraw, match="no column compares bert-mlm with another model"):
        draw(FigureData(store, ReportRequest(examples=True)))


def test_a_baseline_that_is_no_model_is_named_with_the_key_to_write(tmp_path: Path) -> None:
    runs = [answers for answers in _runs("cola") if answers.model != "bert-mlm"]
    store = build(tmp_path / "r.db", runs, tasks=["cola"])
    with pytest.raises(NothingToDraw, match="compares bert-mlm .* no model of the experiment; write baseline: [bc]$"):
        draw(FigureData(store, ReportRequest(examples=True)))
