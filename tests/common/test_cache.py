"""What a cache holds, and what of it goes."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hashbench
from hashbench.common.cache import (
    CHECKPOINTS,
    DAY_S,
    FOLDERS,
    LOCK,
    MARK,
    WAITING,
    WEIGHTS,
    cleaned,
    entries,
    folder_of_run,
    mark,
    named_cache,
    remove_leftovers,
    using,
    why_no_cache,
)
from hashbench.common.checksums import Damaged, listed_in, sealed_write
from hashbench.common.errors import InputError

RUN = "a1" * 32  # an id
WIKI = "ef" * 32  # the digest of a corpus


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache with things that were last used 10 days ago."""
    cache = tmp_path / "cache"
    assert mark(cache)
    with_sums = cache / "codes" / "codes-md5.npy"
    with_sums.parent.mkdir()
    with sealed_write(with_sums) as part:
        part.write_bytes(b"12345")
    (cache / "codes" / "codes-md5.npy.lock").touch()
    for place in (
        f"artifacts/{RUN}/weights.safetensors",
        f"corpora/{WIKI}/ids.npy",
        "finished/token.npz",
        f"running/{RUN}/last.ckpt",
    ):
        put(cache / place)
    age(cache)
    return cache


def put(path: Path) -> Path:
    """Makes a file of 3 bytes with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"123")
    return path


def age(folder: Path) -> None:
    then = time.time() - 10 * DAY_S
    for path in folder.rglob("*"):
        os.utime(path, (then, then))


def names(found: list) -> set[str]:
    return {f"{each.room}/{each.path.name}" for each in found}


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


def test_things_are_listed_whole_with_their_size(cache: Path) -> None:
    found = {f"{each.room}/{each.path.name}": each.n_bytes for each in entries(cache)}
    assert found == {
        f"artifacts/{RUN}": 3,
        "codes/codes-md5.npy": 5,
        f"corpora/{WIKI}": 3,
        "finished/token.npz": 3,
        f"running/{RUN}": 3,
    }
    assert entries(cache / "none") == []


def test_results_that_wait_are_kept_and_those_set_aside_are_not(cache: Path) -> None:
    (cache / "finished" / "other.npz.bad").write_bytes(b"1")
    os.utime(cache / "finished" / "other.npz.bad", (1e9, 1e9))
    removed = names(cleaned(cache, older_than_s=DAY_S))
    assert "finished/other.npz.bad" in removed and "finished/token.npz" not in removed


def test_only_what_is_old_goes_and_weights_only_of_runs_that_are_not_named(cache: Path) -> None:
    (cache / "corpora" / WIKI / "ids.npy").read_bytes()
    os.utime(cache / "corpora" / WIKI / "ids.npy")  # used just now; a file system may note no reading
    assert cleaned(cache, older_than_s=11 * DAY_S) == []
    planned = cleaned(cache, older_than_s=5 * DAY_S, dry_run=True)
    assert names(planned) == {"codes/codes-md5.npy", f"running/{RUN}"} and len(entries(cache)) == 5
    assert names(cleaned(cache, older_than_s=5 * DAY_S)) == names(planned)
    assert names(entries(cache)) == {f"artifacts/{RUN}", f"corpora/{WIKI}", "finished/token.npz"}
    assert not list((cache / "codes").iterdir())  # neither checksums nor locks are left
    put(cache / "artifacts" / "mine" / "notes.txt")  # no run's
    assert names(cleaned(cache, older_than_s=0, named={RUN})) == {f"corpora/{WIKI}"}
    assert names(cleaned(cache, older_than_s=0, named=set())) == {f"artifacts/{RUN}"}
    assert (cache / "artifacts" / "mine" / "notes.txt").exists()


def test_nothing_goes_while_a_sweep_uses_it(cache: Path) -> None:
    with using(cache), using(cache):
        with pytest.raises(InputError, match="a sweep is using this cache; clean it when the sweep is done"):
            cleaned(cache, older_than_s=0)
    assert cleaned(cache, older_than_s=0)


def test_what_cannot_be_removed_is_said(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hashbench.common.cache.remove", lambda path: None)
    with pytest.raises(InputError, match=r"3 of 3 entries could not be removed, as codes/codes-md5.npy"):
        cleaned(cache, older_than_s=0)


# Whose folder it is


@pytest.mark.parametrize(
    "place", ["thesis/chapter.tex", ".ssh/id", "notes.txt", "tasks/mine.csv", f"{LOCK}/mine", "wandb"]
)
@pytest.mark.parametrize("swept", [False, True])
def test_a_folder_of_the_users_is_refused_and_left_as_it_is(tmp_path: Path, place: str, swept: bool) -> None:
    """Also after a sweep has made its folders in it: their names may be those of the user's own."""
    home = tmp_path / "home"
    put(home / place)
    if swept:
        with using(home):
            put(home / "corpora" / WIKI)
    age(home)
    before = files(home)
    for dry_run in (True, False):
        with pytest.raises(
            InputError, match="home: is no cache of hashbench .*nothing was removed; set HASHBENCH_CACHE"
        ):
            cleaned(home, older_than_s=0, named=set(), dry_run=dry_run)
    assert files(home) == before and not mark(home)


