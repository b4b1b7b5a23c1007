"""What is made once is made again where it was damaged, and only there."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hashbench.common.checksums import manifest_of
from hashbench.common.shared import make_once
from tests.damage import DAMAGES


@pytest.fixture
def built() -> list[Path]:
    return []


@pytest.fixture
def build(built: list[Path]) -> Callable[[Path], None]:
    def write(part: Path) -> None:
        built.append(part)
        part.write_text("the same content each time")

    return write


@pytest.fixture
def build_folder(built: list[Path]) -> Callable[[Path], None]:
    def write(part: Path) -> None:
        built.append(part)
        part.mkdir()
        (part / "a").write_text("one file")
        (part / "b").write_text("and another")

    return write


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_made_again_once(
    tmp_path: Path, build: Callable, built: list[Path], damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make_once(tmp_path / "codes.npy", build)
    DAMAGES[damage](path)
    for _ in range(2):
        assert make_once(path, build).read_text() == "the same content each time"
    assert len(built) == 2
    assert capsys.readouterr().err.startswith(f"{path}: ")
    assert (tmp_path / "codes.npy.bad").is_file()


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("file", ["a", "files.json"])
def test_a_damaged_folder_is_made_again_once(
    tmp_path: Path, build_folder: Callable, built: list[Path], file: str, damage: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    path = make_once(tmp_path / "corpus", build_folder)
    DAMAGES[damage](path / file)
    for _ in range(2):
        assert (make_once(path, build_folder) / "a").read_text() == "one file"
    assert len(built) == 2 and (tmp_path / "corpus.bad").is_dir()
    assert str(path / file) in capsys.readouterr().err


def test_the_checksums_of_a_file_can_be_damaged_too(tmp_path: Path, build: Callable, built: list[Path]) -> None:
    for damage in DAMAGES.values():
        path = make_once(tmp_path / "codes.npy", build)
        damage(manifest_of(path))
    make_once(path, build)
    assert len(built) == 1 + len(DAMAGES)


def test_what_an_earlier_version_made_is_made_again_with_a_line(
    tmp_path: Path, build: Callable, built: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "codes.npy"
    path.write_text("of an earlier version")
    for _ in range(2):
        assert make_once(path, build).read_text() == "the same content each time"
    assert capsys.readouterr().err == f"{path}: an earlier version made it without checksums; made again\n"
    assert len(built) == 1


def test_what_an_earlier_version_made_right_is_kept(
    tmp_path: Path, build_folder: Callable, built: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = make_once(tmp_path / "corpus", build_folder)
    (path / "files.json").unlink()
    make_once(path, build_folder, older=lambda folder: (folder / "b").is_file())
    assert "it is right" in capsys.readouterr().err and len(built) == 1
    assert (path / "files.json").is_file()
    (path / "files.json").unlink()
    make_once(path, build_folder, older=lambda folder: False)
    assert len(built) == 2


def test_what_is_no_cache_has_no_checksums(tmp_path: Path, build_folder: Callable, built: list[Path]) -> None:
    path = make_once(tmp_path / "entities", build_folder, listed=False)
    assert sorted(file.name for file in path.iterdir()) == ["a", "b"]
    (path / "a").unlink()
    make_once(path, build_folder, listed=False)
    assert len(built) == 1
