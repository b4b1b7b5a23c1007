"""Words by ICU: those of scripts without white space whole, offsets beyond 16 bits, one line without PyICU."""

from __future__ import annotations

import pickle
import sys

import pytest

from hashbench.common.errors import InputError
from hashbench.models.text.base import make_tokenizer

TEXTS = ["ภาษาไทยง่ายนิดเดียว", "我喜歡吃蘋果。", "😀 and 👩\u200d👩\u200d👧, don't", "E\u0301te\u0301", "", " \t\n "]


@pytest.fixture
def icu():
    pytest.importorskip("icu", reason="PyICU is not installed: pip install 'hashbench[icu]'")
    return make_tokenizer("icu")


def test_words_of_scripts_without_white_space_are_whole(icu):
    assert icu.tokenize("ภาษาไทยง่ายนิดเดียว") == ["ภาษา", "ไทย", "ง่าย", "นิด", "เดียว"]
    assert "苹果" in icu.tokenize("我喜欢吃苹果。")


def test_no_warning_says_that_its_words_run_together(icu):
    assert not icu.makes_words


def test_words_beyond_16_bits_keep_their_characters(icu):
    assert icu.tokenize("😀 And 𝒳, don't 3.14!") == ["😀", "and", "𝒳", ",", "don't", "3.14", "!"]
    assert icu.tokenize("👩\u200d👩\u200d👧❤\ufe0f x") == ["👩\u200d👩\u200d👧", "❤\ufe0f", "x"]


@pytest.mark.parametrize("text", TEXTS)
def test_nothing_but_white_space_is_lost(icu, text):
    assert "".join(icu.tokenize(text)) == "".join(text.lower().split())


def test_an_unpaired_surrogate_is_one_character(icu):
    assert icu.tokenize("a\ud800 b") == ["a", "\ufffd", "b"]


def test_counts_are_those_of_its_words(icu):
    counter = icu.interner()
    found = counter.add(TEXTS)
    table, remap = counter.finish()
    words = [word for text in TEXTS for word in icu.tokenize(text)]
    assert [table.string(remap[i]) for i in found.ids] == words


def test_case_stays_where_it_is_asked_for(icu):
    assert make_tokenizer("icu", lowercase=False).tokenize("Don't") == ["Don't"]
    assert icu.recipe() != make_tokenizer("icu", lowercase=False).recipe()
    assert pickle.loads(pickle.dumps(icu)).tokenize("ab cd") == ["ab", "cd"]
    with pytest.raises(InputError, match="lowercase 'no'; give true or false"):
        make_tokenizer("icu", lowercase="no")


def test_without_the_package_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "icu", None)
    with pytest.raises(InputError, match=r"PyICU is not installed; pip install 'hashbench\[icu\]'.*libicu-dev"):
        make_tokenizer("icu")
