"""spaCy's features against published rows and plain Python."""

from __future__ import annotations

from typing import Any

import pytest

from hashbench.common.errors import InputError
from hashbench.models.coders.word_features import FEATURES, WordFeatures, table_rows
from tests.oracles import keys, murmur

WORDS = [
    "cat", "Apple", "running", "1,234", "U.S.", "McDonald", "日本", "", "a", "ab", "İstanbul", "ΣΊΣΥΦΟΣ", "ǅ", "½",
    "٣x", "🙂🙃", "x" * 99, "Ab1" * 33 + "y", "e\u0301te\u0301",
]  # fmt: skip


def shape(word: str) -> str:
    if len(word) >= 100:
        return "LONG"
    shown, out = "", []
    for character in word:
        kind = "X" if character.isupper() else "x"
        kind = kind if character.isalpha() else "d" if character.isdigit() else character
        shown += kind
        if not shown[-5:] == 5 * kind:
            out.append(kind)
    return "".join(out)


def slowly(word: str, features: list[str], buckets: int, hashes: int, signs: int) -> list[int]:
    texts = {"norm": word.lower(), "prefix": word[:1], "suffix": word[-3:], "shape": shape(word)}
    codes = []
    for feature, rows in zip(features, table_rows(buckets, features), strict=True):
        x = murmur.murmur64a(texts[feature].encode(), 1)
        parts = murmur.quarters(x.to_bytes(8, "little"), 8 + FEATURES.index(feature))
        codes += [
            part % rows + (rows * (keys.hashed(x, i) % signs) if signs else 0) for i, part in enumerate(parts[:hashes])
        ]
    return codes


def test_published_rows_of_cat() -> None:
    assert WordFeatures().encode(["cat"])[0].tolist() == [
        760, 2894, 3640, 2045, 594, 719, 599, 286, 2054, 1593, 1239, 2382, 1281, 648, 1061, 701,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("Apple", "Xxxxx"), ("running", "xxxx"), ("1,234", "d,ddd"), ("U.S.", "X.X."), ("McDonald", "XxXxxxx"),
        ("日本", "xx"),
    ],
)  # fmt: skip
def test_published_shapes(word: str, expected: str) -> None:
    assert shape(word) == expected


@pytest.mark.parametrize("signs", [0, 8])
@pytest.mark.parametrize(("features", "hashes"), [(list(FEATURES), 4), (["norm"], 1), (["prefix", "shape"], 3)])
def test_any_word_equals_plain_python(features: list[str], hashes: int, signs: int) -> None:
    coder = WordFeatures(103, features, hashes, signs)
    assert coder.encode(WORDS).tolist() == [slowly(word, features, 103, hashes, signs) for word in WORDS]


def test_features_come_in_one_order() -> None:
    assert WordFeatures(features=["shape", "norm"]).recipe()["features"] == ["norm", "shape"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": ["sufix"]}, r"no feature 'sufix'.*did you mean.*suffix.*; features: norm, prefix, suffix, shape"),
        ({"features": []}, "give each once, and at least one"),
        ({"features": ["norm", "norm"]}, "give each once"),
        ({"features": "norm,shape"}, "no feature 'norm,shape'"),
        ({"hashes": 5}, "hashes 5 is no whole number from 1 to 4"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        WordFeatures(**arguments)
