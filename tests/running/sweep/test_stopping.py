"""Signals that end a sweep."""

import os
import pty
import signal
import subprocess
import sys
import threading
import time

import pytest

from hashbench.running.sweep.processes import Stopped, stop_signals


@pytest.mark.parametrize(("number", "code"), [(signal.SIGUSR1, 138), (signal.SIGUSR2, 140)])
def test_a_signal_of_a_batch_system_stops_unless_the_program_handles_it(number, code):
    started_with = signal.signal(number, signal.SIG_DFL)
    try:
        with pytest.raises(Stopped) as stopped, stop_signals():
            os.kill(os.getpid(), number)
            signal.pause()
        assert stopped.value.exit_code == code
        heard = []
        signal.signal(number, lambda *_: heard.append(number))
        with stop_signals():
            os.kill(os.getpid(), number)
        assert heard == [number]
    finally:
        signal.signal(number, started_with)


def test_in_another_thread_no_signal_is_heard_and_nothing_fails():
    def swept():
        with stop_signals():
            done.append(True)

    done = []
    thread = threading.Thread(target=swept)
    thread.start()
    thread.join()
    assert done == [True]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_each_signal_stops_with_the_exit_code_that_shells_give_it(number, code):
    started_with = signal.signal(number, signal.default_int_handler)  # tests under nohup start with it ignored
    try:
        with pytest.raises(Stopped) as stopped, stop_signals():
            os.kill(os.getpid(), number)
            signal.pause()
        assert stopped.value.exit_code == code
        after = signal.SIG_IGN if number == signal.SIGHUP else signal.default_int_handler
        assert signal.getsignal(number) == after
    finally:
        signal.signal(number, started_with)


def test_under_nohup_a_closed_terminal_stops_nothing():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_signals():
            os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


ON_A_TERMINAL = """
import signal, sys, time
from hashbench.running.sweep.processes import Stopped, stop_signals
try:
    with stop_signals():
        print("ready", flush=True)
        time.sleep(60)
except Stopped as stopped:
    print("to nobody", flush=True)
    print("to nobody", file=sys.stderr, flush=True)
    time.sleep(0.5)
    sys.exit(stopped.exit_code)
"""


def test_after_its_terminal_was_closed_a_sweep_ends_in_order():
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", ON_A_TERMINAL], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    said = b""
    while not said.endswith(b"\n"):  # a terminal hands on a line in pieces; closed before its end, the print fails
        said += os.read(ours, 100)
    assert said.startswith(b"ready")
    os.close(ours)
    for _ in range(5):  # the kernel sends one, the shell another
        process.send_signal(signal.SIGHUP)
        time.sleep(0.1)
    assert process.wait(timeout=60) == 129
