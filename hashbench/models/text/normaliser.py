"""Values for portable text sides: what the `tokenizers` library makes of each character, read off the library."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Any

import numpy as np
from tokenizers import Tokenizer, normalizers, pre_tokenizers

from hashbench.models.text.shipped import SURROGATES, packed, rules_of
from hashbench.models.text.unicode import CODE_POINTS

# A snowman: no normaliser changes it, or joins anything to it.
BETWEEN = "\u2603"
AT_ONCE = 8_192  # characters in one call
SPACE = ord(" ")  # joins the piece behind it
HANGUL = range(0xAC00, 0xD7A4)  # syllables, which fall apart by arithmetic


@lru_cache(maxsize=1)
def byte_level_classes() -> dict[str, str]:
    """Values for portable/byte_pairs.py: the characters that byte-level BPE cuts as letters, figures or white space.

    Characters that follow each other in Unicode and are of one class are one piece; its class is that of its last one.
    """
    splits = pre_tokenizers.ByteLevel(add_prefix_space=False)
    classes = {kind: np.zeros(CODE_POINTS, bool) for kind in ("letter", "figure", "space", "other")}
    points = [point for point in range(CODE_POINTS) if point not in SURROGATES]
    for start in range(0, len(points), AT_ONCE):
        block = points[start : start + AT_ONCE]
        for _, (first, end) in splits.pre_tokenize_str("".join(map(chr, block))):
            piece = [point for point in block[first:end] if point != SPACE]
            if piece:
                classes[_class_of(chr(piece[-1]), splits)][piece] = True
    classes["space"][SPACE] = True
    return {kind: packed(classes[kind]) for kind in ("letter", "figure", "space")}


def _class_of(character: str, splits: pre_tokenizers.ByteLevel) -> str:
    """The class of a character: that of the one before it from which it is not parted."""
    for kind, before in (("letter", "a"), ("figure", "1"), ("other", "!")):
        if len(splits.pre_tokenize_str(before + character)) == 1:
            return kind
    return "space"


@lru_cache(maxsize=2)
def lowercase_values(lowercase: bool) -> dict[str, Any]:
    """Values for portable/byte_pairs.py: what the library's lower-casing, if any, makes of each character."""
    single: dict[int, int] = {}
    others: dict[str, str] = {}
    for point in range(CODE_POINTS if lowercase else 0):
        lowered = chr(point) if point in SURROGATES else normalizers.Lowercase().normalize_str(chr(point))
        if len(lowered) == 1 and lowered != chr(point):
            single[point] = ord(lowered)
        elif lowered != chr(point):
            others[chr(point)] = lowered
    return {"lower": rules_of(single), "lower_others": others}


def normaliser_values(tokenizer: Tokenizer) -> dict[str, Any]:
    """Values for portable/wordpieces.py: sets of characters by what becomes of them, and tables of replacements."""
    points = [point for point in range(CODE_POINTS) if point not in SURROGATES]
    kinds = {kind: np.zeros(CODE_POINTS, bool) for kind in ("dropped", "spaces", "alone", "punctuation")}
    single: dict[int, int] = {}
    others: dict[str, str] = {}
    for start in range(0, len(points), AT_ONCE):
        block = [chr(point) for point in points[start : start + AT_ONCE]]
        text = tokenizer.normalizer.normalize_str(BETWEEN + BETWEEN.join(block) + BETWEEN)
        for character, replacement in zip(block, _between(text, block), strict=True):
            if replacement == "":
                kinds["dropped"][ord(character)] = True
            elif replacement == " ":
                kinds["spaces"][ord(character)] = True
            elif replacement == f" {character} ":
                kinds["alone"][ord(character)] = True
            elif len(replacement) == 1 and replacement != character:
                single[ord(character)] = ord(replacement)
            elif replacement != character:
                others[character] = replacement
    for point in _punctuation(tokenizer):
        kinds["punctuation"][point] = True
    splits = all(chr(point) in others and others[chr(point)] == _decomposed(point) for point in HANGUL)
    if splits:
        others = {character: replacement for character, replacement in others.items() if ord(character) not in HANGUL}
    sets = {kind: packed(members) for kind, members in kinds.items()}
    return {"rules": rules_of(single), "others": others, "splits_hangul": splits, **sets}


def _between(text: str, block: list[str]) -> list[str]:
    """The normal form of each character of a block, from a text with snowmen between them; one may be in the block."""
    parts = text.split(BETWEEN)[1:-1]
    if BETWEEN in block:
        place = block.index(BETWEEN)
        parts[place : place + 2] = [BETWEEN]
    return parts


def _decomposed(point: int) -> str:
    """The letters of a syllable of Hangul."""
    return unicodedata.normalize("NFD", chr(point))


def _punctuation(tokenizer: Tokenizer) -> list[int]:
    """The code points of characters that are always separate words."""
    characters = [chr(point) for point in range(CODE_POINTS) if point not in SURROGATES and not chr(point).isspace()]
    pieces = tokenizer.pre_tokenizer.pre_tokenize_str("a" + "a".join(characters) + "a")
    return [ord(piece) for piece, _ in pieces if len(piece) == 1 and piece != "a"]