@pytest.mark.parametrize("extra", ["thesis/chapter.tex", "notes.txt", "mine.lock", f"{MARK}.bak/x"])
def test_what_is_unknown_in_a_cache_stays(cache: Path, extra: str) -> None:
    put(cache / extra)
    age(cache)
    assert cleaned(cache, older_than_s=0) and (cache / extra).exists()


@pytest.mark.parametrize("name", [LOCK, None])
def test_an_older_cache_is_one_with_known_folders_alone(tmp_path: Path, name: str | None) -> None:
    """A sweep of an earlier version left its lock; a command that is no sweep left none in `.hashbench`."""
    older = tmp_path / ("cache" if name else ".hashbench")
    put(older / "corpora" / WIKI)
    if name:
        put(older / name)
    age(older)
    assert why_no_cache(older) == ""
    assert names(cleaned(older, older_than_s=0)) == {f"corpora/{WIKI}"}
    put(older / "corpora" / WIKI)
    put(older / "thesis" / "chapter.tex")
    with pytest.raises(InputError, match=r"\('thesis' in it is not of hashbench\)"):
        cleaned(older, older_than_s=0)


def test_the_example_database_may_be_beside_the_folders(tmp_path: Path) -> None:
    """It is unpacked into ~/.cache/hashbench, which is also a usual place of a cache."""
    example = put(tmp_path / f"example-{'0' * 16}.db")
    assert mark(tmp_path)
    put(tmp_path / "corpora" / WIKI)
    assert names(cleaned(tmp_path, older_than_s=0)) == {f"corpora/{WIKI}"} and example.exists()


def test_a_mark_is_a_file_with_its_text(tmp_path: Path) -> None:
    put(tmp_path / "home" / "tasks" / "mine.csv")
    (tmp_path / "home" / MARK).write_text("mine")
    with pytest.raises(InputError, match="is no cache of hashbench"):
        cleaned(tmp_path / "home", older_than_s=0)
    (tmp_path / "home" / MARK).unlink()
    mark(tmp_path / "cache")
    (tmp_path / "home" / MARK).symlink_to(tmp_path / "cache" / MARK)
    with pytest.raises(InputError, match="is no cache of hashbench"):
        cleaned(tmp_path / "home", older_than_s=0)


def test_a_damaged_mark_is_written_again(cache: Path) -> None:
    put(cache / LOCK)
    (cache / MARK).write_text("\0")
    assert mark(cache) and cleaned(cache, older_than_s=0)


def test_no_folder_has_nothing_to_remove_and_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert cleaned(tmp_path / "none", older_than_s=0) == cleaned(tmp_path / "empty", older_than_s=0) == []
    assert not list((tmp_path / "empty").iterdir())
    with pytest.raises(InputError, match="is no cache of hashbench .it is no folder"):
        cleaned(put(tmp_path / "file"), older_than_s=0)


def test_the_list_of_fonts_that_came_first_is_no_strangers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "matplotlib" / "fontlist.json")
    assert not mark(tmp_path)
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path / "matplotlib"))
    assert mark(tmp_path)


@pytest.mark.parametrize("name", ["wiki.txt", "wiki/train.txt", "cola.bad", "ef" * 31])
@pytest.mark.parametrize("room", ["corpora", "tasks"])
def test_data_of_the_user_in_a_folder_that_is_a_cache_too_stay(cache: Path, room: str, name: str) -> None:
    mine = put(cache / room / name)  # where a data folder has its corpora
    age(cache)
    assert f"corpora/{WIKI}" in names(cleaned(cache, older_than_s=0))
    assert mine.read_bytes() == b"123"


