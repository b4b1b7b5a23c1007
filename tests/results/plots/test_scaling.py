"""The figures of score against embedding parameters and against tokens of pre-training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import sqlalchemy as sa

from hashbench.results.plots.base import FigureData, NothingToDraw
from hashbench.results.plots.scaling import draw_budgets, draw_pretraining, family_lines, spreads, token_lines
from hashbench.results.read.budgets import recorded_budgets
from hashbench.results.tables.table import Cell
from hashbench.store.engine import Store
from hashbench.store.schema import experiment_run, run
from tests.databases.budgets import two_budgets
from tests.databases.made_up import World, build

LABELS = {"bert-sr": "hashformer-lsh-proj@1000", "hashformer-lsh-proj": "hashformer-lsh-proj"}


def test_a_family_has_a_line_through_its_sizes(tmp_path: Path) -> None:
    data = FigureData(two_budgets(tmp_path / "r.db"))
    lines = family_lines(data.table, recorded_budgets(data.measured.experiment.config))
    assert {family: len(line) for family, line in lines.items()} == {"rows": 2, "bert-mlm": 1, "hashformer-lsh-proj": 1}
    assert [size for size, _ in lines["rows"]] == pytest.approx([797_184, 38_603_520], rel=1e-3)
    scores = {row.model: row.cells["average"].value for row in data.table.rows}
    assert [cell.value for _, cell in lines["rows"]] == [scores["rows-0.8M"], scores["rows-38.6M"]]
    assert all(cell.interval for _, cell in lines["rows"]), "intervals over examples are read"


def test_bars_reach_to_the_ends_of_the_interval() -> None:
    line = [(1e5, Cell(50.0, interval=(48.0, 53.0))), (1e6, Cell(60.0))]
    assert spreads(line) == ([2.0, 0.0], [3.0, 0.0])


def test_the_line_is_drawn_and_named_once(tmp_path: Path) -> None:
    drawn = draw_budgets(FigureData(two_budgets(tmp_path / "r.db")))[0]
    longest = max(drawn.panels[0].lines, key=lambda line: len(line.get_xdata()))
    assert len(longest.get_xdata()) == 2 and drawn.panels[0].get_xscale() == "log"
    names = [text.get_text() for text in drawn.figure.legends[0].get_texts()]
    assert sorted(names) == ["bert-mlm", "hashformer-lsh-proj", "rows"]


@pytest.mark.parametrize("models", [("bert-mlm",), ("hashformer-lsh-emb-1k", "hashformer-lsh-emb-50k")])
def test_without_several_budgets_there_is_nothing_to_draw(models: tuple[str, ...], tmp_path: Path) -> None:
    """50k of the HashFormers are rows: two tables of one family are no line through budgets."""
    with pytest.raises(NothingToDraw, match="give budget: {embedding_parameters"):
        draw_budgets(FigureData(build(tmp_path / "r.db", World(models=models, tasks=("cola",), seeds=(0,)))))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Three models, of which the second is made to be an earlier step of the third."""
    store = build(tmp_path / "r.db", World(models=("bert-mlm", *LABELS), tasks=("cola", "rte")))
    rows = store.query("SELECT id, spec FROM run WHERE kind = 'pretrain' AND model = 'hashformer-lsh-proj'")
    spec = json.loads(rows[0]["spec"])
    with store.write() as connection:
        connection.execute(
            sa.update(run)
            .where(run.c.kind == "pretrain", run.c.model == "bert-sr")
            .values(spec=json.dumps(spec | {"checkpoint": 1000}))
        )
        for label, new in LABELS.items():
            connection.execute(sa.update(experiment_run).where(experiment_run.c.model == label).values(model=new))
    return store


def test_a_model_has_a_point_for_each_step_it_was_fine_tuned_from(store: Store) -> None:
    data = FigureData(store)
    lines = token_lines(data.measured, data.table)
    assert list(lines) == ["hashformer-lsh-proj"], "a model with one point has no line"
    spec = next(run.spec for run in data.measured.pretrainings() if run.model == "hashformer-lsh-proj")
    tokens = spec["pretrain"]["batch_size"] * spec["pretrain"]["sequence_length"]
    assert sorted(lines["hashformer-lsh-proj"]) == [1000 * tokens, spec["pretrain"]["steps"] * tokens]
    scores = {row.model: row.cells["average"].value for row in data.table.rows}
    assert {cell.value for cell in lines["hashformer-lsh-proj"].values()} == {
        scores["hashformer-lsh-proj"], scores["hashformer-lsh-proj@1000"]
    }  # fmt: skip


def test_the_line_is_drawn_through_its_points(store: Store) -> None:
    axes = draw_pretraining(FigureData(store))[0].panels[0]
    longest = max(axes.lines, key=lambda line: len(line.get_xdata()))
    assert len(longest.get_xdata()) == 2 and axes.get_xscale() == "log"


def test_without_earlier_steps_there_is_nothing_to_draw(tmp_path: Path) -> None:
    with pytest.raises(NothingToDraw, match="pretrain.checkpoints"):
        draw_pretraining(FigureData(build(tmp_path / "r.db", World(models=("bert-mlm",), tasks=("cola",), seeds=(0,)))))
