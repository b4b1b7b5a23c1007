"""Byte-level BPE on a device: the pieces of the library, whatever the text and the order of the pairs."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from hashbench.models.portable.byte_pairs import byte_letters, byte_pairs
from hashbench.models.text.subwords import MERGES, SubwordTokenizer, byte_level_classes, is_plain, lowercase_values

TRAINED = SubwordTokenizer(lowercase=True, prefix_space=True)
TRAINED.train(
    ["the cat's hat, the CATS' hats in 2024", "naïve Éva: 東京 の 天気!!!", "aaaaaaaaa bbbbaaaa ba ab"] * 3, 400
)
# "abc" is made by two pairs, and the pair behind it stands between them: which is joined first decides.
TANGLED = ["b c", "a b", "ab c", "abc a", "a bc", "a a", "abca bc"]
LETTERS = st.text(st.sampled_from("abc '2\n\u00a0\u3000é東İΣ!s\U0001f642"), max_size=30)


def device(tokenizer: SubwordTokenizer):
    part = tokenizer.portable()
    assert part is not None
    return byte_pairs(part.values, lambda name: part.files[name].decode())


PORTABLE = device(TRAINED)


@given(st.one_of(LETTERS, st.text(max_size=20)))
def test_pieces_are_those_of_the_library(text: str) -> None:
    assert PORTABLE(text) == TRAINED.tokenize(text)


@given(st.text("abc", max_size=24))
def test_pairs_are_joined_in_the_order_of_the_library(text: str) -> None:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = [pair.replace(" ", "") for pair in TANGLED]
    vocabulary = {piece: i for i, piece in enumerate(dict.fromkeys([*alphabet, *made]))}
    library = Tokenizer(models.BPE(vocabulary, [(pair.split()[0], pair.split()[1]) for pair in TANGLED]))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    values = {"prefix_space": False, **byte_level_classes(), **lowercase_values(False)}
    assert byte_pairs(values, lambda name: "\n".join(TANGLED))(text) == library.encode(text).tokens


def test_a_long_word_takes_no_longer_than_its_length() -> None:
    assert "".join(PORTABLE("a" * 100_000)) == "\u0120" + "a" * 100_000


def test_bytes_are_spelled_as_the_library_spells_them() -> None:
    assert sorted(byte_letters()) == sorted(pre_tokenizers.ByteLevel.alphabet())
    assert byte_letters()[ord(" ")] == "\u0120" and byte_letters()[ord("!")] == "!"


@pytest.mark.parametrize(
    "changed",
    [
        {"normalizer": json.loads(normalizers.NFKC().__getstate__())},
        {"pre_tokenizer": None},
        {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}},
        {"model": {"dropout": 0.1}},
        {"model": {"ignore_merges": True}},
        {"model": {"vocab": {"a": 0}}},
    ],
)
def test_a_file_with_more_than_byte_level_pairs_has_no_text_side(changed: dict) -> None:
    content = json.loads(TRAINED.library_tokenizer().to_str())
    assert is_plain(content)
    model = content["model"] | changed.get("model", {})
    assert not is_plain(content | changed | {"model": model})


def test_the_pairs_are_the_whole_table() -> None:
    part = TRAINED.portable()
    assert part is not None and list(part.files) == [MERGES]
