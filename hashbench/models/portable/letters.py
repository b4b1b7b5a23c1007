"""Letters: which characters make words, and their lower case, by the Unicode version that a model was trained with.

Runtimes differ in their Unicode versions, so ranges ship with the model. They are packed as numbers in base 36: for
each range the distance from the end of the last one, and its length.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

SIGMA, FINAL_SIGMA = "\u03a3", "\u03c2"


def unpacked(packed: str) -> list[tuple[int, int]]:
    """The ranges of code points (first, end) in a packed text, the end not included.

    >>> unpacked("1c a 7 q")
    [(48, 58), (65, 91)]
    """
    ranges, at = [], 0
    numbers = [int(number, 36) for number in packed.split()]
    for gap, length in zip(numbers[::2], numbers[1::2]):  # noqa: B905  # pairs by construction
        ranges.append((at + gap, at + gap + length))
        at += gap + length
    return ranges


def members(packed: str) -> frozenset[str]:
    """The characters of the ranges in a packed text."""
    return frozenset(chr(point) for first, end in unpacked(packed) for point in range(first, end))


def characters_of(packed: str) -> str:
    """Packed ranges as a regular expression writes a set of characters."""
    return "".join(f"\\U{first:08x}-\\U{end - 1:08x}" for first, end in unpacked(packed))


def reading(values: Mapping[str, Any]) -> Callable[[str], str]:
    """A function from a text to what its tokens are made of: well-formed, without what is left out, in a normal form.

    For tokens in lower case, a text whose lower case is not in the form is lower-cased, but for capital sigmas. The
    device normalises the characters that the Unicode of the training knew; their normal forms are the same in all later
    versions.
    """
    dropped = re.compile(f"[{characters_of(values['dropped'])}]") if "dropped" in values else None
    assigned = re.compile(f"[{characters_of(values['known'])}]+") if "known" in values else None
    cases = values.get("form_lower")
    table = lower_table(cases["lower"], cases["lower_others"]) if cases else {}
    table.pop(ord(SIGMA), None)

    def in_form(text: str) -> str:
        if assigned is None:
            return text
        return assigned.sub(lambda part: unicodedata.normalize(values["form"], part.group()), text)

    def read(text: str) -> str:
        if text.isascii():
            return text
        text = without_lone_surrogates(text)
        if dropped is not None:
            text = dropped.sub("", text)
        text = in_form(text)
        if not table:
            return text
        lowered = text.translate(table)
        again = in_form(lowered)
        return text if again == lowered else again

    return read


def lower_table(rules: list[list[int]], others: Mapping[str, str]) -> dict[int, str]:
    """Code point -> its lower case. A rule (first, count, step, delta) is for `count` points, `step` apart."""
    table = {ord(point): lowered for point, lowered in others.items()}
    for first, count, step, delta in rules:
        for i in range(count):
            table[first + i * step] = chr(first + i * step + delta)
    return table


def lowering(values: Mapping[str, Any]) -> Callable[[str], str]:
    """A function that lower-cases a text as Python's `str.lower` does, capital sigma at a word's end included."""
    table = lower_table(values["lower"], values["lower_others"])
    ignorable, cased = members(values["ignorable"]), members(values["cased"])

    def is_final(text: str, i: int) -> bool:
        """True for a sigma behind a letter and before none."""
        before, after = i - 1, i + 1
        while before >= 0 and text[before] in ignorable:
            before -= 1
        while after < len(text) and text[after] in ignorable:
            after += 1
        is_behind_letter = before >= 0 and text[before] in cased
        return is_behind_letter and (after == len(text) or text[after] not in cased)

    def lower(text: str) -> str:
        if text.isascii():
            return text.lower()
        if SIGMA in text:
            text = "".join(FINAL_SIGMA if c == SIGMA and is_final(text, i) else c for i, c in enumerate(text))
        return text.translate(table)

    return lower


def without_lone_surrogates(text: str) -> str:
    """The text with each unpaired surrogate replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
