"""The ternary projection against its published vectors and plain Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.common.errors import InputError
from hashbench.models.coders.base import agreement
from hashbench.models.coders.murmur import murmur64a
from hashbench.models.coders.ternary_projection import BITS_OF_STEP, TernaryProjection, unpacked
from tests.oracles import ternary as oracle

FILE = json.loads((Path(oracle.__file__).parent / "ternary_vectors.json").read_text(encoding="utf-8"))
VECTORS: list[dict[str, Any]] = FILE["vectors"]
HASHES = list(BITS_OF_STEP)


def slowly(word: str, features: int = 512, hash: str = "murmur") -> list[int]:
    blocks = -(-features // 64)
    data = word.encode()
    numbers = oracle.xfix(data, blocks, BITS_OF_STEP[hash]) if BITS_OF_STEP[hash] else oracle.murmur(data, blocks)
    return oracle.features(numbers, features)


def numbers_of(coder: TernaryProjection, word: str) -> list[str]:
    return [f"{number:016x}" for number in coder.encode([word]).view("<u8")[0].tolist()]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: repr(vector["string"]))
def test_every_vector_of_unsigned_bytes(vector: dict[str, Any]) -> None:
    coder, place = TernaryProjection(), "_unsigned" if "words_unsigned" in vector else ""
    assert numbers_of(coder, vector["string"]) == vector[f"words{place}"]
    features = unpacked(coder.encode([vector["string"]]), 512)[0]
    assert features[:32].tolist() == vector[f"first32{place}"]
    assert features.sum() == vector[f"sum512{place}"]
    assert place or np.count_nonzero(features) == vector["nonzero512"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: repr(vector["string"]))
def test_the_definition_gives_every_vector_of_signed_bytes_too(vector: dict[str, Any]) -> None:
    numbers = oracle.murmur(vector["string"].encode(), 8, signed=True)
    assert [f"{number:016x}" for number in numbers] == vector["words"]
    features = oracle.features(numbers, 512)
    assert (features[:32], sum(features)) == (vector["first32"], vector["sum512"])
    assert sum(map(abs, features)) == vector["nonzero512"]


@pytest.mark.parametrize("word", FILE["of_four"])
def test_four_features(word: str) -> None:
    assert unpacked(TernaryProjection(features=4).encode([word]), 4)[0].tolist() == FILE["of_four"][word]


@given(st.text(), st.integers(1, 700), st.sampled_from(HASHES))
def test_any_word_equals_plain_python(word: str, features: int, hash: str) -> None:
    coder = TernaryProjection(features, hash)
    codes = coder.encode([word, "a", word])
    assert unpacked(codes, features)[0].tolist() == slowly(coder_word(word), features, hash)
    assert np.array_equal(codes[0], codes[2])
    assert np.array_equal(coder.encode_few([word, "a", word]), codes)


def coder_word(word: str) -> str:
    """The word as it is packed: unpaired surrogates are U+FFFD."""
    return word.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@given(st.binary(max_size=100))
def test_the_first_number_is_murmur64a(data: bytes) -> None:
    blob = np.frombuffer(data or b"<null>", np.uint8)
    codes = TernaryProjection(features=1).encode_utf8(np.frombuffer(data, np.uint8), np.array([0, len(data)]))
    assert codes.view("<u8")[0, 0] == murmur64a(blob, 0, len(blob), 0)


def test_more_features_begin_with_the_fewer() -> None:
    few, many = TernaryProjection(features=65), TernaryProjection(features=4_100)
    assert (few.width, many.width) == (32, 1_040)
    assert np.array_equal(many.encode(["word"])[:, :32], few.encode(["word"]))


@pytest.mark.parametrize(
    ("hash", "pair", "cosine"),
    [
        ("murmur", ("flights", "flight"), 0.02), ("xfixhash8", ("running", "walking"), 0.46),
        ("xfixhash8", ("cat", "cats"), 0.315), ("xfixhash8", ("flights", "flight"), 0.10),
    ],
)  # fmt: skip
def test_likeness_of_words(hash: Any, pair: tuple[str, str], cosine: float) -> None:
    coder = TernaryProjection(hash=hash)
    first, second = (coder.encode([word]) for word in pair)
    assert agreement(coder, first, second) == pytest.approx(cosine, abs=0.005)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": 0}, "features 0 is no whole number from 1 to 65536"),
        ({"features": 1.5}, "features 1.5 is no whole number"),
        ({"hash": "fnv"}, "hash 'fnv'; choose murmur, xfixhash8, xfixhash16, xfixhash32"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        TernaryProjection(**arguments)
