"""Experiments by name, the example database of a checkout and of a wheel, and files here that hide them."""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.common import shipped
from hashbench.common.errors import InputError


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty working folder, in which nothing was told before."""
    monkeypatch.chdir(tmp_path)
    shipped._tell_once.cache_clear()


def test_a_name_is_that_of_a_shipped_experiment() -> None:
    assert shipped.experiment_file("glue_tiny") == shipped.experiments()["glue_tiny"]
    assert shipped.experiments()["glue_tiny"].is_file()


def test_a_folder_of_the_name_hides_nothing() -> None:
    Path("glue_tiny").mkdir()
    assert shipped.experiment_file("glue_tiny") == shipped.experiments()["glue_tiny"]


@pytest.mark.parametrize("own", ["glue_tiny", "glue_tiny.yaml"])
def test_a_file_here_wins_and_is_named(own: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(own).write_text("name: x")
    assert shipped.experiment_file("glue_tiny") == Path(own)
    shipped.experiment_file("glue_tiny")
    assert capsys.readouterr().err == (
        f"glue_tiny: the file {own} of this folder, not the experiment of this name that comes with hashbench\n"
    )


def test_a_file_here_is_found_without_its_ending(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.yaml").write_text("name: x")
    assert shipped.experiment_file("mine") == Path("mine.yaml")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("path", ["./glue_tiny", "experiments/glue_tiny", "glue_tiny.yaml", ".", "..", "nothing", ""])
def test_what_is_no_name_stays_a_path(path: str) -> None:
    assert shipped.experiment_file(path) == Path(path)


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30))
def test_no_text_is_an_error(name: str) -> None:
    found = shipped.experiment_file(name)
    assert found == Path(name) or found in shipped.experiments().values()
    assert isinstance(shipped.hint_of(Path(name)), str)


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("experiments/quickstart.yaml", "is written quickstart"),
        ("glue_tinny", "did you mean 'glue_tiny'"),
        ("nothing", "(list: hashbench experiments)"),
        ("folder/mine.yaml", ""),
    ],
)
def test_a_missing_file_leads_to_the_experiment_meant(path: str, hint: str) -> None:
    assert hint in shipped.hint_of(Path(path)) and bool(hint) == bool(shipped.hint_of(Path(path)))


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of an installed wheel, with a database of four bytes; the user's cache is in `cache`."""
    packed = tmp_path / "shipped"
    (packed / "experiments").mkdir(parents=True)
    (packed / "example.db.xz").write_bytes(lzma.compress(b"data"))
    monkeypatch.setattr(shipped, "PACKED", packed)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shipped.example_database.cache_clear()
    yield packed
    shipped.example_database.cache_clear()


def test_the_database_of_a_wheel_is_unpacked_once(wheel: Path, tmp_path: Path) -> None:
    path = shipped.example_database()
    assert path.parent == tmp_path / "cache" / "hashbench" and path.read_bytes() == b"data"
    assert not path.stat().st_mode & 0o222
    before = path.stat().st_mtime_ns
    shipped.example_database.cache_clear()
    assert shipped.example_database().stat().st_mtime_ns == before


def test_another_release_unpacks_its_own(wheel: Path) -> None:
    first = shipped.example_database()
    (wheel / "example.db.xz").write_bytes(lzma.compress(b"other"))
    shipped.example_database.cache_clear()
    second = shipped.example_database()
    assert (first.read_bytes(), second.read_bytes()) == (b"data", b"other")


def test_without_a_cache_folder_it_is_unpacked_for_the_process(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert shipped.example_database().read_bytes() == b"data"


def test_an_installation_without_it_says_so(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (wheel / "example.db.xz").unlink()
    monkeypatch.setattr(shipped, "PACKAGE", tmp_path / "nowhere" / "hashbench")
    with pytest.raises(InputError, match="no example database"):
        shipped.example_database()
