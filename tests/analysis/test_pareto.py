"""The script writes what `hashbench plot pareto` writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.figures import written
from analysis.pareto import main
from hashbench.common.errors import InputError
from hashbench.results.plots.pareto import draw
from hashbench.store.engine import open_store
from tests.databases.made_up import World, build


def test_pictures_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    models = ("bert-mlm", "bert-sr", "hashformer-lsh-proj", "hashformer-md-pool")
    build(tmp_path / "r.db", World(models=models, tasks=("cola", "rte"))).close()
    folder = tmp_path / "new" / "folder"
    assert main(["--db", str(tmp_path / "r.db"), "-o", str(folder)]) == 0
    names = ["pareto_parameters.png", "pareto_inference.png", "pareto_pretraining.png"]
    assert capsys.readouterr().out.splitlines() == [str(folder / name) for name in names]
    assert all((folder / name).read_bytes().startswith(b"\x89PNG") for name in names)


def test_without_sizes_the_user_is_told_what_to_do(tmp_path: Path) -> None:
    told = {
        ("bert-mlm",): "no measured cost sets two models apart",
        ("bert-mlm", "hashformer-lsh-proj"): "efficiency: true",
    }
    for models, words in told.items():
        bare = build(
            tmp_path / f"{len(models)}.db", World(models=models, tasks=("cola",), seeds=(0,), efficiency=False)
        )
        with pytest.raises(InputError, match=words):
            written(bare, draw, experiment=None, output=tmp_path)


def test_a_missing_database_is_one_line_and_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--db", str(tmp_path / "none.db")]) == 2
    error = capsys.readouterr().err
    assert "none.db" in error and error.count("\n") == 1
    open_store(tmp_path / "empty.db").close()
    assert main(["--db", str(tmp_path / "empty.db"), "-o", str(tmp_path)]) == 2
