"""Which models lie on the front, and that a picture is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.pareto import Point, front, main, points_of, run
from hashbench.errors import InputError
from hashbench.report.main import tables
from hashbench.store.engine import Store, open_store
from tests.report.made_up import World, build


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    models = ("bert-mlm", "bert-sr", "hashformer-lsh-proj", "hashformer-md-pool")
    return build(tmp_path_factory.mktemp("pareto") / "results.db", World(models=models, tasks=("cola", "rte")))


def test_a_point_that_is_dearer_and_no_better_is_not_on_the_front() -> None:
    points = [Point("dear", 3, 5), Point("cheap", 1, 5), Point("best", 2, 6), Point("worse", 2, 5.5)]
    assert [point.name for point in front(points)] == ["cheap", "best"]


def test_points_are_read_from_the_experiments_own_table(store: Store) -> None:
    points = {point.name: point for point in points_of(tables(store)[0], "emb_params")}
    assert points["hashformer-lsh-proj"].cost == pytest.approx(99_100)  # as printed
    assert points["hashformer-lsh-proj"].score == pytest.approx((56.2 + 63.4) / 2)
    assert points["hashformer-lsh-proj"].deviation == pytest.approx(0.4)
    assert set(points) == {"bert-mlm", "bert-sr", "hashformer-lsh-proj", "hashformer-md-pool"}


def test_pictures_are_written(store: Store, tmp_path: Path) -> None:
    paths = run(store, experiment=None, output=tmp_path / "new" / "folder")
    names = ["pareto_parameters.png", "pareto_inference.png", "pareto_pretraining.png"]
    assert [path.name for path in paths] == names
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)


def test_without_sizes_the_user_is_told_what_to_do(tmp_path: Path) -> None:
    bare = build(tmp_path / "results.db", World(models=("bert-mlm",), tasks=("cola",), seeds=(0,), efficiency=False))
    with pytest.raises(InputError, match="efficiency: true"):
        run(bare, experiment=None, output=tmp_path)


def test_a_missing_database_is_one_line_and_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--db", str(tmp_path / "none.db")]) == 2
    error = capsys.readouterr().err
    assert "none.db" in error and error.count("\n") == 1
    open_store(tmp_path / "empty.db").close()
    assert main(["--db", str(tmp_path / "empty.db"), "-o", str(tmp_path)]) == 2
