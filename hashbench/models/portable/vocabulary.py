"""Rows of a vocabulary: the place of a known token, or the row of the unknown one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any


def vocabulary(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[int]]:
    """A function from a token to its row."""
    rows = {token: values["first_row"] + i for i, token in enumerate(json.loads(read("rows.json")))}
    return lambda token: [rows.get(token, values["unknown_row"])]
