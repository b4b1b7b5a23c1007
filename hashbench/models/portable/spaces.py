"""Tokens between spaces, as the projection of PRADO and pQRNN reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hashbench.models.portable.letters import lower_table, reading

REPLACEMENT = "\ufffd"  # left out


def spaces(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[str]]:
    """A function from a text to what is between its spaces; a token may be empty."""
    text_of = reading(values)
    lowered = {**lower_table(values["lower"], values["lower_others"]), ord(REPLACEMENT): ""}

    def token_of(part: str) -> str:
        return part.lower() if part.isascii() else part.translate(lowered)

    return lambda text: [token_of(part) for part in text_of(text).split(" ") if part]
