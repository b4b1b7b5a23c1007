"""Whole numbers that a text writes, where it may be any text."""

from __future__ import annotations

import re

# More digits are no number of anything here, and Python refuses to read thousands of them
WHOLE = re.compile("[0-9]{1,18}")


def whole_number(text: str) -> int | None:
    """The number that a text of digits writes; None for any other text.

    `str.isdigit` is true of texts that `int` does not read, such as a superscript.

    >>> whole_number("042"), whole_number("-1"), whole_number("\u00b2"), whole_number("")
    (42, None, None, None)
    """
    return int(text) if WHOLE.fullmatch(text) else None
