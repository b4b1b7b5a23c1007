"""Made files are known by size and SHA-256, and a damaged one is named."""

import json
import os
from pathlib import Path

import pytest

from hashbench.common import checksums
from hashbench.common.checksums import Damaged, FileSum, is_listed, manifest_of, seal, sealed_write, set_aside
from tests.damage import DAMAGES

TEXT = b"0123456789" * 100


@pytest.fixture
def made(tmp_path: Path) -> Path:
    path = tmp_path / "made.npy"
    with sealed_write(path) as part:
        part.write_bytes(TEXT)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "folder"
    (path / "types").mkdir(parents=True)
    (path / "ids").write_bytes(TEXT)
    (path / "types" / "blob").write_bytes(TEXT)
    seal(path)
    return path


def test_a_file_has_its_sums_beside_it(made: Path) -> None:
    digest = "ab6c5f3237f551d208fc2ca5225a4cca20b3fd638794a804f0ed5549d5041734"  # of sha256sum
    listed = json.loads((made.parent / "made.npy.files.json").read_text())["files"]
    assert listed == {"made.npy": {"bytes": 1000, "sha256": digest}} and is_listed(made)
    assert sorted(path.name for path in made.parent.iterdir()) == ["made.npy", "made.npy.files.json"]


def test_a_folder_lists_its_files(folder: Path) -> None:
    assert sorted(json.loads((folder / "files.json").read_text())["files"]) == ["ids", "types/blob"]
    assert is_listed(folder)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("file", ["ids", "types/blob", "files.json"])
def test_damage_in_a_folder_names_the_file(folder: Path, file: str, damage: str) -> None:
    assert is_listed(folder)
    DAMAGES[damage](folder / file)
    with pytest.raises(Damaged, match=str(folder)):
        is_listed(folder)


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_of_a_file_is_seen_though_it_was_right_before(made: Path, damage: str) -> None:
    assert is_listed(made)
    DAMAGES[damage](made)
    with pytest.raises(Damaged, match=str(made)):
        is_listed(made)


@pytest.mark.parametrize("small", [0, checksums.SMALL_FILE])
def test_damage_that_keeps_size_and_time_is_seen(made: Path, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checksums, "SMALL_FILE", small)
    monkeypatch.setattr(checksums, "SETTLED_NS", 0)
    assert is_listed(made)
    facts, damaged = made.stat(), TEXT[:-1] + b"8"
    while made.stat().st_ctime_ns == facts.st_ctime_ns:  # within a tick of the system's clock
        made.write_bytes(damaged)
        os.utime(made, ns=(facts.st_mtime_ns, facts.st_mtime_ns))
    with pytest.raises(Damaged, match="holds other bytes than were written"):
        is_listed(made)


def test_a_file_of_a_folder_is_missed(folder: Path) -> None:
    (folder / "ids").unlink()
    with pytest.raises(Damaged, match="ids: is missing"):
        is_listed(folder)


def test_the_hash_of_a_large_file_is_made_once(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checksums, "SMALL_FILE", 0)
    monkeypatch.setattr(checksums, "SETTLED_NS", 0)
    assert is_listed(made)
    monkeypatch.setattr(FileSum, "of", lambda path: pytest.fail("hashed again"))
    assert is_listed(made)


def test_what_has_no_sums_is_of_an_earlier_version(made: Path, tmp_path: Path) -> None:
    manifest_of(made).unlink()
    assert not is_listed(made)
    with pytest.raises(FileNotFoundError):
        is_listed(tmp_path / "nothing")


def test_set_aside_says_so_in_one_line_and_keeps_the_last(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made.with_name("made.npy.bad").write_bytes(b"an older one")
    set_aside(made, f"{made}: has 1 byte")
    line = capsys.readouterr().err
    assert line == f"{made}: has 1 byte; made.npy is set aside as made.npy.bad and made again\n"
    assert made.with_name("made.npy.bad").read_bytes() == TEXT
    assert [path.name for path in made.parent.iterdir()] == ["made.npy.bad"]
    set_aside(made, "again")  # another worker was faster: nothing to say
    assert capsys.readouterr().err == ""


def test_a_line_reaches_the_screen_from_within_a_run(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    import contextlib
    import io
    import sys

    log = io.StringIO()
    with capfd.disabled():
        screen = io.StringIO()
        monkeypatch.setattr(sys, "__stderr__", screen)
        with contextlib.redirect_stderr(log):
            checksums.tell("a line")
    assert log.getvalue() == screen.getvalue() == "a line\n"
