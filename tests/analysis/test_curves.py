"""Learning curves from the stored metrics."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis import curves
from analysis.curves import SCORES, main, panels_of, run
from hashbench.errors import InputError
from hashbench.store.engine import Store
from tests.report.made_up import World, build


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return build(tmp_path_factory.mktemp("curves") / "results.db", World(tasks=("cola", "subj"), seeds=(0, 1)))


def test_curves_hold_the_reported_metric_of_every_evaluation_and_seed(store: Store) -> None:
    panels = panels_of([dict(row) for row in store.query(SCORES, experiment=1)])
    assert sorted(panels) == ["cola", "subj"]
    curve = panels["cola"]["bert-mlm"]
    assert sorted(curve) == [100, 200, 300]
    assert curve[200] == [pytest.approx(0.541), pytest.approx(0.545)]
    assert curve[300] == [pytest.approx(0.531), pytest.approx(0.535)]


def test_pictures_are_written(store: Store, tmp_path: Path) -> None:
    paths = run(store, experiment=None, output=tmp_path, format="svg")
    assert [path.name for path in paths] == ["curves_pretraining.svg", "curves_finetuning.svg"]
    text = paths[1].read_text()
    assert text.lstrip().startswith("<?xml")


def test_another_metric_of_training_can_be_drawn(store: Store, tmp_path: Path) -> None:
    assert len(run(store, experiment=None, output=tmp_path, metric="loss")) == 2


def test_an_unknown_metric_is_an_error(store: Store, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no curve 'lss' of experiment 'made-up'"):
        run(store, experiment=None, output=tmp_path, metric="lss")


def test_a_file_where_the_folder_should_be_is_one_line(store: Store, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputError, match="give a folder that can be made"):
        run(store, experiment=None, output=tmp_path / "taken")


def test_the_command_prints_the_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build(tmp_path / "r.db", World(models=("bert-mlm",), tasks=("cola",), seeds=(0,))).close()
    assert main(["--db", str(tmp_path / "r.db"), "-o", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        str(tmp_path / "curves_pretraining.png"),
        str(tmp_path / "curves_finetuning.png"),
    ]
    assert curves.COLUMNS == 4
