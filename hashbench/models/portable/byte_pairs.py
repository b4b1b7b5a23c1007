"""Byte-level BPE: a text is cut into runs of letters, figures or others, and their bytes are joined pair by pair.

Which characters are letters, figures or white space ships with the model, as the library of the training had it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from hashbench.models.portable.letters import characters_of, lower_table, reading

CONTRACTIONS = "'s|'t|'re|'ve|'m|'ll|'d"
KNOWN_WORDS = 20_000  # whose pieces are kept


def byte_letters() -> list[str]:
    """The character with which each byte is spelled; a byte that no character shows has one behind them (GPT-2)."""
    shown = {*range(33, 127), *range(161, 173), *range(174, 256)}
    hidden = [byte for byte in range(256) if byte not in shown]
    return [chr(byte) if byte in shown else chr(256 + hidden.index(byte)) for byte in range(256)]


def byte_pairs(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[str]]:
    """A function from a text to its pieces; the first pair in `merges.txt` is joined first."""
    ranks = {pair: rank for rank, pair in enumerate(read("merges.txt").split("\n")) if pair}
    never = len(ranks)
    letters, text_of = byte_letters(), reading(values)
    lower = lower_table(values["lower"], values["lower_others"])
    space, letter, figure = (characters_of(values[kind]) for kind in ("space", "letter", "figure"))
    words = re.compile(
        f"{CONTRACTIONS}| ?[{letter}]+| ?[{figure}]+| ?[^{space}{letter}{figure}]+|[{space}]+(?![^{space}])|[{space}]+"
    )
    pieces_of: dict[str, list[str]] = {}

    def rank_of(first: str, second: str) -> int:
        return ranks.get(f"{first} {second}", never)

    def joined_once(parts: list[str], best: int) -> list[str]:
        """The parts with the best pair joined wherever it is, up to the place where that makes a better one."""
        united: list[str] = []
        place = 0
        while place < len(parts):
            if place + 1 < len(parts) and rank_of(parts[place], parts[place + 1]) == best:
                united.append(parts[place] + parts[place + 1])
                place += 2
                before = rank_of(united[-2], united[-1]) if len(united) > 1 else never
                behind = rank_of(united[-1], parts[place]) if place < len(parts) else never
                if min(before, behind) < best:
                    return united + parts[place:]
            else:
                united.append(parts[place])
                place += 1
        return united

    def cut(word: str) -> list[str]:
        parts = [letters[byte] for byte in word.encode()]
        while len(parts) > 1:
            best = min(rank_of(parts[i], parts[i + 1]) for i in range(len(parts) - 1))
            if best == never:
                break
            parts = joined_once(parts, best)
        return parts

    def pieces(word: str) -> list[str]:
        parts = pieces_of.get(word)
        if parts is None:
            parts = cut(word)
            if len(pieces_of) >= KNOWN_WORDS:
                pieces_of.clear()
            pieces_of[word] = parts
        return parts  # not looked up again: another thread may have cleared what is known

    def tokens(text: str) -> list[str]:
        text = text_of(text).translate(lower)
        if values["prefix_space"] and text and not text.startswith(" "):
            text = " " + text
        return [piece for word in words.findall(text) for piece in pieces(word)]

    return tokens
