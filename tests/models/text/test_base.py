"""Tokenizers by name."""

from __future__ import annotations

import pytest

from hashbench.common.errors import InputError
from hashbench.models.text.base import Tokenizer, make_tokenizer, tokenizers
from hashbench.models.text.types import DictInterner, Interner


def test_every_kind_is_made_by_its_name() -> None:
    kinds = ["bpe", "bytes", "characters", "icu", "items", "spaces", "transformers", "unicode", "wordpieces", "words"]
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
    with pytest.raises(InputError, match="unknown kind 'word'; did you mean 'words'.; choose from characters, bytes, "):
        make_tokenizer("word")
    with pytest.raises(
        InputError, match="words: unknown argument 'patern'; did you mean 'pattern'.; it takes pattern, lo"
    ):
        make_tokenizer("words", patern="x")


class Initials(Tokenizer):
    """A tokenizer of the user's own that says nothing of a vocabulary."""

    kind = "initials"

    def tokenize(self, text: str) -> list[str]:
        return [word[0] for word in text.split()]

    def interner(self) -> Interner:
        return DictInterner(self.tokenize)


def test_a_tokenizer_has_no_vocabulary_unless_it_says_so() -> None:
    tokenizer = Initials()
    assert not tokenizer.needs_training and not tokenizer.trained and tokenizer.argument is None
    assert tokenizer.pieces == tokenizer.spellings() == [] and tokenizer.unreachable() is None
    with pytest.raises(NotImplementedError, match="tokenizer initials learns nothing from texts"):
        tokenizer.train(["a text"], 100)


def test_word_pieces_alone_take_the_vocabulary_of_a_recipe() -> None:
    assert [kind for kind, each in tokenizers().items() if each.from_recipe] == ["wordpieces"]
    assert {each.argument for kind, each in tokenizers().items() if kind in ("bpe", "wordpieces")} == {"bpe", "vocab"}
