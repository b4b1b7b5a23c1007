"""The Unicode that ships with a model: lower case and words as Python has them, whatever the runtime."""

from __future__ import annotations

import random

import pytest

from hashbench.models.portable.letters import lowering, unpacked, without_lone_surrogates
from hashbench.models.portable.tokens import words
from hashbench.models.text.base import make_tokenizer
from hashbench.models.text.unicode import CODE_POINTS, well_formed
from hashbench.models.text.unicode_values import case_values

SIGMAS = ["ΟΔΟΣ", "ΣΑΣ Σ αΣ.β", "Σ\u0301", "aΣ\u0301b", "a\u02b0Σ", "Σ", "1Σ", "a:Σ:b", "\u0345Σ"]


def test_every_character_is_lower_cased_as_python_does() -> None:
    lower = lowering(case_values())
    points = [chr(point) for point in range(CODE_POINTS) if not 0xD800 <= point < 0xE000 and point != 0x3A3]
    text = "x".join(points)
    assert lower(text) == text.lower()


@pytest.mark.parametrize("text", SIGMAS)
def test_a_sigma_at_the_end_of_a_word_is_a_final_one(text: str) -> None:
    assert lowering(case_values())(text) == text.lower()


@pytest.mark.parametrize("arguments", [{}, {"pattern": "whitespace"}, {"lowercase": False}])
def test_words_are_those_of_the_tokenizer(arguments: dict) -> None:
    tokenizer = make_tokenizer("words", **arguments)
    part = tokenizer.portable()
    assert part is not None
    portable = words(part.values, str)
    generator = random.Random(0)
    for _ in range(400):
        ends = generator.choice([0x80, 0x3000, CODE_POINTS])
        text = "".join(chr(generator.choice([generator.randrange(ends), 0x3A3, 0x27, 0x20])) for _ in range(12))
        assert portable(text) == tokenizer.tokenize(text)


def test_an_expression_of_ones_own_is_not_portable() -> None:
    assert make_tokenizer("words", pattern=r"(?<=a)b|[^b]+").portable() is None


def test_lone_surrogates_are_replaced_as_tokenizers_do() -> None:
    for text in ("a\ud800b", "\udc00", "\ud83d\ude00", "\ud800\ud800\udc00", "ab"):
        assert without_lone_surrogates(text) == well_formed(text)


def test_ranges_are_half_open() -> None:
    assert unpacked("") == []
    assert unpacked("2 3 1 1") == [(2, 5), (6, 7)]
