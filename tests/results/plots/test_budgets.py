"""The figure of score against embedding parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.results.plots.base import FigureData, NothingToDraw
from hashbench.results.plots.budgets import draw, lines_of, spreads
from hashbench.results.read.budgets import recorded_budgets
from hashbench.results.tables.table import Cell
from tests.databases.budgets import two_budgets
from tests.databases.made_up import World, build


def test_a_family_has_a_line_through_its_sizes(tmp_path: Path) -> None:
    data = FigureData(two_budgets(tmp_path / "r.db"))
    lines = lines_of(data.table, recorded_budgets(data.measured.experiment.config))
    assert {family: len(line) for family, line in lines.items()} == {"rows": 2, "bert-mlm": 1, "hashformer-lsh-proj": 1}
    assert [size for size, _ in lines["rows"]] == pytest.approx([797_184, 38_603_520], rel=1e-3)
    scores = {row.model: row.cells["average"].value for row in data.table.rows}
    assert [cell.value for _, cell in lines["rows"]] == [scores["rows-0.8M"], scores["rows-38.6M"]]
    assert all(cell.interval for _, cell in lines["rows"]), "intervals over examples are read"


def test_bars_reach_to_the_ends_of_the_interval() -> None:
    line = [(1e5, Cell(50.0, interval=(48.0, 53.0))), (1e6, Cell(60.0))]
    assert spreads(line) == ([2.0, 0.0], [3.0, 0.0])


def test_the_line_is_drawn_and_named_once(tmp_path: Path) -> None:
    drawn = draw(FigureData(two_budgets(tmp_path / "r.db")))[0]
    longest = max(drawn.panels[0].lines, key=lambda line: len(line.get_xdata()))
    assert len(longest.get_xdata()) == 2 and drawn.panels[0].get_xscale() == "log"
    names = [text.get_text() for text in drawn.figure.legends[0].get_texts()]
    assert sorted(names) == ["bert-mlm", "hashformer-lsh-proj", "rows"]


@pytest.mark.parametrize("models", [("bert-mlm",), ("hashformer-lsh-emb-1k", "hashformer-lsh-emb-50k")])
def test_without_several_budgets_there_is_nothing_to_draw(models: tuple[str, ...], tmp_path: Path) -> None:
    """50k of the HashFormers are rows: two tables of one family are no line through budgets."""
    with pytest.raises(NothingToDraw, match="give budget: {embedding_parameters"):
        draw(FigureData(build(tmp_path / "r.db", World(models=models, tasks=("cola",), seeds=(0,)))))
