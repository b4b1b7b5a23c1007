"""The command `board`, on parts of the example database."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.cli.commands import Run, fails
from tests.commands import call


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two exports of the example: one experiment, and that one with another."""
    folder = tmp_path_factory.mktemp("board")
    for name, experiments in {"one.db": ["canine_tiny"], "two.db": ["canine_tiny", "superbloom_text_tiny"]}.items():
        options = [part for of in experiments for part in ("--experiment", of)]
        assert call("db", "export", name, "--db", "example", *options, cwd=folder).code == 0
    return folder


def damaged(folder: Path, place: Path) -> Path:
    """A copy of a contribution in which a score was changed."""
    file = place / "damaged.db"
    shutil.copy(folder / "one.db", file)
    with sqlite3.connect(file) as store:
        store.execute("UPDATE metric SET value = value + 0.01 WHERE name = 'accuracy' AND split = 'validation'")
    return file


def test_a_board_is_a_folder_of_pages(folder: Path, tmp_path: Path) -> None:
    outcome = call("board", "two.db", "--out", tmp_path / "site", cwd=folder)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith(f"{tmp_path / 'site' / 'index.html'}: 6 files, ")
    board = json.loads((tmp_path / "site" / "board.json").read_text())
    counted = {of["name"]: of["finished_runs"] for of in board["experiments"]}
    assert counted == {"canine_tiny": 22, "superbloom_text_tiny": 3}


def test_what_db_check_calls_damaged_is_refused(folder: Path, tmp_path: Path) -> None:
    file = damaged(folder, tmp_path)
    assert call("db", "check", "--db", file, cwd=tmp_path).code == 1
    fails(call("board", file, "--out", "site", cwd=tmp_path), "damaged: run ")
    assert not (tmp_path / "site").exists()


def test_wrong_input_is_one_line(run: Run, tmp_path: Path) -> None:
    file, site = str(tmp_path / "file"), str(tmp_path / "site")
    fails(run("board", "nosuch.db", "--out", site), "nosuch.db")
    assert not Path(site).exists()
    fails(run("board", "example", "mine.db", "--out", site), "board: reads one database; merge the others into a copy")
    fails(run("board", "check", "mine.db"), "board check is gone: hashbench db check --db FILE says what is damaged")
    Path(file).write_text("text")
    fails(run("board", "example", "--out", file), f"--out {file}: is a file; name a folder")
    fails(run("board", "--out", site), "Missing argument")


def test_a_page_of_an_earlier_board_does_not_stay(folder: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    assert call("board", "two.db", "--out", site, cwd=folder).code == 0
    (site / "notes.html").write_text("mine")
    assert (site / "superbloom_text_tiny.html").exists()
    assert call("board", "one.db", "--out", site, cwd=folder).code == 0
    assert sorted(file.name for file in site.iterdir()) == [
        "board.json", "canine_tiny.html", "canine_tiny.json", "index.html", "notes.html",
    ]  # fmt: skip


def test_a_folder_of_other_files_is_refused(folder: Path, run: Run, tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / ".nojekyll").touch()
    (site / "thesis.tex").write_text("mine")
    fails(run("board", str(folder / "one.db"), "--out", str(site)), "has other files, as thesis.tex, and no board")
    assert sorted(file.name for file in site.iterdir()) == [".nojekyll", "thesis.tex"]
    (site / "thesis.tex").unlink()
    assert call("board", "one.db", "--out", site, cwd=folder).code == 0
    assert call("board", "one.db", "--out", site, cwd=folder).code == 0
