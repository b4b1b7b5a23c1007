"""Standard streams that outlive their readers: pipes and terminals that are closed, full disks, slow readers."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from hashbench.common.process import LastingFile, RemarksFile, outliving_readers

PROGRAM = """
import os, sys
from hashbench.common.process import outliving_readers
with outliving_readers():
    print("first", file=sys.stdout, flush=True)
    print("first", file=sys.stderr, flush=True)
    sys.stdin.read()  # until the test has closed what it reads
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        print("to nobody", file=stream, flush=True)
    os.write(1, b"nor this"), os.write(2, b"nor this")  # as a library in C
os._exit(7)
"""


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("closed", [("stdout",), ("stderr",), ("stdout", "stderr")])
def test_work_goes_on_where_a_reader_has_left(closed: tuple[str, ...], unbuffered: str) -> None:
    pipe = subprocess.PIPE
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=pipe, stdout=pipe, stderr=pipe, env=environment)
    streams = {"stdout": process.stdout, "stderr": process.stderr}
    assert process.stdin is not None
    for name, stream in streams.items():
        assert stream is not None and stream.readline() == b"first\n"
        if name in closed:
            stream.close()
    process.stdin.close()
    for name in streams.keys() - set(closed):
        stream = streams[name]
        assert stream is not None and stream.read() == b"to nobody\nto nobody\nnor this"
    assert process.wait(timeout=60) == 7


def test_work_goes_on_where_a_terminal_was_closed() -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE, stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    said = b""
    while said.count(b"first\r\n") < 2:
        said += os.read(ours, 100)
    os.close(ours)
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=60) == 7


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_disk_loses_remarks_and_is_an_error_for_results() -> None:
    with open("/dev/full", "wb") as full:
        assert RemarksFile(full.fileno(), "w", closefd=False).write(b"remark") == 6
        with pytest.raises(OSError, match="No space left"):
            LastingFile(full.fileno(), "w", closefd=False).write(b"result")


def test_streams_that_were_replaced_stay(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout, sys.stderr
    with outliving_readers():
        assert (sys.stdout, sys.stderr) == before
    assert (sys.stdout, sys.stderr) == before
