"""The released projection's splitting and normalisation, character by character."""

from __future__ import annotations


def contracted(text: str, size: int) -> str:
    """Without what repeats a pattern of this many characters more than once more."""
    characters, found, i = list(text), "", 0
    while i < len(characters):
        pattern = characters[i : i + size]
        count = 0
        if len(pattern) == size and " " not in pattern and pattern[0] not in "0123456789":
            while characters[i + (count + 1) * size : i + (count + 2) * size] == pattern:
                count += 1
        if count >= 2:
            found += "".join(pattern * 2)
            i += (count + 1) * size
        else:
            found += characters[i]
            i += 1
    return found


def separated(text: str, separators: str) -> str:
    found = ""
    for i, character in enumerate(text):
        marks = character in separators and character != " "
        if marks and i > 0 and text[i - 1] != " " and found[-1] != " ":
            found += " "
        found += character
        if marks and i + 1 < len(text) and text[i + 1] != " " and character != "'":
            found += " "
    return found


def lowered(character: str) -> str:
    """By Unicode's simple map: one character."""
    return {"\u0130": "i", "\u03a3": "\u03c3"}.get(character, character.lower())


def tokens(
    text: str, separators: str = "", contract: bool = False, alphabet: str = "", letters_only: bool = False,
    split: bool = True,
) -> list[str]:  # fmt: skip
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    for size in (1, 2, 3) if contract else ():
        text = contracted(text, size)
    text = separated(text, separators)
    parts = [part for part in text.split(" ") if part] if split else list(text)
    kept = []
    for part in parts:
        small = [lowered(character) for character in part if character != "\ufffd"]
        if alphabet:
            small = [character for character in small if character in alphabet]
        if letters_only:
            small = [character for character in small if character.isalpha() or character == " "]
        kept.append("".join(small))
    return kept
