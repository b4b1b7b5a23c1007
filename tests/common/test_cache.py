"""What a cache holds, and what of it goes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from hashbench.common.cache import DAY_S, cleaned, entries, remove_leftovers, rooms, total_bytes, using
from hashbench.common.checksums import sealed_write
from hashbench.common.errors import InputError


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache with things that were last used 10 days ago."""
    with_sums = tmp_path / "codes" / "codes-md5.npy"
    with_sums.parent.mkdir()
    with sealed_write(with_sums) as part:
        part.write_bytes(b"12345")
    (tmp_path / "codes" / "codes-md5.npy.lock").touch()
    for place in (
        "artifacts/run1/weights.safetensors",
        "corpora/wiki/ids.npy",
        "finished/token.npz",
        "running/r/last.ckpt",
    ):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_bytes(b"123")
    then = time.time() - 10 * DAY_S
    for path in tmp_path.rglob("*"):
        os.utime(path, (then, then))
    return tmp_path


def names(found: list) -> set[str]:
    return {f"{each.room}/{each.path.name}" for each in found}


def test_things_are_listed_whole_with_their_size(cache: Path) -> None:
    found = {f"{each.room}/{each.path.name}": each.n_bytes for each in entries(cache)}
    assert found == {
        "artifacts/run1": 3,
        "codes/codes-md5.npy": 5,
        "corpora/wiki": 3,
        "finished/token.npz": 3,
        "running/r": 3,
    }
    assert entries(cache / "none") == []


def test_results_that_wait_are_kept_and_those_set_aside_are_not(cache: Path) -> None:
    (cache / "finished" / "other.npz.bad").write_bytes(b"1")
    os.utime(cache / "finished" / "other.npz.bad", (1e9, 1e9))
    removed = names(cleaned(cache, older_than_s=DAY_S))
    assert "finished/other.npz.bad" in removed and "finished/token.npz" not in removed


def test_folders_are_summed_up_and_explained(cache: Path) -> None:
    (cache / "corpora" / "other").write_bytes(b"12345678")
    os.utime(cache / "corpora" / "other", (2e9, 2e9))
    (cache / "mine").mkdir()
    (cache / "mine" / "notes.txt").touch()
    found = {room.name: room for room in rooms(cache)}
    corpora = found["corpora"]
    assert (len(corpora.entries), corpora.n_bytes, corpora.used_at) == (2, 11, 2e9)
    assert (corpora.holds, found["mine"].holds) == ("corpora as type ids", "not of this program")
    assert sum(room.n_bytes for room in found.values()) == total_bytes(entries(cache)) == 25
    assert rooms(cache / "none") == []


def test_only_what_is_old_goes_and_weights_only_on_demand(cache: Path) -> None:
    (cache / "corpora" / "wiki" / "ids.npy").read_bytes()
    os.utime(cache / "corpora" / "wiki" / "ids.npy")  # used just now; a file system may note no reading
    assert cleaned(cache, older_than_s=11 * DAY_S) == []
    planned = cleaned(cache, older_than_s=5 * DAY_S, dry_run=True)
    assert names(planned) == {"codes/codes-md5.npy", "running/r"} and len(entries(cache)) == 5
    assert names(cleaned(cache, older_than_s=5 * DAY_S)) == names(planned)
    assert names(entries(cache)) == {"artifacts/run1", "corpora/wiki", "finished/token.npz"}
    assert not list((cache / "codes").iterdir())  # neither checksums nor locks are left
    assert names(cleaned(cache, older_than_s=0, weights=True)) == {"artifacts/run1", "corpora/wiki"}


def test_nothing_goes_while_a_sweep_uses_it(cache: Path) -> None:
    with using(cache), using(cache):
        with pytest.raises(InputError, match="a sweep is using this cache; clean it when the sweep is done"):
            cleaned(cache, older_than_s=0)
    assert cleaned(cache, older_than_s=0)


def test_leftovers_of_runs_that_are_done_are_removed(cache: Path) -> None:
    (cache / "running" / "other").mkdir()
    remove_leftovers(cache, ["r", "none"])
    assert [path.name for path in (cache / "running").iterdir()] == ["other"]
