"""Words: runs of word characters or of others, white space apart; or all that is between white space."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from hashbench.portable.letters import lowering, unpacked, without_lone_surrogates


def words(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[str]]:
    """A function from a text to its words."""
    lower = lowering(values) if values["lowercase"] else str
    if "alternatives" in values:
        expression = re.compile("|".join(f"[{_characters(packed)}]{many}" for packed, many in values["alternatives"]))
    else:
        word, space = _characters(values["word"]), _characters(values["space"])
        expression = re.compile(f"[{word}]+|[^{word}{space}]+" if word else f"[^{space}]+")
    return lambda text: expression.findall(lower(without_lone_surrogates(text)))


def _characters(packed: str) -> str:
    """Packed ranges as a regular expression writes a set of characters."""
    return "".join(f"\\U{first:08x}-\\U{end - 1:08x}" for first, end in unpacked(packed))
