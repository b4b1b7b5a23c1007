"""Tokens: words, characters and bytes; and tokens whose code is their number.

Words are runs of word characters or of others, white space apart, or all that is between white space. The tokenizer
`unicode` also knows marks, which go with the token before them, and letters of scripts without white space, each of
which is a token.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from hashbench.models.portable.letters import characters_of, lowering, reading


def words(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[str]]:
    """A function from a text to its words."""
    text_of, lower = reading(values), lowering(values) if values["lowercase"] else str
    expression = re.compile(pattern_of(values))
    return lambda text: expression.findall(lower(text_of(text)))


def pattern_of(values: Mapping[str, Any]) -> str:
    """The words as a regular expression in which every class of characters is spelled out."""
    if "alternatives" in values:
        return "|".join(f"[{characters_of(packed)}]{many}" for packed, many in values["alternatives"])
    word, space = characters_of(values["word"]), characters_of(values["space"])
    if "letter" in values:
        letter, mark = characters_of(values["letter"]), characters_of(values["mark"])
        return f"[{letter}][{mark}]*|[{word}{mark}]+|[^{word}{space}{letter}{mark}][^{word}{space}{letter}]*"
    return f"[{word}]+|[^{word}{space}]+" if word else f"[^{space}]+"


def characters(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[str]]:
    """A function from a text to its characters."""
    text_of = reading(values)
    return lambda text: list(text_of(text))


def codepoints(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[int]]:
    """A function from a character to its code point; a string of other length gets the value `other`."""
    return lambda token: [ord(token) if len(token) == 1 else values["other"]]


def text_bytes(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[str]]:
    """A function from a text to its bytes, byte b as the character U+00b."""
    text_of = reading(values)
    return lambda text: list(text_of(text).encode().decode("latin-1"))


def byte_rows(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[int]]:
    """A function from a byte to its row; any other string gets the row of the unknown token."""
    first, unknown = values["first_row"], values["unknown_row"]
    return lambda token: [first + ord(token) if len(token) == 1 and ord(token) < 256 else unknown]


def vocabulary(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[int]]:
    """A function from a token to its row; an unknown token gets the row of <unk>."""
    rows = {token: values["first_row"] + i for i, token in enumerate(json.loads(read("rows.json")))}
    return lambda token: [rows.get(token, values["unknown_row"])]
