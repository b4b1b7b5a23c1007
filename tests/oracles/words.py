"""Words and type tables in slow, plain Python: `re` on the lower-cased text, a Counter, a sort."""

from __future__ import annotations

import re
from collections import Counter


def words(text: str, pattern: str = r"\w+|[^\w\s]+", lowercase: bool = True) -> list[str]:
    """The definition: lower-case, then find all."""
    return re.findall(pattern, text.lower() if lowercase else text)


def table(token_lists: list[list[str]]) -> list[tuple[str, int]]:
    """(type, count), ordered by count descending, then by code points."""
    counts = Counter(token for tokens in token_lists for token in tokens)
    return sorted(counts.items(), key=lambda item: (-item[1], [ord(character) for character in item[0]]))
