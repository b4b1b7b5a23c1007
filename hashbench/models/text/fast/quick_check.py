"""Texts that a reading leaves as they are, found in one compiled pass: the quick check of UAX 15, section 9.

Python lower-cases and normalises the others. The check is on the safe side: it may name a text that does not change.
A character that may join the one before it counts only behind a character that begins a composition: most vowel signs
of Tamil and Burmese pass, a decomposed letter does not.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Literal

import numpy as np

from hashbench.common.invisible import Ranges
from hashbench.models.text.compiled import code_point, compiled, inlined
from hashbench.models.text.fast.machine import SCAN_BLOCK, masks, trailing_zeros
from hashbench.models.text.unicode import CODE_POINTS, NOT_BY_CHARACTER

# Bits of a code point above its canonical combining class: a text with it may change; it begins a composition; it may
# join what begins one
CHANGES, BEGINS, JOINS = 1 << 8, 1 << 9, 1 << 10
CLASS = 0xFF
ASSIGNED = (range(0x33480), range(0xE0000, 0xE01F0))  # others have no characters but for private use
HANGUL, LEADING, VOWELS, TRAILING = (0xAC00, 0xD7A4), (0x1100, 0x1113), (0x1161, 0x1176), (0x11A8, 0x11C3)


@lru_cache(maxsize=8)
def change_marks(form: Literal["none", "NFC", "NFKC"], dropped: Ranges, lowers: bool) -> np.ndarray:
    """Code point -> its marks and combining class (n,) uint16, n = 0x110000.

    `form`: none, NFC or NFKC; `dropped`: code points that are left out; `lowers`: a lower case is made, and the form
    must hold for it, too.
    """
    marks = np.zeros(CODE_POINTS, np.uint16)
    if form != "none":
        _mark_form(marks, form, lowers)
    for first, last in dropped:
        marks[first : last + 1] |= CHANGES
    for character in NOT_BY_CHARACTER if lowers else ():
        marks[ord(character)] |= CHANGES
    marks.setflags(write=False)
    return marks


def _mark_form(marks: np.ndarray, form: Literal["NFC", "NFKC"], lowers: bool) -> None:
    """Marks (n,) what a normal form may change."""
    begins, joins, decomposed = _compositions()
    marks[ASSIGNED[0].stop : ASSIGNED[1].start] = CHANGES  # a later Unicode may have characters there
    marks[ASSIGNED[1].stop :] = CHANGES
    for point in (point for part in ASSIGNED for point in part):
        if place := unicodedata.combining(chr(point)):
            marks[point] = place
    for character, parts in decomposed.items():
        if unicodedata.normalize(form, character) != character:
            marks[ord(character)] |= CHANGES
        if begins.intersection(parts):
            marks[ord(character)] |= BEGINS
    marks[[ord(character) for character in begins]] |= BEGINS
    marks[[ord(character) for character in joins]] |= JOINS
    for first, last in (HANGUL, LEADING):
        marks[first:last] |= BEGINS
    for first, last in (VOWELS, TRAILING):
        marks[first:last] |= JOINS
    for point in (point for part in ASSIGNED for point in part) if lowers else ():
        lowered = chr(point).lower()
        if lowered != chr(point):
            other = int(marks[ord(lowered)]) if len(lowered) == 1 else CHANGES
            marks[point] |= other if (other ^ int(marks[point])) & CLASS == 0 else CHANGES


def _compositions() -> tuple[set[str], set[str], dict[str, str]]:
    """-> (first and second characters of compositions, what each character with a decomposition is in NFKD or NFD).

    Syllables of Hangul are left out: they are composed by arithmetic.
    """
    begins: set[str] = set()
    joins: set[str] = set()
    decomposed: dict[str, str] = {}
    for point in (point for part in ASSIGNED for point in part):
        mapping = unicodedata.decomposition(chr(point))
        if not mapping or HANGUL[0] <= point < HANGUL[1]:
            continue
        character = chr(point)
        decomposed[character] = unicodedata.normalize("NFD", character)
        parts = mapping.split()
        if len(parts) == 2 and not mapping.startswith("<") and unicodedata.normalize("NFC", character) == character:
            begins.add(chr(int(parts[0], 16)))
            joins.add(chr(int(parts[1], 16)))
    return begins, joins, decomposed


@compiled
def changing(data: np.ndarray, starts: np.ndarray, stops: np.ndarray, marks: np.ndarray, out: np.ndarray) -> int:
    """Texts data[starts[i] : stops[i]] in UTF-8 -> `out` (n,) bool, whether each may change; returns their number."""
    n = 0
    for text in range(len(starts)):
        out[text] = may_change(data, starts[text], stops[text], marks)
        n += out[text]
    return n


@inlined
def may_change(data: np.ndarray, at: int, stop: int, marks: np.ndarray) -> bool:
    """True for a text with a character that changes, two that may be composed, or marks in another order."""
    before, order = 0, 0  # the marks of the last character of combining class 0; the class of the last character
    while at < stop:
        if at + SCAN_BLOCK <= len(data):
            plain = min(trailing_zeros(masks(data, at)[2]), stop - at)
            if plain > 0:
                at += plain
                before, order = int(marks[data[at - 1]]), 0
        while at < stop:
            point, width = code_point(data, at)
            mark = int(marks[point])
            place = mark & CLASS
            if mark & CHANGES or (mark & JOINS and before & BEGINS) or (place != 0 and order > place):
                return True
            order = place
            if place == 0:
                before = mark
            at += width
            if point < 0x80:
                break
    return False
