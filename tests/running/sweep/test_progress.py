"""What a log shows of a sweep."""

import io

from hashbench.running.sweep.progress import RunEnded, RunProgress, RunStarted, SweepProgress


def test_a_log_has_one_plain_line_a_run():
    stream = io.StringIO()
    with SweepProgress(4, 1, lambda: 125.0, stream) as progress:
        progress.show(RunStarted(0, "abc", "bert-mlm cola seed 0"))
        progress.show(RunProgress(0, "train/loss", 0.5, 10, 100))
        progress.show(RunEnded(0, "abc", "bert-mlm cola seed 0", "done", 3.21, "matthews 12.3"))
        progress.show(RunEnded(0, "abd", "bert-mlm rte seed 0", "failed", 1.0, "ValueError: x"))
    assert stream.getvalue().splitlines() == [
        "3 of 4 runs to do",
        "[2/4, about 2 min left] bert-mlm cola seed 0: done in 3.2 s; matthews 12.3",
        "[2/4, about 2 min left] bert-mlm rte seed 0: failed in 1.0 s; ValueError: x",
    ]


def test_no_estimate_is_shown_before_there_is_one():
    stream = io.StringIO()
    with SweepProgress(2, 0, lambda: None, stream) as progress:
        progress.show(RunEnded(0, "abc", "m t", "interrupted", 3.21))
        progress.show(RunEnded(0, "abc", "m t", "done", 3.21))
        progress.show(RunEnded(0, "abd", "m u", "failed", 3.21))
    shown = stream.getvalue()
    assert "[0/2, time left not known yet] m t: interrupted in 3.2 s" in shown
    assert "[1/2, time left not known yet] m t: done" in shown and "[1/2] m u: failed" in shown
