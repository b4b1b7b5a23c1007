"""Machines leave files for each other at a URL; whatever fails there, nobody reads anything else than was put."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tenacity import wait_none

from hashbench.common import shared as module
from hashbench.common.checksums import FileSum, is_listed, seal, sealed_write
from hashbench.common.errors import InputError
from hashbench.common.shared import SharedFolder, make_once
from tests.damage import DAMAGES

TEXT = b"weights " * 1000


@pytest.fixture(params=["folder", "file", "memory"])
def machines(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[SharedFolder, SharedFolder]:
    """Two machines with caches of their own at one URL."""
    names = {
        "folder": str(tmp_path / "there"),
        "file": f"file://{tmp_path}/there",
        "memory": f"memory://{tmp_path.name}",
    }
    return two_machines(names[request.param], tmp_path)


@pytest.fixture
def here(tmp_path: Path) -> tuple[SharedFolder, SharedFolder]:
    return two_machines(str(tmp_path / "there"), tmp_path)


def two_machines(url: str, tmp_path: Path) -> tuple[SharedFolder, SharedFolder]:
    first, second = (SharedFolder.at(url, tmp_path / name) for name in ("a", "b"))
    return first, second


def left_by(machine: SharedFolder, name: str = "artifacts/1234/weights.safetensors", text: bytes = TEXT) -> Path:
    path = machine.cache / name
    with sealed_write(path) as part:
        part.write_bytes(text)
    machine.put(path)
    return path


def fetched(machine: SharedFolder, name: str = "artifacts/1234/weights.safetensors", **options: Any) -> bytes | None:
    into = machine.cache / "into"
    into.parent.mkdir(exist_ok=True)
    return into.read_bytes() if machine.fetch(machine.cache / name, into, **options) else None


def objects(tmp_path: Path) -> list[Path]:
    return sorted(path for path in (tmp_path / "there").rglob("*") if path.is_file())


def test_a_file_goes_from_one_machine_to_another(machines: tuple[SharedFolder, SharedFolder]) -> None:
    first, second = machines
    assert fetched(second) is None
    path = left_by(first)
    assert fetched(second) == TEXT
    assert fetched(second, sums=[FileSum.of(path)]) == TEXT
    first.remove(path)
    first.remove(path)
    assert fetched(second) is None


def test_a_folder_goes_from_one_machine_to_another(machines: tuple[SharedFolder, SharedFolder]) -> None:
    first, second = machines
    made = make_once(first.cache / "corpora" / "key", lambda part: _corpus(part), shared=first)
    there = second.cache / "corpora" / "key"
    assert make_once(there, lambda part: pytest.fail("made again"), shared=second) == there
    assert is_listed(there) and (there / "types" / "blob").read_bytes() == b"blob"
    assert (there / "files.json").read_bytes() == (made / "files.json").read_bytes()


def _corpus(folder: Path) -> None:
    (folder / "types").mkdir(parents=True)
    (folder / "ids").write_bytes(TEXT)
    (folder / "types" / "blob").write_bytes(b"blob")


def test_what_is_there_is_not_sent_again(here: tuple[SharedFolder, SharedFolder], tmp_path: Path) -> None:
    path = left_by(here[0])
    times = [file.stat().st_mtime_ns for file in objects(tmp_path)]
    here[0].put(path)
    assert [file.stat().st_mtime_ns for file in objects(tmp_path)] == times


def test_other_bytes_under_one_name_do_not_overwrite_each_other(here: tuple[SharedFolder, SharedFolder]) -> None:
    first, second = here
    old = FileSum.of(left_by(first))
    new = FileSum.of(left_by(second, text=b"of a second attempt"))
    assert fetched(first, sums=[old]) == TEXT and fetched(first, sums=[new]) == b"of a second attempt"
    assert fetched(first) == b"of a second attempt"
    assert fetched(first, sums=[FileSum(3, "0" * 64)]) is None


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_there_is_noticed_whatever_was_hit(
    here: tuple[SharedFolder, SharedFolder], tmp_path: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = here
    left_by(first)
    for file in objects(tmp_path):
        whole = file.read_bytes()
        DAMAGES[damage](file)
        assert fetched(second) is None
        assert "artifacts/1234/weights.safetensors" in capsys.readouterr().err
        file.write_bytes(whole)
    assert fetched(second) == TEXT


def test_what_is_damaged_there_is_made_here(here: tuple[SharedFolder, SharedFolder], tmp_path: Path) -> None:
    first, second = here
    make_once(first.cache / "corpora" / "key", _corpus, shared=first)
    for file in objects(tmp_path):
        DAMAGES["truncated"](file)
    made = make_once(second.cache / "corpora" / "key", _corpus, shared=second)
    assert is_listed(made) and (made / "ids").read_bytes() == TEXT


def test_a_list_that_names_a_file_elsewhere_writes_none(here: tuple[SharedFolder, SharedFolder], capsys) -> None:
    first, second = here
    folder = make_once(first.cache / "corpora" / "key", _corpus)
    manifest = folder / "files.json"
    manifest.write_text(manifest.read_text().replace('"ids"', '"../../ids"'))
    (first.cache / "ids").write_bytes(TEXT)
    first.put(folder)
    assert not second.fetch(second.cache / "corpora" / "key", second.cache / "corpora" / "new")
    assert "lists '../../ids', which lies elsewhere" in capsys.readouterr().err
    assert not (second.cache / "ids").exists()


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[SharedFolder, str, int], None]:
    """Makes a call of the file system fail for so many times."""
    monkeypatch.setattr(module, "wait_exponential", lambda **_: wait_none())

    def fail(machine: SharedFolder, call: str, times: int) -> None:
        right, left = getattr(machine._files, call), [times]

        def called(*arguments: Any, **options: Any) -> Any:
            left[0] -= 1
            if left[0] >= 0:
                raise ConnectionError("reset by peer")
            return right(*arguments, **options)

        monkeypatch.setattr(machine._files, call, called)

    return fail


@pytest.mark.parametrize("call", ["open", "mv", "info", "pipe_file", "cat_file"])
def test_a_call_that_fails_a_few_times_is_repeated(
    here: tuple[SharedFolder, SharedFolder], failing: Callable, call: str, tmp_path: Path
) -> None:
    first, second = here
    failing(first, call, 3)
    left_by(first)
    failing(second, call, 3)
    assert fetched(second) == TEXT
    assert not [file for file in objects(tmp_path) if file.name.endswith(".part")]


def test_a_place_that_stays_away_costs_a_line_when_putting_and_the_run_when_fetching(
    here: tuple[SharedFolder, SharedFolder], failing: Callable, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = here
    failing(first, "mv", 1000)
    path = left_by(first)
    line = capsys.readouterr().err
    assert line.startswith("artifacts/1234/weights.safetensors: not put to ") and line.count("\n") == 1
    assert path.read_bytes() == TEXT
    failing(second, "cat_file", 1000)
    with pytest.raises(InputError, match="cannot be fetched .ConnectionError: reset by peer.; see that it can be"):
        fetched(second)


def test_names_of_what_is_whole(machines: tuple[SharedFolder, SharedFolder]) -> None:
    first, second = machines
    assert second.names(second.cache / "running" / "1") == []
    for step in (10, 20):
        left_by(first, f"running/1/resume-{step:09}.ckpt")
    assert second.names(second.cache / "running" / "1") == ["resume-000000010.ckpt", "resume-000000020.ckpt"]
    first.remove(first.cache / "running" / "1")
    assert second.names(second.cache / "running" / "1") == []


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nowhere://x", "--artifacts nowhere://x: .*; give a folder, or a URL that fsspec knows"),
        ("/proc/there", "--artifacts /proc/there: cannot be written .*; give another URL or rights"),
    ],
)
def test_a_url_that_cannot_be(url: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        SharedFolder.at(url, tmp_path)


def test_a_relative_folder_is_the_same_from_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    machine = SharedFolder.at("there", tmp_path / "a")
    assert machine.url == f"file://{tmp_path}/there" and objects(tmp_path) == []


def test_a_sealed_file_that_changed_is_not_put(here: tuple[SharedFolder, SharedFolder], capsys, tmp_path: Path) -> None:
    first, _ = here
    path = first.cache / "w"
    path.parent.mkdir(parents=True)
    path.write_bytes(TEXT)
    seal(path)
    DAMAGES["bit flipped"](path)
    first.put(path)
    assert "w: not put to" in capsys.readouterr().err and objects(tmp_path) == []


def test_what_another_worker_made_while_this_one_waited_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_once(tmp_path / "file", lambda part: part.write_bytes(TEXT))
    monkeypatch.setattr(module, "_is_here", lambda *_: False)  # as it was before the lock was had
    assert make_once(path, lambda part: pytest.fail("made again")) == path
    assert path.read_bytes() == TEXT
