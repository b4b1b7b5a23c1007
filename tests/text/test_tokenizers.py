"""Tokenizers by name."""

from __future__ import annotations

import pytest

from hashbench.errors import InputError
from hashbench.text.tokenizers import make_tokenizer, tokenizers


def test_every_kind_is_made_by_its_name() -> None:
    kinds = ["bpe", "bytes", "characters", "icu", "items", "transformers", "unicode", "wordpieces", "words"]
    assert sorted(tokenizers()) == kinds
    with pytest.raises(InputError, match="tokenizer transformers: needs name; give it as an argument"):
        make_tokenizer("transformers")
    for kind in set(tokenizers()) - {"transformers", "icu"}:  # icu needs a package of its own
        tokenizer = make_tokenizer(kind)
        assert tokenizer.kind == kind
        assert tokenizer.recipe()["kind"] == kind


def test_words_of_the_released_code() -> None:
    assert make_tokenizer("words").tokenize("<s> Don't!!!") == ["<", "s", ">", "don", "'", "t", "!!!"]


def test_unknown_names_get_near_matches() -> None:
    with pytest.raises(InputError, match="unknown kind 'word'; did you mean 'words'.; choose from characters, icu, "):
        make_tokenizer("word")
    with pytest.raises(
        InputError, match="words: unknown argument 'patern'; did you mean 'pattern'.; it takes pattern, lo"
    ):
        make_tokenizer("words", patern="x")
