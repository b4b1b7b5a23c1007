"""The distortion of PRADO's training texts against its rules, step by step."""

from __future__ import annotations

import random
from collections import Counter

from hashbench.data.perturbations.base import find_perturbation, perturbed
from hashbench.data.perturbations.letters import distorted

DISTORTION = find_perturbation("distortion")


def slowly(word: str, draw: int, last: str) -> tuple[str | None, str]:
    """The changed word, and the last character taken out, by lists of characters."""
    characters = list(word)
    kind, draw = draw % 100, draw // 100
    at, draw = draw % len(characters), draw // len(characters)
    if kind < 33:
        if len(characters) == 1:
            return None, last
        taken = characters.pop(at)
        return "".join(characters), taken
    if kind < 66:
        if len(characters) <= 2:
            return None, last
        taken = characters.pop(at)
        characters.insert(draw % len(characters), taken)
        return ("".join(characters) if "".join(characters) != word else None), taken
    if not last:
        return None, last
    characters.insert(at, last)
    return "".join(characters), last


def test_words_in_turn_equal_the_slow_version() -> None:
    generator = random.Random(5)
    change, last = DISTORTION.knowing(None), ""
    for _ in range(3_000):
        word = "".join(generator.choices("abcdé日😀", k=generator.randint(1, 7)))
        draw = generator.getrandbits(64)
        expected, last = slowly(word, draw, last)
        assert change(word, draw) == expected


def test_each_kind_of_change_has_its_share() -> None:
    generator, last = random.Random(6), ["x"]
    lengths = Counter(
        len(word) if (word := distorted("abcdefgh", generator.getrandbits(64), last)) else 0 for _ in range(20_000)
    )
    assert abs(lengths[7] / 20_000 - 0.33) < 0.015 and abs(lengths[9] / 20_000 - 0.34) < 0.015
    unmoved = 0.33 * 7 / 8 / 7  # all but the last character may come to their old place, one of seven
    assert abs(lengths[0] / 20_000 - unmoved) < 0.01


def test_what_is_put_in_comes_from_the_same_text() -> None:
    """No text carries a character to the next one."""
    texts = [f"{a}{b}{a} {b}{b}{a}{b}" for a in "abcd" for b in "wxyz"]
    for text in texts:
        (line,) = perturbed(text, "distortion", [1.0], seed=3)
        assert set(line) <= set(text)
    assert [perturbed(text, "distortion", [1.0], seed=3) for text in reversed(texts)][::-1] == [
        perturbed(text, "distortion", [1.0], seed=3) for text in texts
    ]


def test_no_word_becomes_empty() -> None:
    assert perturbed("a b c d", "distortion", [1.0], seed=0)[0].split() != []
    assert all(len(perturbed("a b I x", "distortion", [1.0], seed=seed)[0].split()) == 4 for seed in range(50))
