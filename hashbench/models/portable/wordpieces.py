"""BERT's word pieces: text normalised character by character, words cut greedily into the longest pieces.

What becomes of each character ships with the model, as the library of the training had it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hashbench.models.portable.letters import lower_table, members, reading, unpacked

HANGUL, HANGUL_END, VOWELS, TAILS = 0xAC00, 0xD7A4, 21, 28
JAMO = (0x1100, 0x1161, 0x11A7)  # leading consonants, vowels, trailing consonants


def character_table(values: Mapping[str, Any]) -> dict[int, str]:
    """Code point -> what the normaliser makes of it, for those that it changes."""
    table = lower_table(values["rules"], values["others"])
    if values["splits_hangul"]:
        for point in range(HANGUL, HANGUL_END):
            rest, tail = divmod(point - HANGUL, TAILS)
            parts = (rest // VOWELS, rest % VOWELS, tail) if tail else (rest // VOWELS, rest % VOWELS)
            table[point] = "".join(chr(first + part) for first, part in zip(JAMO, parts))  # noqa: B905  # two or three
    for kind, replacement in (("dropped", ""), ("spaces", " "), ("alone", " {} ")):
        for first, end in unpacked(values[kind]):
            table.update((point, replacement.replace("{}", chr(point))) for point in range(first, end))
    return table


def wordpieces(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[str]]:
    """A function from a text to its pieces; a word that cannot be cut is the unknown piece."""
    pieces = frozenset(json.loads(read("tokenizer.json"))["model"]["vocab"])
    table, punctuation = character_table(values), members(values["punctuation"])
    marker, unknown, longest = values["marker"], values["unknown"], values["longest"]
    text_of = reading(values)

    def words_of(text: str) -> Iterator[str]:
        for part in text.translate(table).split(" "):
            start = 0
            for i, character in enumerate(part):
                if character in punctuation:
                    yield part[start:i]
                    yield character
                    start = i + 1
            yield part[start:]

    def cut(word: str) -> list[str]:
        parts, start = [], 0
        while start < len(word) <= longest:
            prefix = marker if start else ""
            end = next((end for end in range(len(word), start, -1) if prefix + word[start:end] in pieces), start)
            if end == start:
                return [unknown]
            parts.append(prefix + word[start:end])
            start = end
        return parts or [unknown]

    return lambda text: [piece for word in words_of(text_of(text)) if word for piece in cut(word)]
