from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from hashbench.common import checksums
from hashbench.common.checksums import FileSum, state_of
from hashbench.common.errors import InputError
from hashbench.data.sources.fingerprints import (
    cache_folder,
    digest,
    file_fingerprint,
    read_note,
    refuse_changed,
    usable_cache_folder,
    write_note,
)
from tests.damage import DAMAGES


def test_is_the_sha256_of_the_content(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    # FIPS 180-2, appendix B.1
    assert file_fingerprint(path) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """All files count as large, and as unchanged for long."""
    monkeypatch.setattr(checksums, "SMALL_FILE", 0)
    monkeypatch.setattr(checksums, "SETTLED_NS", 0)


def rewritten(path: Path, content: bytes) -> None:
    """Other content in the file itself, under the time that it has."""
    facts = path.stat()
    while path.stat().st_ctime_ns == facts.st_ctime_ns:  # within a tick of the system's clock
        path.write_bytes(content)
        os.utime(path, ns=(facts.st_mtime_ns, facts.st_mtime_ns))


def replaced(path: Path, content: bytes) -> None:
    """Another file in its place, with the time that it had, as tar, rsync and layers of docker put it there."""
    time = path.stat().st_mtime_ns
    new = path.with_name("new")
    new.write_bytes(content)
    os.utime(new, ns=(time, time))
    os.replace(new, path)


EDITS = {"in place": rewritten, "another file": replaced}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("size", ["small", "large"])
def test_an_edit_that_keeps_size_and_time_is_seen(
    tmp_path: Path, edit: str, size: str, request: pytest.FixtureRequest
) -> None:
    if size == "large":
        request.getfixturevalue("large")
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    first = file_fingerprint(path)
    EDITS[edit](path, b"abd")
    assert file_fingerprint(path) == hashlib.sha256(b"abd").hexdigest() != first
    EDITS[edit](path, b"abc")
    assert file_fingerprint(path) == first


@pytest.mark.usefixtures("large")
def test_a_large_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    first = file_fingerprint(path)
    with monkeypatch.context() as patch:
        patch.setattr(FileSum, "of", lambda path: pytest.fail("read again"))
        assert file_fingerprint(path) == first


@pytest.mark.usefixtures("large")
def test_another_state_alone_is_no_other_fingerprint(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    first = file_fingerprint(path)
    for change in (lambda: os.utime(path, ns=(1, 1)), lambda: replaced(path, b"abc"), lambda: rewritten(path, b"abc")):
        before = state_of(path)
        change()
        assert state_of(path) != before and file_fingerprint(path) == first


def test_a_large_file_that_was_changed_a_moment_ago_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its next change may bear the same time, where the clock of the file system is coarse."""
    monkeypatch.setattr(checksums, "SMALL_FILE", 0)
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    assert state_of(path) is None
    monkeypatch.setattr(checksums, "SETTLED_NS", 0)
    assert state_of(path) is not None


@pytest.mark.usefixtures("large")
def test_a_note_of_an_earlier_version_is_no_proof(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    facts = path.stat()
    note = cache / "fingerprints" / f"{digest(str(path.resolve()))}.json"
    write_note(note, {"state": [facts.st_size, facts.st_mtime_ns], "sha256": "stale"})
    assert file_fingerprint(path) == hashlib.sha256(b"abc").hexdigest()


@dataclass(frozen=True)
class Located:
    path: Path

    @cached_property
    def fingerprint(self) -> str:
        return file_fingerprint(self.path)


def test_data_that_were_changed_while_they_were_read_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    located = Located(path)
    assert located.fingerprint
    refuse_changed(located, "file")
    rewritten(path, b"abd")
    with pytest.raises(InputError, match="file: was changed after this began to use it; begin again"):
        refuse_changed(located, "file")


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_note_is_made_again(
    tmp_path: Path, cache: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    first = file_fingerprint(path)
    (note,) = (cache / "fingerprints").iterdir()
    DAMAGES[damage](note)
    assert file_fingerprint(path) == first
    line = f"{note}: is damaged; {note.name} is set aside as {note.name}.bad and made again\n"
    assert capsys.readouterr().err == line
    assert file_fingerprint(path) == first and capsys.readouterr().err == ""


def test_every_turned_bit_of_a_note_is_noticed(tmp_path: Path) -> None:
    note, content = tmp_path / "note.json", {"revision": "c0ffee", "files": ["a", "b"], "converted": False}
    write_note(note, content)
    whole = note.read_bytes()
    for place in range(8 * len(whole)):
        data = bytearray(whole)
        data[place // 8] ^= 1 << place % 8
        note.write_bytes(data)
        assert read_note(note) in (None, content), place  # equal where only a blank became another


def test_a_note_of_an_earlier_version_is_taken_and_gets_a_checksum(tmp_path: Path) -> None:
    note = tmp_path / "note.json"
    note.write_text('{"revision": "c0ffee"}')
    assert read_note(note) == {"revision": "c0ffee"}
    assert "check" in json.loads(note.read_text()) and read_note(note) == {"revision": "c0ffee"}


def test_where_parts_end_counts() -> None:
    assert len({digest("ab", "c"), digest("a", "bc"), digest("abc"), digest("abc", "")}) == 4


def test_cache_folder_without_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HASHBENCH_CACHE")
    monkeypatch.chdir(tmp_path)
    assert cache_folder() == tmp_path / ".hashbench"


def test_a_cache_folder_to_be_is_usable_and_not_made(cache: Path) -> None:
    assert usable_cache_folder() == cache and not cache.exists()
    cache.mkdir()
    assert usable_cache_folder() == cache


@pytest.mark.parametrize("below", ["", "deeper/still"])
def test_a_file_in_the_place_of_the_cache_folder(cache: Path, monkeypatch: pytest.MonkeyPatch, below: str) -> None:
    cache.write_text("")
    monkeypatch.setenv("HASHBENCH_CACHE", str(cache / below))
    with pytest.raises(InputError, match="cache is no folder; set HASHBENCH_CACHE to a folder that can be written"):
        usable_cache_folder()


def test_a_link_to_nowhere_in_the_place_of_the_cache_folder(cache: Path) -> None:
    cache.symlink_to(cache.parent / "gone")
    with pytest.raises(InputError, match="cache is no folder"):
        usable_cache_folder()


def test_a_folder_that_cannot_be_written(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked of the system, since root may write whatever the permissions say."""
    asked: list[Path] = []
    monkeypatch.setattr(os, "access", lambda path, mode: bool(asked.append(path)))
    with pytest.raises(InputError, match="cannot be written; set HASHBENCH_CACHE to a folder that can be written"):
        usable_cache_folder()
    assert asked == [cache.parent]  # where the folder would be made


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no /proc here, where nobody can make a folder")
def test_a_folder_in_which_none_can_be_made_whatever_its_rights_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HASHBENCH_CACHE", "/proc/cache")
    with pytest.raises(InputError, match="/proc cannot be written; set HASHBENCH_CACHE to a folder that can"):
        usable_cache_folder()


def test_no_note_is_none(tmp_path: Path) -> None:
    assert read_note(tmp_path / "nothing.json") is None
    (tmp_path / "file").write_text("")
    assert read_note(tmp_path / "file" / "nothing.json") is None
