"""Signs of progress and who watches them, by a clock that the tests set."""

import os
from pathlib import Path

import pytest
from filelock import Timeout

from hashbench.common import clock, progress, shared
from hashbench.common.checksums import FileSum
from hashbench.common.progress import (
    BEFORE_FIRST_STEP,
    LONGEST_LOOK_S,
    RECORD,
    Sign,
    Silence,
    begin_work,
    give_signs_to,
)


@pytest.fixture
def now(monkeypatch):
    """The time in a list of one, which tests set."""
    time = [1000.0]
    monkeypatch.setattr(clock, "monotonic", lambda: time[0])
    return time


@pytest.fixture
def signs(tmp_path, now):
    path = tmp_path / "signs"
    give_signs_to(path)
    yield path
    give_signs_to(None)


def test_a_sign_says_when_it_was_given_and_in_what_work(signs, now):
    progress.progress("training")
    assert Sign.read(signs) == Sign(1000.0, True, "training")
    now[0] += 5
    progress.progress("preparing data", step=False)
    assert Sign.read(signs) == Sign(1005.0, False, "preparing data")


def test_signs_in_quick_succession_are_written_once_but_the_first_step_always(signs, now):
    progress.progress("preparing data", step=False)
    progress.progress("more of them", step=False)
    assert Sign.read(signs).doing == "preparing data"
    progress.progress("training")
    assert Sign.read(signs) == Sign(1000.0, True, "training")
    now[0] += 0.5
    progress.progress("training on")
    assert Sign.read(signs) == Sign(1000.0, True, "training")


def test_without_a_run_signs_go_nowhere():
    progress.progress("nothing")


def test_a_long_or_odd_description_is_cut_and_nothing_breaks(signs, now):
    progress.progress("ä" * 200)
    assert Sign.read(signs).doing == "ä" * 60
    now[0] += 5
    progress.progress("\udcff".encode("utf-8", "surrogateescape").decode("latin-1"))
    assert Sign.read(signs).at == 1005.0


@pytest.mark.parametrize("content", [b"", b"short", os.urandom(RECORD.size - 1)])
def test_a_file_that_holds_no_sign_is_an_empty_sign(tmp_path, content):
    (tmp_path / "signs").write_bytes(content)
    assert Sign.read(tmp_path / "signs") == Sign()
    assert Sign.read(tmp_path / "none") == Sign()


def look(watch: Silence, now: list[float], seconds: float, sign: Sign | None = None, **more: bool) -> None:
    """Looks every second for so long, at the same sign."""
    for _ in range(int(seconds)):
        now[0] += 1.0
        watch.look(watch.newest if sign is None else sign, **more)


def test_a_silence_of_the_limit_is_a_hang_and_a_sign_ends_it(now):
    watch = Silence(60.0)
    look(watch, now, 1, Sign(1.0, True))
    look(watch, now, 59)
    assert not watch.is_hung
    look(watch, now, 1)
    assert watch.is_hung
    look(watch, now, 1, Sign(2.0, True))
    assert not watch.is_hung and watch.silent_s == 0.0


def test_before_the_first_step_the_limit_is_longer(now):
    watch = Silence(60.0)
    look(watch, now, 1, Sign(1.0, False, "preparing data"))
    look(watch, now, 60 * BEFORE_FIRST_STEP - 1)
    assert not watch.is_hung
    look(watch, now, 1)
    assert watch.is_hung
    look(watch, now, 1, Sign(2.0, True))
    look(watch, now, 1, Sign(3.0, False))  # a later sign of other work changes nothing
    look(watch, now, 60)
    assert watch.is_hung


def test_work_that_never_gives_a_sign_is_not_watched_until_it_does(now):
    watch = Silence(60.0, from_start=False)
    look(watch, now, 1, Sign(1.0, False))  # of the suite's own preparation
    look(watch, now, 100_000)
    assert not watch.is_hung and watch.limit_s is None
    look(watch, now, 1, Sign(2.0, True))
    look(watch, now, 60)
    assert watch.is_hung


def test_without_a_limit_nothing_hangs(now):
    watch = Silence(None)
    look(watch, now, 1, Sign(1.0, True))
    look(watch, now, 100_000)
    assert not watch.is_hung


@pytest.mark.parametrize("pause", [3600.0, 1e6])
def test_a_machine_that_slept_and_a_watcher_that_was_stopped_make_nobody_silent(now, pause):
    watch = Silence(60.0)
    look(watch, now, 1, Sign(1.0, True))
    now[0] += pause
    watch.look(watch.newest)
    assert watch.silent_s == LONGEST_LOOK_S and not watch.is_hung


def test_a_worker_that_is_stopped_is_not_silent(now):
    watch = Silence(60.0)
    look(watch, now, 1, Sign(1.0, True))
    look(watch, now, 1000, stopped=True)
    look(watch, now, 59)
    assert not watch.is_hung


def test_where_the_signs_were_removed_nobody_is_silent(now):
    """By who cleans a temporary folder, for example."""
    watch = Silence(60.0)
    look(watch, now, 1, Sign(1.0, True))
    look(watch, now, 1000, Sign())
    assert not watch.is_hung


def test_new_work_begins_without_a_step(signs, now):
    progress.progress("training")
    begin_work()
    assert not Sign.read(signs).is_step
    progress.progress("training")
    assert Sign.read(signs).is_step


def test_forks_leave_their_signs_in_the_same_file(signs: Path, now: list[float]):
    child = os.fork()
    if not child:
        now[0] += 7
        progress.progress("in a fork")
        os._exit(0)
    os.waitpid(child, 0)
    assert Sign.read(signs) == Sign(1007.0, True, "in a fork")


def test_files_that_are_hashed_and_a_lock_that_is_waited_for_give_signs(signs, now, tmp_path, monkeypatch):
    (tmp_path / "weights").write_bytes(b"1")
    FileSum.of(tmp_path / "weights")
    assert Sign.read(signs) == Sign(1000.0, False, "checksums of files")
    waited: list[float] = []

    class Held:
        """A lock that another process gives up at the third try."""

        is_locked = False

        def __init__(self, path: str) -> None:
            pass

        def acquire(self, timeout: float) -> None:
            waited.append(timeout)
            now[0] += timeout
            if len(waited) < 3:
                raise Timeout("held")
            self.is_locked = True

        def release(self) -> None:
            pass

    monkeypatch.setattr(shared, "FileLock", Held)
    monkeypatch.setattr(shared, "seal", lambda *_: None)
    shared.make_once(tmp_path / "made", lambda part: None if part.write_text("whole") else None)
    assert len(waited) == 3
    assert Sign.read(signs) == Sign(1000.0 + 2 * shared.LOCK_S, False, "waiting for files that another process makes")
