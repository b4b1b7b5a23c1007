"""The released projection's splitting and normalisation, character by character."""

from __future__ import annotations


def lowered(character: str) -> str:
    """By Unicode's simple map: one character."""
    return {"\u0130": "i", "\u03a3": "\u03c3"}.get(character, character.lower())


def tokens(text: str) -> list[str]:
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    parts = [part for part in text.split(" ") if part]
    return ["".join(lowered(character) for character in part if character != "\ufffd") for part in parts]
