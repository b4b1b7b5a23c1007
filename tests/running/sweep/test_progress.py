"""What a log and a terminal show of a sweep."""

import io
import re

import pytest

from hashbench.common.showing import tell
from hashbench.running.sweep import progress as progress_file
from hashbench.running.sweep.progress import RunEnded, RunProgress, RunStarted, SweepProgress

ONE, OTHER = "abcdef0123" * 6, "0123abcdef" * 6


def test_a_log_has_one_plain_line_a_run():
    stream = io.StringIO()
    with SweepProgress(4, 1, lambda: 125.0, stream) as progress:
        progress.show(RunStarted(0, ONE, "bert-mlm cola seed 0"))
        progress.show(RunProgress(0, "train/loss", 0.5, 10, 100))
        progress.show(RunEnded(0, ONE, "bert-mlm cola seed 0", "done", 3.21, "matthews 12.3"))
        progress.show(RunStarted(0, OTHER, "bert-mlm rte seed 0"))
        progress.show(RunEnded(0, OTHER, "bert-mlm rte seed 0", "failed", 1.0, "ValueError: x"))
    assert stream.getvalue().splitlines() == [
        "3 of 4 runs to do; workers are loading what trains",
        "[1/4, time left not known yet] abcdef01 bert-mlm cola seed 0: begins",
        "[2/4, about 2 min left] abcdef01 bert-mlm cola seed 0: done in 3.2 s; matthews 12.3",
        "[2/4, about 2 min left] 0123abcd bert-mlm rte seed 0: failed in 1.0 s; ValueError: x",
    ]


def test_no_estimate_is_shown_before_there_is_one():
    stream = io.StringIO()
    with SweepProgress(2, 0, lambda: None, stream) as progress:
        progress.show(RunEnded(0, ONE, "m t", "interrupted", 3.21))
        progress.show(RunEnded(0, ONE, "m t", "done", 3.21))
        progress.show(RunEnded(0, OTHER, "m u", "failed", 3.21))
    shown = stream.getvalue()
    assert "[0/2, time left not known yet] abcdef01 m t: interrupted in 3.2 s" in shown
    assert "[1/2, time left not known yet] abcdef01 m t: done" in shown and "[1/2] 0123abcd m u: failed" in shown


def test_the_time_left_grows_less_while_a_run_goes_on(monkeypatch: pytest.MonkeyPatch):
    """The estimate is that of the last run's end; a long run would show it unchanged for hours."""
    now = [1000.0]
    monkeypatch.setattr(progress_file.time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    with SweepProgress(3, 0, lambda: 6000.0, stream) as progress:
        progress.show(RunEnded(0, ONE, "m t", "done", 3.0))
        now[0] += 2400.0
        assert progress._rest() == ", about 60 min left"
        now[0] += 1200.0
        assert progress._rest() == ", about 40 min left"
        now[0] += 7200.0
        assert progress._rest() == ", time left not known"


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def shown_on(terminal: Terminal) -> str:
    """The text of a terminal without its codes."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())


def test_a_file_gets_lines_and_no_bars_where_colours_are_asked_for(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as in the kernel of a notebook
    file = io.StringIO()
    with SweepProgress(4, 1, lambda: 125.0, file) as progress:
        assert progress._bars is None
    assert "\x1b" not in file.getvalue()


def test_a_terminal_shows_runs_done_of_all_steps_of_the_running_ones_and_the_time_left(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    terminal = Terminal()
    with SweepProgress(4, 1, lambda: 125.0, terminal) as progress:
        assert progress._bars is not None
        progress._bars.refresh()
        assert "workers are loading what trains" in shown_on(terminal) and "1/4" in shown_on(terminal)
        progress.show(RunStarted(0, ONE, "m cola seed 0"))
        progress.show(RunStarted(1, OTHER, "m rte seed 0"))
        progress.show(RunProgress(0, "loss", 0.5, 10, 100))
        progress._bars.refresh()
        at_once = shown_on(terminal)
        assert "abcdef01 m cola seed 0" in at_once and "0123abcd m rte seed 0" in at_once
        assert "10/100" in at_once and "loss 0.5" in at_once and "time left not known yet" in at_once
        progress.show(RunEnded(0, ONE, "m cola seed 0", "done", 3.21))
        terminal.truncate(0)
        progress._bars.refresh()
        assert "m cola" not in shown_on(terminal)  # its row is gone, the line above stays
        assert "2/4" in shown_on(terminal) and "about 2 min left" in shown_on(terminal)


def test_a_line_is_printed_once_while_bars_are_shown(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr("sys.__stderr__", terminal)
    with SweepProgress(4, 1, lambda: None, terminal):
        tell("the database is away")
    assert shown_on(terminal).count("the database is away") == 1


def test_a_run_that_shows_no_steps_is_announced() -> None:
    stream = io.StringIO()
    with SweepProgress(3, 0, lambda: None, stream) as progress:
        progress.show(RunStarted(0, "a" * 64, "first"))
        progress.show(RunStarted(0, "b" * 64, "second"))
        progress.show(RunStarted(0, "c" * 64, "bag-of-words on mine", announced=True))
    assert "second: begins" not in stream.getvalue()
    assert "bag-of-words on mine: begins" in stream.getvalue()
