"""What a tokenizer of the `tokenizers` library makes of each character, asked of the library itself."""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from hashbench.models.text.shipped import SURROGATES, packed, rules_of
from hashbench.models.text.unicode import CODE_POINTS

# A snowman: no normaliser changes it, or joins anything to it.
BETWEEN = "\u2603"
BLOCK = 8_192  # characters that are asked for at a time
HANGUL = range(0xAC00, 0xD7A4)  # syllables, which fall apart by arithmetic


def normaliser_values(tokenizer: Tokenizer) -> dict[str, Any]:
    """Which characters are dropped, become a space, or stand alone; what the others become; which are punctuation."""
    points = [point for point in range(CODE_POINTS) if point not in SURROGATES]
    kinds = {kind: np.zeros(CODE_POINTS, bool) for kind in ("dropped", "spaces", "alone", "punctuation")}
    single: dict[int, int] = {}
    others: dict[str, str] = {}
    for start in range(0, len(points), BLOCK):
        block = [chr(point) for point in points[start : start + BLOCK]]
        text = tokenizer.normalizer.normalize_str(BETWEEN + BETWEEN.join(block) + BETWEEN)
        for character, made in zip(block, _between(text, block), strict=True):
            if made == "":
                kinds["dropped"][ord(character)] = True
            elif made == " ":
                kinds["spaces"][ord(character)] = True
            elif made == f" {character} ":
                kinds["alone"][ord(character)] = True
            elif len(made) == 1 and made != character:
                single[ord(character)] = ord(made)
            elif made != character:
                others[character] = made
    for point in _punctuation(tokenizer):
        kinds["punctuation"][point] = True
    splits = all(chr(point) in others and others[chr(point)] == _decomposed(point) for point in HANGUL)
    if splits:
        others = {character: made for character, made in others.items() if ord(character) not in HANGUL}
    sets = {kind: packed(members) for kind, members in kinds.items()}
    return {"rules": rules_of(single), "others": others, "splits_hangul": splits, **sets}


def _between(text: str, block: list[str]) -> list[str]:
    """What stands between the snowmen, of which one may be in the block itself."""
    parts = text.split(BETWEEN)[1:-1]
    if BETWEEN in block:
        place = block.index(BETWEEN)
        parts[place : place + 2] = [BETWEEN]
    return parts


def _decomposed(point: int) -> str:
    """A syllable as its letters."""
    return unicodedata.normalize("NFD", chr(point))


def _punctuation(tokenizer: Tokenizer) -> list[int]:
    """Characters that are words of their own wherever they stand."""
    asked = [chr(point) for point in range(CODE_POINTS) if point not in SURROGATES and not chr(point).isspace()]
    pieces = tokenizer.pre_tokenizer.pre_tokenize_str("a" + "a".join(asked) + "a")
    return [ord(piece) for piece, _ in pieces if len(piece) == 1 and piece != "a"]
