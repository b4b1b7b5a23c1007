"""The script writes what `hashbench plot curves` writes, and curves of any metric of training."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.curves import main
from tests.databases.made_up import World, build


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("curves") / "r.db"
    build(path, World(models=("bert-mlm",), tasks=("cola",), seeds=(0,))).close()
    return path


def test_the_command_prints_the_files(database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--db", str(database), "-o", str(tmp_path), "--format", "svg"]) == 0
    files = [tmp_path / "curves_pretraining.svg", tmp_path / "curves_finetuning.svg"]
    assert capsys.readouterr().out.splitlines() == [str(file) for file in files]
    assert files[1].read_text().lstrip().startswith("<?xml")


def test_an_unknown_metric_is_an_error(database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--db", str(database), "-o", str(tmp_path), "--metric", "lss"]) == 2
    assert "experiment 'made-up': no curve 'lss'" in capsys.readouterr().err


def test_a_file_where_the_folder_should_be_is_one_line(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken").write_text("")
    assert main(["--db", str(database), "-o", str(tmp_path / "taken")]) == 2
    assert "give a folder that can be written" in capsys.readouterr().err
