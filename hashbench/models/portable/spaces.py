"""Tokens between spaces, as the projection of PRADO and pQRNN reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from hashbench.models.portable.letters import lower_table, members, reading

REPLACEMENT = "\ufffd"  # left out


def spaces(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[str]]:
    """A function from a text to what is between its spaces, or its characters; a token may be empty."""
    text_of = reading(values)
    apart = cut_up(values)
    lowered = {**lower_table(values["lower"], values["lower_others"]), ord(REPLACEMENT): ""}
    kept = members(values["kept"]) if "kept" in values else None

    def token_of(part: str) -> str:
        part = part.lower() if part.isascii() else part.translate(lowered)
        return part if kept is None else "".join([character for character in part if character in kept])

    return lambda text: [token_of(part) for part in apart(text_of(text))]


def cut_up(values: Mapping[str, Any]) -> Callable[[str], list[str]]:
    """A function from a text to its parts as they are spelled, but for repeated patterns."""
    changes = edits(values)

    def apart(text: str) -> list[str]:
        for pattern, replacement in changes:
            text = pattern.sub(replacement, text)
        return [part for part in text.split(" ") if part] if values["split"] else list(text)

    return apart


def edits(values: Mapping[str, Any]) -> list[tuple[re.Pattern[str], str]]:
    """Replacements in a text before it is cut up: patterns that repeat, then a space on each side of separators."""
    repeated = [re.compile(f"([^ 0-9][^ ]{{{n}}})\\1{{2,}}") for n in range(3)] if values["contract"] else []
    changes = [(pattern, r"\1\1") for pattern in repeated]
    if marks := "".join([re.escape(mark) for mark in values["separators"]]):
        changes.append((re.compile(f"(?!')([{marks}])(?=[^ ])"), r"\1 "))
        changes.append((re.compile(f"(?<=[^ ])([{marks}])"), r" \1"))
    return changes
