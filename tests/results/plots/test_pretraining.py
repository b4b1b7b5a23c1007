"""The figure of score against tokens of pre-training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import sqlalchemy as sa

from hashbench.results.plots.base import FigureData, NothingToDraw
from hashbench.results.plots.pretraining import draw, token_lines
from hashbench.store.engine import Store
from hashbench.store.schema import experiment_run, run
from tests.databases.made_up import World, build

LABELS = {"bert-sr": "hashformer-lsh-proj@1000", "hashformer-lsh-proj": "hashformer-lsh-proj"}


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
    axes = draw(FigureData(store))[0].panels[0]
    longest = max(axes.lines, key=lambda line: len(line.get_xdata()))
    assert len(longest.get_xdata()) == 2 and axes.get_xscale() == "log"


def test_without_earlier_steps_there_is_nothing_to_draw(tmp_path: Path) -> None:
    with pytest.raises(NothingToDraw, match="pretrain.checkpoints"):
        draw(FigureData(build(tmp_path / "r.db", World(models=("bert-mlm",), tasks=("cola",), seeds=(0,)))))
