"""The one error that a user of hashbench can cause."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator


class InputError(Exception):
    """Wrong input: one line, *where: what; remedy*. The command line prints it and leaves with exit code 2."""


class NotAtHand(InputError):
    """Known data or weights that this machine lacks now: no source has them, or the hub cannot be reached."""


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or the name of its class where it has none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def near_match(word: str, words: list[str]) -> str:
    """A half sentence that suggests the one or two `words` most like `word`, whatever the case of letters, or the words
    with these initials; empty where none is close.

    >>> near_match("hashformer-md-prj", ["hashformer-md-proj", "bert-mlm"])
    "; did you mean 'hashformer-md-proj'?"
    >>> near_match("k2-0.8", ["k2-0.8M", "k2-0.8M"])
    "; did you mean 'k2-0.8M'?"
    >>> near_match("lr", ["learning_rate", "lora"]), near_match("SST2", ["sst2", "stsb"])
    ("; did you mean 'learning_rate'?", "; did you mean 'sst2'?")
    >>> near_match("xyz", ["bert-mlm"])
    ''
    """
    import difflib

    matches = difflib.get_close_matches(word, list(dict.fromkeys(words)), n=2, cutoff=0.6)
    same = [name for name in words if name.lower() == word.lower()]
    initials = [name for name in words if "_" in name and "".join(part[:1] for part in name.split("_")) == word.lower()]
    matches = list(dict.fromkeys(same or initials or matches))[:2]
    return f"; did you mean {' or '.join(repr(match) for match in matches)}?" if matches else ""


@contextlib.contextmanager
def located(where: str) -> Iterator[None]:
    """Puts `where` (a file, a file and line, a model) before the message of an InputError from the block.

    >>> with located("glue.yaml:7"):
    ...     raise InputError("unknown model 'x'")
    Traceback (most recent call last):
    hashbench.common.errors.InputError: glue.yaml:7: unknown model 'x'

    Where the message begins with a line of that file, it is left as it is.
    """
    try:
        yield
    except InputError as error:
        kind = NotAtHand if isinstance(error, NotAtHand) else InputError
        inner = re.match(rf"{re.escape(where.partition(':')[0])}:\d", str(error))  # names a line of the file already
        raise kind(str(error) if inner else f"{where}: {error}") from error
