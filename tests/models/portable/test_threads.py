"""What text sides remember, while another thread clears it: at each step of a call another one comes in."""

from __future__ import annotations

from array import array

import pytest

from hashbench.models.coders.base import make_coder
from hashbench.models.portable import byte_pairs as byte_pairs_module
from hashbench.models.portable.assembling import TextSide
from hashbench.models.portable.byte_pairs import byte_pairs
from hashbench.models.portable.ngrams import trigrams
from hashbench.models.text.subwords import SubwordTokenizer
from tests.interleaved import at_each_step


def codes_of(token: str) -> list[int]:
    return [len(token), ord(token[0])]


def side() -> TextSide:
    return TextSide(str.split, codes_of, {"remembered": 1, "graph_codes": "int32"})


def test_a_code_of_a_text_side() -> None:
    def fresh():
        made = side()
        made.code("a")
        return (lambda: [made.code("a"), made.code("bb")]), (lambda: made.code("ccc"))

    found = list(at_each_step(fresh, "portable/assembling.py"))
    assert len(found) > 20 and all(codes == [[1, 97], [2, 98]] for codes in found)


def test_the_packed_codes_of_a_text_side() -> None:
    right = [array("i", codes_of(token)).tobytes() for token in ("a", "bb")]

    def fresh():
        made = side()
        made.packed(["a"])
        return (lambda: made.packed(["a", "bb"])), (lambda: made.packed(["ccc", "d"]))

    found = list(at_each_step(fresh, "portable/assembling.py"))
    assert len(found) > 20 and all(rows == right for rows in found)


def test_the_rows_of_trigrams() -> None:
    coder = make_coder("trigrams", num_buckets=50)
    values = {**coder.portable().values, "remembered": 1}
    right = [number for number in coder.encode(["aa"])[0].tolist() if number >= 0]

    def fresh():
        encode = trigrams(values, str)
        encode("aa")
        return (lambda: encode("aa")), (lambda: encode("b"))

    found = list(at_each_step(fresh, "portable/ngrams.py"))
    assert len(found) > 20 and all([number for number in rows if number >= 0] == right for rows in found)


def test_the_pieces_of_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_pairs_module, "KNOWN_WORDS", 1)
    tokenizer = SubwordTokenizer()
    tokenizer.train(["ab ab abc"] * 3, 300)
    part = tokenizer.portable()

    def fresh():
        pieces = byte_pairs(part.values, lambda name: part.files[name].decode())
        pieces("ab")
        return (lambda: pieces("ab b")), (lambda: pieces("c"))

    right = tokenizer.tokenize("ab b")
    found = list(at_each_step(lambda: fresh(), "portable/byte_pairs.py"))
    assert len(found) > 20 and all(pieces == right for pieces in found)
