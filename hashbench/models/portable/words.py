"""Words: runs of word characters or of others, white space apart; or all that is between white space.

Where marks and letters of scripts without white space are told apart, a mark goes with what stands before it, and such
a letter is a token.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from hashbench.models.portable.letters import lowering, unpacked, without_lone_surrogates


def words(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[str]]:
    """A function from a text to its words."""
    lower = lowering(values) if values["lowercase"] else str
    expression = re.compile(pattern_of(values))
    return lambda text: expression.findall(lower(without_lone_surrogates(text)))


def pattern_of(values: Mapping[str, Any]) -> str:
    """The words as a regular expression in which every class of characters is spelled out."""
    if "alternatives" in values:
        return "|".join(f"[{_characters(packed)}]{many}" for packed, many in values["alternatives"])
    word, space = _characters(values["word"]), _characters(values["space"])
    if "letter" in values:
        letter, mark = _characters(values["letter"]), _characters(values["mark"])
        return f"[{letter}][{mark}]*|[{word}{mark}]+|[^{word}{space}{letter}{mark}][^{word}{space}{letter}]*"
    return f"[{word}]+|[^{word}{space}]+" if word else f"[^{space}]+"


def _characters(packed: str) -> str:
    """Packed ranges as a regular expression writes a set of characters."""
    return "".join(f"\\U{first:08x}-\\U{end - 1:08x}" for first, end in unpacked(packed))
