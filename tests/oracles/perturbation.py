"""Slow, plain versions of what is measured on perturbed texts; nothing is shared with the code under test."""

from __future__ import annotations

import itertools


def types_per_bucket(codes):
    """Mean over the columns of types / distinct numbers."""
    shares = []
    for j in range(len(codes[0])):
        shares.append(len(codes) / len({row[j] for row in codes}))
    return sum(shares) / len(shares)


def shared_tokens(codes, counts):
    """Every type against every other one."""
    shared = 0
    for i, count in enumerate(counts):
        if any(list(codes[i]) == list(codes[j]) for j in range(len(codes)) if j != i):
            shared += count
    return shared / sum(counts)


def equal_bits(first, second):
    """Bit by bit of packed codes."""
    equal = total = 0
    for a, b in zip(first, second, strict=True):
        for x, y in zip(a, b, strict=True):
            for bit in range(8):
                equal += ((int(x) >> bit) & 1) == ((int(y) >> bit) & 1)
                total += 1
    return equal / total


def is_swap(before, after):
    """Whether two neighbours traded places."""
    return any(
        before[:i] + before[i + 1] + before[i] + before[i + 2 :] == after and before[i] != before[i + 1]
        for i in range(len(before) - 1)
    )


def is_deletion(before, after):
    """Whether one character was left out."""
    return any(before[:i] + before[i + 1 :] == after for i in range(len(before)))


def is_insertion(before, after):
    """Whether one letter from a to z was put in."""
    return is_deletion(after, before) and any(
        before[:i] + letter + before[i:] == after
        for i, letter in itertools.product(range(len(before) + 1), "abcdefghijklmnopqrstuvwxyz")
    )


ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")  # of a QWERTY keyboard, each half a key further to the right


def beside(one, other):
    """Whether the keys of two letters touch: side by side, or above each other by half a key."""
    places = {letter: (y, x + (0, 0.25, 0.75)[y]) for y, row in enumerate(ROWS) for x, letter in enumerate(row)}
    (y, x), (v, u) = places[one], places[other]
    return one != other and abs(y - v) <= 1 and abs(x - u) <= (1 if y == v else 0.8)


def is_typo(before, after):
    """Whether one letter became one beside it."""
    places = [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
    return (
        len(before) == len(after) and len(places) == 1 and beside(before[places[0]].lower(), after[places[0]].lower())
    )
