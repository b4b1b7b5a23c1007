"""Texts that are left as they are: none of those that the check lets pass may change."""

from __future__ import annotations

import unicodedata
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashbench.models.text.fast.quick_check import ASSIGNED, change_marks, changing
from hashbench.models.text.normal_forms import TextForm
from hashbench.models.text.unicode import LEFT_OUT, NOT_BY_CHARACTER, join, utf8

# Letters that compose, marks of several classes, vowel signs that join some letters, jamos, ligatures, what is dropped
NASTY = (
    "aeEA<é\u0301\u0323\u0327\u0315\u0345\u0338Ḥḥ\u1e96H\u0331\u0bc6\u0bbe\u0bc7க\u1025\u102eက\u093c\u0928ह\u1100\u1161"
)
NASTY += (
    "\u11a8가각\u3099かがﬁ①Ω\u2126\u212b\u0958\u0344\u00ad\u200b\ufeff\u0130\u03a3ß \u0653ا\u0627\U0001d15f\U000f0000"
)
NASTY += "\u115f\u1160\u034f\u3164\ufe0f\uffa0"
FORMS = [("none", True), ("NFC", True), ("NFC", False), ("NFKC", True)]


def passing(texts: list[str], form: str, drops: bool, lowers: bool) -> list[str]:
    """The texts that the check lets pass."""
    data, offsets = join([utf8(text) for text in texts])
    which = np.zeros(len(texts), bool)
    n = changing(data, offsets[:-1], offsets[1:], change_marks(form, LEFT_OUT[3] if drops else (), lowers), which)
    assert n == which.sum()
    return [text for text, changes in zip(texts, which, strict=True) if not changes]


def by_character(text: str) -> str:
    """The lower case that the scan makes."""
    return "".join(character.lower() for character in text)


def assert_unchanged(texts: list[str], form: str, drops: bool, lowers: bool) -> None:
    reading = TextForm(form, LEFT_OUT[3] if drops else (), lowers=lowers and form != "none")  # type: ignore[arg-type]
    for text in texts:
        assert reading(text) == text, ascii(text)
        assert not lowers or by_character(text) == text.lower(), ascii(text)


@given(st.lists(st.text(st.sampled_from(NASTY), max_size=8), max_size=8), st.sampled_from(FORMS), st.booleans())
@settings(max_examples=300)
def test_texts_that_pass_do_not_change(texts: list[str], form: tuple[str, bool], lowers: bool) -> None:
    padded = [*texts, *(text + " plain" * 20 for text in texts)]  # both by blocks and at the end of the data
    assert_unchanged(passing(padded, *form, lowers), *form, lowers)


@pytest.mark.parametrize("form", ["NFC", "NFKC"])
def test_every_character_and_every_composition(form: str) -> None:
    """Alone, and each pair of a character that begins a composition and one that joins it."""
    points = [point for part in ASSIGNED for point in part if not 0xD800 <= point < 0xE000]
    texts = [chr(point) for point in points]
    pairs = [unicodedata.normalize("NFD", text) for text in texts if unicodedata.decomposition(text)]
    passed = passing([*texts, *pairs], form, True, True)
    assert_unchanged(passed, form, True, True)
    assert len(passed) > 0.8 * len(points)  # the check is of use


def test_what_languages_write_passes() -> None:
    texts = [
        "naïve café",
        "தமிழ் மொழி",
        "မြန်မာဘာသာ",
        "हिन्दी भाषा",
        "ภาษาไทย",
        "한국어 문장",
        "日本語がある",
        "русский ё й",
    ]
    assert passing(texts, "NFC", True, True) == texts
    decomposed = [unicodedata.normalize("NFD", text) for text in ("é", "각", "が", "й")]
    assert passing([*decomposed, *NOT_BY_CHARACTER, "co\u00adld"], "NFC", True, True) == []


def test_pairs_of_nasty_characters() -> None:
    pairs = ["".join(pair) for pair in product(NASTY, repeat=2)]
    for form, drops in FORMS:
        assert_unchanged(passing(pairs, form, drops, True), form, drops, True)
