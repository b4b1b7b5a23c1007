"""Standard streams as commands need them: open, and able to print any character.

A stream that was closed before the program began is replaced by one that goes nowhere: else the next file that is
opened, perhaps the database, would get its number and what C libraries print. A result that would be printed there is
an error, as on a full disk. Where its reader leaves while a command is at work, the command goes on in silence and ends
with the exit code of its work; only one that would print for ever ends there. A character that the encoding of a stream
lacks is printed as an ASCII one, or escaped as in JSON.
"""

from __future__ import annotations

import codecs
import errno
import io
import sys
import warnings
from typing import Any, ClassVar, Literal

from hashbench.common.process import LastingFile, fill_numbers, outlive_readers, to_nowhere
from hashbench.common.showing import printable, without_passwords

HANDLER = "hashbench"  # registered name
SUBSTITUTES = {
    "─": "-", "–": "-", "—": "-", "−": "-", "│": "|", "±": "+-", "†": "!", "‡": "#", "§": "$", "×": "x", "⋅": ",",
    "·": ".", "≠": "!=", "≤": "<=", "≥": ">=", "→": "->", "…": "...", "✓": "yes", "✗": "no", "█": "#", "━": "-",
    "╸": "-", "╺": "-", "•": "*", **{sign: f"^{digit}" for digit, sign in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
}  # fmt: skip


class StdoutGone(OSError):
    """Stdout takes no more: the disk under it is full, say."""


class ReaderGone(Exception):
    """The reader of stdout has left a command that ends with its reader."""


class _Stdout(LastingFile):
    """The file of stdout, whose errors differ from other files' errors."""

    was_closed: ClassVar[bool] = False  # before the program began
    ends_with_reader: ClassVar[bool] = False

    def without_reader(self) -> None:
        """Directs it to nowhere. Raises ReaderGone in a command that ends with its reader."""
        super().without_reader()
        if _Stdout.ends_with_reader:
            raise ReaderGone

    def write(self, data: Any) -> int:
        """Writes bytes. Raises StdoutGone, and ReaderGone as `without_reader`."""
        if _Stdout.was_closed:
            raise StdoutGone(errno.EBADF, "is closed")
        try:
            return super().write(data)
        except OSError as error:
            raise StdoutGone(error.errno, error.strerror) from error


def prepare() -> None:
    """Makes stdin, stdout and stderr streams that a command can use."""
    fill_numbers()
    modes: dict[str, Literal["r", "w"]] = {"stdin": "r", "stdout": "w", "stderr": "w"}
    for number, (name, mode) in enumerate(modes.items()):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))
            _Stdout.was_closed = _Stdout.was_closed or name == "stdout"
    codecs.register_error(HANDLER, _substitute)
    warnings.showwarning = _show_warning
    _Stdout.ends_with_reader = False
    outlive_readers(_Stdout, HANDLER)
    if isinstance(sys.stderr, io.TextIOWrapper):  # one that was replaced, as in tests
        sys.stderr.reconfigure(errors=HANDLER)


def stdout_was_closed() -> bool:
    """True where stdout was closed before the program began."""
    return _Stdout.was_closed


def leave() -> None:
    """Directs stdout to nowhere, so that what is left in its buffer is no error at the end of the program."""
    _Stdout.was_closed = False
    to_nowhere(sys.stdout.fileno())


def end_with_reader() -> None:
    """Lets this command end, with exit code 0, when its reader leaves: it would print for ever, and does nothing else.

    Any other one goes on in silence, since it may do more than print, and its exit code says how that ended.
    """
    _Stdout.ends_with_reader = True


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: str | None = None,
) -> None:
    """Prints a warning as Python does, with escapes in place of control characters: it may quote a stored name."""
    text = warnings.formatwarning(message, category, filename, lineno, line)
    print(printable(without_passwords(text)), end="", file=sys.stderr if file is None else file)


def _substitute(error: UnicodeError) -> tuple[str | bytes, int]:
    """ASCII for the characters of an encoding error, and the position behind them.

    >>> _substitute(UnicodeEncodeError("ascii", "1 ± 2", 2, 3, ""))
    ('+-', 3)
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end]
    if all("\udc80" <= character <= "\udcff" for character in characters):  # bytes of a file's name
        return bytes(ord(character) - 0xDC00 for character in characters), error.end
    return "".join(SUBSTITUTES.get(character) or _escaped(character) for character in characters), error.end


def _escaped(character: str) -> str:
    """A character as JSON escapes it, in two parts beyond 16 bits."""
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
