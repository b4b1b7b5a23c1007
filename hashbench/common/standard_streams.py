"""Standard streams that outlive their readers.

Where the reader of its output has left, work goes on in silence, as under nohup: `head` has seen enough, a collector of
logs died, a terminal was closed. What would be printed then goes nowhere.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import select
import stat
import sys
from collections.abc import Iterator
from typing import Any, TextIO

NAMES = ("stdout", "stderr", "__stdout__", "__stderr__")


class LastingFile(io.FileIO):
    """The file of a standard stream: where its reader has left, it goes nowhere from then on."""

    def write(self, data: Any) -> int:
        """Writes bytes; waits for a slow reader of a non-blocking stream. Raises OSError, as of full disks."""
        try:
            while (written := super().write(data)) is None:
                select.select((), (self,), ())
            return written
        except OSError as error:
            if not _reader_left(error, self.fileno()):
                raise
            self.without_reader()
            return memoryview(data).nbytes

    def without_reader(self) -> None:
        """Directs it to nowhere."""
        to_nowhere(self.fileno())


class RemarksFile(LastingFile):
    """The file of stderr: what cannot be written there is lost, and no work with it."""

    def write(self, data: Any) -> int:
        """Writes bytes, or drops them."""
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def _reader_left(error: OSError, number: int) -> bool:
    """True for the error of a write to a pipe or a socket without a reader, or to a terminal that was closed."""
    if error.errno == errno.EIO:
        return stat.S_ISCHR(os.fstat(number).st_mode)
    return error.errno in (errno.EPIPE, errno.ECONNRESET)


def to_nowhere(number: int) -> None:
    """Directs a standard stream of this number, and all that write to it, to nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)


def fill_numbers() -> None:
    """Opens those of stdin, stdout and stderr that are closed, so that no other file gets their numbers."""
    number = os.open(os.devnull, os.O_RDWR)
    while number <= 2:  # the lowest that is free
        os.set_inheritable(number, True)
        number = os.open(os.devnull, os.O_RDWR)
    os.close(number)


def _over(stream: Any, kind: type[LastingFile], errors: str | None = None) -> Any:
    """A stream like this one over a file of that kind; the same where it was replaced, as in tests and notebooks."""
    buffer: Any = getattr(stream, "buffer", None)  # with PYTHONUNBUFFERED the file itself
    if type(getattr(buffer, "raw", buffer)) is not io.FileIO:
        return stream
    with contextlib.suppress(OSError):
        stream.flush()
    file = kind(stream.fileno(), "w", closefd=False)
    options = {"line_buffering": stream.line_buffering, "write_through": stream.write_through}
    above: Any = file if type(buffer) is io.FileIO else io.BufferedWriter(file)
    return io.TextIOWrapper(above, stream.encoding, errors or stream.errors, **options)


def outlive_readers(stdout: type[LastingFile] = LastingFile, errors: str | None = None) -> None:
    """Lets the standard streams of this process outlive their readers from now on.

    `stdout`: the kind of its file. `errors`: what is done with characters that the encoding lacks; None: as before.
    """
    fill_numbers()
    for name in ("stdout", "stderr"):
        before: TextIO | None = getattr(sys, name)
        lasting = _over(before, stdout if name == "stdout" else RemarksFile, errors)
        if getattr(sys, f"__{name}__") is before:
            setattr(sys, f"__{name}__", lasting)
        setattr(sys, name, lasting)


@contextlib.contextmanager
def outliving_readers() -> Iterator[None]:
    """Lets the standard streams of this process outlive their readers during the block."""
    before = {name: getattr(sys, name) for name in NAMES}
    outlive_readers()
    try:
        yield
    finally:
        for name, stream in before.items():
            if (lasting := getattr(sys, name)) is not stream:
                lasting.flush()
                setattr(sys, name, stream)