@pytest.mark.parametrize("link", ["thesis", "corpora", "codes/thesis", "codes/a-file", "tasks"])
def test_nothing_goes_behind_a_link(cache: Path, link: str) -> None:
    """Of a folder in the cache, of an entry, and of one within an entry."""
    home = cache.parent / "home"
    put(home / "thesis" / "chapter.tex")
    age(home)
    if link == "corpora":
        (cache / "corpora" / WIKI / "ids.npy").unlink()
        (cache / "corpora" / WIKI).rmdir()
        (cache / "corpora").rmdir()
    (cache / link).symlink_to(home / "thesis" / "chapter.tex" if link == "codes/a-file" else home)
    put(cache / "coders" / "a" / "b")
    (cache / "coders" / "a" / "link").symlink_to(home)
    age(cache / "coders")
    removed = cleaned(cache, older_than_s=0)
    assert "coders/a" in names(removed) and link not in names(removed)
    assert files(home) == {"thesis/chapter.tex"} and os.path.lexists(cache / link)


def test_a_cache_may_be_behind_a_link_itself(cache: Path) -> None:
    link = cache.parent / "link"
    link.symlink_to(cache)
    assert cleaned(link, older_than_s=0)


def test_an_empty_variable_is_not_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HASHBENCH_CACHE", "")
    assert named_cache() is None
    monkeypatch.setenv("HASHBENCH_CACHE", "mine")
    assert named_cache() == tmp_path / "mine"


def test_every_folder_that_is_made_in_a_cache_is_known() -> None:
    """One that is not would never be cleaned, and an older cache that has it would count as the user's."""
    made = re.compile(r"""\bcache(?:_folder\(\))? / "([a-z.-]+)"|cache_room\("([a-z]+)"\)""")
    sources = list(Path(hashbench.__file__).parent.rglob("*.py"))
    found = {a or b for path in sources for a, b in made.findall(path.read_text(encoding="utf-8"))}
    assert {"corpora", "vocabularies", "numba"} <= found
    assert found - {"measuring.lock"} <= set(FOLDERS)


# Names from elsewhere


def test_leftovers_of_runs_that_are_done_are_removed(cache: Path) -> None:
    (cache / "running" / "other").mkdir()
    remove_leftovers(cache, [RUN, "b2" * 32])
    assert [path.name for path in (cache / "running").iterdir()] == ["other"]


IDS = st.one_of(
    st.text(),
    st.lists(st.sampled_from(["..", ".", "", "/", "a", RUN, "~", "\\", "\0", "\n"])).map("/".join),
    st.from_regex(r"[0-9a-fA-F]{60,68}", fullmatch=True),
    st.from_regex(r"[0-9a-f]{64}\n?", fullmatch=True),
)


@given(IDS, st.sampled_from([WEIGHTS, WAITING, CHECKPOINTS]))
def test_no_id_leads_out_of_its_folder(run_id: str, room: str) -> None:
    cache = Path("/cache")
    if re.fullmatch("[0-9a-f]{64}", run_id):
        assert folder_of_run(cache, room, run_id) == cache / room / run_id
    else:
        with pytest.raises(InputError, match="no id of a run, which has 64 hexadecimal digits; see hashbench db check"):
            folder_of_run(cache, room, run_id)


@pytest.mark.parametrize("run_id", ["../../victim", "..", ".", "", "/", "a" * 63, f"{RUN}/..", f"{RUN}\n"])
def test_leftovers_of_no_id_remove_nothing(cache: Path, run_id: str) -> None:
    put(cache / "victim" / "thesis.txt")
    before = files(cache.parent)
    with pytest.raises(InputError, match="no id of a run"):
        remove_leftovers(cache, [run_id])
    assert files(cache.parent) == before


@given(st.one_of(st.text(), st.lists(st.sampled_from(["..", ".", "", "/", "a", "b c"])).map("/".join)))
def test_no_name_in_a_list_of_checksums_leads_out_of_its_folder(name: str) -> None:
    content = json.dumps({"files": {name: {"bytes": 1, "sha256": "a"}}}).encode()
    try:
        (listed,) = listed_in(content, "files.json")
    except Damaged:
        assert not name or {"", ".", ".."} & set(name.split("/"))
    else:
        assert Path(os.path.normpath(Path("/folder") / listed)).parent.is_relative_to("/folder")
