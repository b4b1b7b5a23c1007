"""Files that are there whole or not at all."""

from pathlib import Path

import pytest

from hashbench.common.atomic import atomic_write, replace_text


def test_an_error_leaves_the_file_as_it_was_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")
    with pytest.raises(KeyboardInterrupt), atomic_write(path) as part:
        part.write_text("half")
        raise KeyboardInterrupt
    assert path.read_text() == "before" and list(tmp_path.iterdir()) == [path]


def test_a_folder_appears_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder"
    with atomic_write(path) as part:
        part.mkdir()
        (part / "a").write_text("1")
        assert not path.exists()
    assert [file.name for file in path.iterdir()] == ["a"] and list(path.parent.iterdir()) == [path]


def test_an_error_removes_the_folder_in_the_making(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    with pytest.raises(ValueError), atomic_write(path) as part:
        part.mkdir()
        (part / "a").write_text("1")
        raise ValueError
    assert list(tmp_path.iterdir()) == []


def test_text_takes_the_place_of_a_file_but_makes_no_folder(tmp_path: Path) -> None:
    replace_text(tmp_path / "a.txt", "naïve\n")
    replace_text(tmp_path / "a.txt", "new")
    replace_text(Path("/dev/null"), "goes nowhere")
    assert (tmp_path / "a.txt").read_text() == "new" and [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    with pytest.raises(FileNotFoundError):
        replace_text(tmp_path / "none" / "a.txt", "text")


def test_an_error_names_the_file_and_not_the_one_in_the_making(tmp_path: Path) -> None:
    with pytest.raises(OSError) as raised, atomic_write(tmp_path / "file") as part:
        part.mkdir()
        part.write_text("a folder is in its place")
    assert raised.value.filename == str(tmp_path / "file")
