"""Runs that are blocked in C: ended and tried again, whatever carries them out."""

import contextlib
from pathlib import Path

import pytest

from hashbench.store.engine import open_store
from tests.running.sweep.hanging import HANG, attempts_of, ended_and_tried_again, sweep
from tests.store.conftest import server as server


@pytest.mark.parametrize("how", ["locked", pytest.param("unlocked", marks=pytest.mark.slow)])
def test_a_run_that_sleeps_in_c_is_ended_and_tried_again(tmp_path, how):
    ended_and_tried_again(tmp_path, how, str(tmp_path / "r.db"))


@pytest.mark.services
@pytest.mark.parametrize("how", ["numba", "unlocked"])
def test_the_same_on_postgresql(tmp_path, server, how):
    from tests.store.conftest import empty_database

    empty_database(server)
    ended_and_tried_again(tmp_path, how, server)


@pytest.mark.slow
def test_a_run_that_always_hangs_fails_and_says_where(tmp_path):
    ended = sweep(tmp_path, "always-numba", str(tmp_path / "r.db"), **HANG)
    assert ended.returncode == 1
    store = open_store(tmp_path / "r.db")
    assert [state for state, *_ in attempts_of(store)] == ["failed", "failed"]
    assert "failed: raw blocked: hung: no sign of progress for " in ended.stderr
    assert store.query("SELECT state FROM run")[0]["state"] == "failed"


@pytest.mark.slow
def test_a_process_of_several_that_hangs_ends_all_of_them(tmp_path):
    ended = sweep(tmp_path, "always-locked", str(tmp_path / "r.db"), devices=2, **HANG)
    assert ended.returncode == 1
    tries = attempts_of(open_store(tmp_path / "r.db"))
    assert [(state, reason[:6]) for state, reason, *_ in tries] == [("failed", "hung: ")] * 2
    assert all(log.count("in carry_out_share") == 2 for *_, log in tries), "each process has left its stack"
    assert not [line for line in processes() if str(tmp_path) in line], "none of them lives"


def processes() -> list[str]:
    """The command line and environment of each process that this one may read."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            found.append((folder / "environ").read_bytes().decode(errors="replace"))
    return found


@pytest.mark.slow
def test_a_sweep_whose_time_is_up_leaves_no_attempt_behind_that_is_blocked(tmp_path):
    ended = sweep(tmp_path, "always-silent-locked", str(tmp_path / "r.db"), max_hours=1)
    assert ended.returncode == 1 and "--max-hours: the time is up" in ended.stderr
    ((state, reason, *_),) = attempts_of(open_store(tmp_path / "r.db"))
    assert (state, reason) == ("lost", "it did not stop when the sweep was to end, so its process was ended")
