"""Phrases in plain Python: counting, the one list, and segmentation from left to right (Superbloom, section 4)."""

from __future__ import annotations

from collections import Counter


def is_mark(word: str) -> bool:
    return len(word) == 1 and not word.isalnum()


def listed(paragraphs: list[list[str]], pieces: set[str], wanted: int) -> list[str]:
    """The words and pairs of the vocabulary in their order; `wanted` of them at most. Pairs have two words."""
    counts: Counter[str] = Counter()
    for words in paragraphs:
        counts.update(word for word in words if word not in pieces and not is_mark(word))
        for one, other in zip(words, words[1:], strict=False):
            if not is_mark(one) and not is_mark(other):
                counts[f"{one}_{other}"] += 1
    return sorted(counts, key=lambda string: (-counts[string], string))[:wanted]


def pieces_of(word: str, pieces: set[str]) -> list[str]:
    """The longest pieces from left to right; [UNK] where the word cannot be cut."""
    found: list[str] = []
    while word:
        marker = "##" if found else ""
        fitting = [end for end in range(len(word), 0, -1) if marker + word[:end] in pieces]
        if not fitting:
            return ["[UNK]"]
        found.append(marker + word[: fitting[0]])
        word = word[fitting[0] :]
    return found


def segmented(words: list[str], vocabulary: set[str], pieces: set[str]) -> list[str]:
    """The items of a paragraph."""
    found, i = [], 0
    while i < len(words):
        if i + 1 < len(words) and f"{words[i]}_{words[i + 1]}" in vocabulary:
            found.append(f"{words[i]}_{words[i + 1]}")
            i += 2
        elif words[i] in vocabulary:
            found.append(words[i])
            i += 1
        else:
            found += pieces_of(words[i], pieces)
            i += 1
    return found
