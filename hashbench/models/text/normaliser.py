"""The normalisation of each character by a tokenizer of the `tokenizers` library, read off the library itself."""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from hashbench.models.text.shipped import SURROGATES, packed, rules_of
from hashbench.models.text.unicode import CODE_POINTS

# A snowman: no normaliser changes it, or joins anything to it.
BETWEEN = "\u2603"
BLOCK = 8_192  # characters in one call
HANGUL = range(0xAC00, 0xD7A4)  # syllables, which fall apart by arithmetic


def normaliser_values(tokenizer: Tokenizer) -> dict[str, Any]:
    """Values for portable/wordpieces.py: sets of characters by what becomes of them, and tables of replacements."""
    points = [point for point in range(CODE_POINTS) if point not in SURROGATES]
    kinds = {kind: np.zeros(CODE_POINTS, bool) for kind in ("dropped", "spaces", "alone", "punctuation")}
    single: dict[int, int] = {}
    others: dict[str, str] = {}
    for start in range(0, len(points), BLOCK):
        block = [chr(point) for point in points[start : start + BLOCK]]
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
