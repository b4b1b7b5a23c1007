"""Tokens between spaces against a slow version, character by character."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.common.errors import InputError
from hashbench.models.text.base import make_tokenizer
from hashbench.models.text.spaces import SpaceTokenizer
from tests.oracles import spaces as oracle

OPTIONS: list[dict[str, Any]] = [
    {}, {"separators": "'.! ", "contract": True}, {"letters_only": True}, {"alphabet": "abcé ", "contract": True},
    {"split": False, "separators": "!'", "letters_only": True}, {"split": False},
]  # fmt: skip
FEW = st.text(st.sampled_from("aab b1!.'é\u0130\u03a3\ufffd\t\n\ud800\U0001f600"), max_size=40)


@given(st.one_of(FEW, st.text()), st.sampled_from(OPTIONS))
def test_any_text_equals_the_slow_version(text: str, options: dict[str, Any]) -> None:
    assert SpaceTokenizer(**options).tokenize(text) == oracle.tokens(text, **options)


@pytest.mark.parametrize(
    ("options", "text", "tokens"),
    [
        ({}, "  It's GOOD.\tvery  good ", ["it's", "good.\tvery", "good"]),
        ({"contract": True}, "Soooo hahaha wowwowwow 1111 xhahaha", ["soo", "haha", "wowwow", "1111", "xhaha"]),
        ({"separators": "'!"}, "don't stop!!", ["don", "'t", "stop", "!", "!"]),
        ({"alphabet": "abc"}, "Abc 123 d", ["abc", "", ""]),
        ({"split": False}, "A b", ["a", " ", "b"]),
    ],
)
def test_the_released_rules(options: dict[str, Any], text: str, tokens: list[str]) -> None:
    assert SpaceTokenizer(**options).tokenize(text) == tokens


@pytest.mark.parametrize("options", OPTIONS)
def test_an_interner_counts_the_same_tokens(options: dict[str, Any]) -> None:
    tokenizer = SpaceTokenizer(**options)
    interner = tokenizer.interner()
    texts = ["a \ufffd b", "", "!! aaaa"]
    ids = interner.add(texts)
    types, remap = interner.finish()
    strings = types.strings(remap[ids.ids])
    assert list(strings) == [token for text in texts for token in tokenizer.tokenize(text)]


@given(FEW, st.integers(0, 5))
def test_reach_is_the_end_of_the_last_token(text: str, kept: int) -> None:
    text = text.replace("\ud800", "")
    (end,) = SpaceTokenizer(separators="!").reach([text], [kept])
    assert oracle.tokens(text[:end], separators="!") == oracle.tokens(text, separators="!")[:kept]
    assert end == 0 or text[end - 1] != " "


@given(FEW, st.integers(0, 5), st.sampled_from([of for of in OPTIONS if of.get("split", True)]))
def test_a_text_up_to_its_reach_has_these_tokens(text: str, kept: int, options: dict[str, Any]) -> None:
    text, tokenizer = text.replace("\ud800", ""), SpaceTokenizer(**options)
    tokens = tokenizer.tokenize(text)
    (end,) = tokenizer.reach([text], [kept])
    assert (end == 0) == (not tokens[:kept])
    assert tokenizer.tokenize(text[:end])[:kept] == tokens[:kept]
    if kept >= len(tokens):
        assert end == len(text.rstrip(" "))


@pytest.mark.parametrize(
    ("options", "text", "ends"),
    [
        ({"contract": True}, "soooo gooood a", [0, 5, 12, 14]),
        ({"contract": True}, "hahahaha! x", [0, 9, 11]),
        ({"contract": True, "separators": "!"}, "wow!!!! y", [0, 3, 4, 7, 9]),  # wow ! ! y
        ({"split": False}, "A b", [0, 1, 2, 3]),
        ({"split": False, "separators": "."}, "a.b", [0, 1, 1, 2, 2, 3]),  # a, space, ., space, b
        ({"letters_only": True}, "99 ab", [0, 2, 5]),
    ],
)
def test_reach_counts_the_characters_of_the_text_as_it_is(options: dict[str, Any], text: str, ends: list[int]) -> None:
    assert SpaceTokenizer(**options).reach([text] * len(ends), range(len(ends))) == ends


def test_equal_options_are_one_recipe() -> None:
    assert SpaceTokenizer(separators=".! ").recipe() == SpaceTokenizer(separators="!.").recipe()
    assert make_tokenizer("spaces", normalise="NFC").tokenize("Cafe\u0301") == ["caf\u00e9"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"separators": "\u3000"}, "only ASCII characters can be separators"),
        ({"separators": 1}, "separators 1 is no text; put it in quotes"),
        ({"contract": 1}, "contract 1; give true or false"),
        ({"alphabet": "aB"}, "has capitals; tokens are in lower case"),
        ({"alphabet": "a", "letters_only": True}, "alphabet and letters_only; leave one of them out"),
        ({"split": "yes"}, "split 'yes'; give true or false"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SpaceTokenizer(**options)
