"""Tokens between spaces against a slow version, character by character."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.common.errors import InputError
from hashbench.models.text.base import make_tokenizer
from hashbench.models.text.spaces import SpaceTokenizer
from tests.oracles import spaces as oracle

FEW = st.text(st.sampled_from("aab b1!.'é\u0130\u03a3\ufffd\t\n\ud800\U0001f600"), max_size=40)


@given(st.one_of(FEW, st.text()))
def test_any_text_equals_the_slow_version(text: str) -> None:
    assert SpaceTokenizer().tokenize(text) == oracle.tokens(text)


def test_the_released_rules() -> None:
    assert SpaceTokenizer().tokenize("  It's GOOD.\tvery  good ") == ["it's", "good.\tvery", "good"]


def test_an_interner_counts_the_same_tokens() -> None:
    tokenizer = SpaceTokenizer()
    interner = tokenizer.interner()
    texts = ["a \ufffd b", "", "!! aaaa"]
    ids = interner.add(texts)
    types, remap = interner.finish()
    strings = types.strings(remap[ids.ids])
    assert list(strings) == [token for text in texts for token in tokenizer.tokenize(text)]


@given(FEW, st.integers(0, 5))
def test_reach_is_the_end_of_the_last_token(text: str, kept: int) -> None:
    text, tokenizer = text.replace("\ud800", ""), SpaceTokenizer()
    tokens = tokenizer.tokenize(text)
    (end,) = tokenizer.reach([text], [kept])
    assert oracle.tokens(text[:end]) == oracle.tokens(text)[:kept] == tokens[:kept]
    assert (end == 0) == (not tokens[:kept]) and (end == 0 or text[end - 1] != " ")
    if kept >= len(tokens):
        assert end == len(text.rstrip(" "))


def test_runs_are_known_by_all_options_of_the_released_code() -> None:
    options = {"separators": "", "contract": False, "alphabet": "", "letters_only": False, "split": True}
    assert SpaceTokenizer().recipe() == {"kind": "spaces", **options}
    assert make_tokenizer("spaces", normalise="NFC").tokenize("Cafe\u0301") == ["caf\u00e9"]
    with pytest.raises(InputError, match="tokenizer spaces: unknown argument 'contract'"):
        make_tokenizer("spaces", contract=True)
