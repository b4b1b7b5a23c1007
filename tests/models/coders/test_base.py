"""Every coder by its name: a code depends on the string and the fitted, stored state alone."""

from __future__ import annotations

import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.models.coders.base import Coder, coders, make_coder
from hashbench.models.text.types import TypeTable

COUNTS = {"play": 5, "plays": 3, "the": 9, "naïve": 1, "中文": 2, "": 1, "nul\0": 1, "x" * 1000: 1}
WORDS = [*COUNTS, "unseen", "😀"]


def fitted(name: str) -> Coder:
    coder = make_coder(name)
    if coder.needs_fit:
        coder.fit(TypeTable.from_counts(COUNTS))
    return coder


def test_names() -> None:
    assert set(coders()) == {
        "vocabulary",
        "hash-rows",
        "signature",
        "byte-positions",
        "word-features",
        "ngram-buckets",
        "trigrams",
        "byte-ngrams",
        "word-keys",
        "word-bytes",
        "byte-rows",
        "md5-rows",
        "md5-bits",
        "lsh-rows",
        "lsh-bits",
        "ngram-pooling",
        "projection",
        "ternary-projection",
        "codepoints",
        "bloom",
    }


@pytest.mark.parametrize("name", coders())
def test_shape_and_type_are_as_announced(name: str) -> None:
    coder = fitted(name)
    codes = coder.encode(WORDS)
    assert coder.name == name
    assert codes.shape == (len(WORDS), coder.width)
    assert codes.dtype == coder.dtype
    assert coder.encode([]).shape == (0, coder.width)
    assert coder.bits is None or coder.bits == 8 * coder.width


@pytest.mark.parametrize("name", coders())
def test_codes_do_not_depend_on_order_or_batch(name: str) -> None:
    coder = fitted(name)
    codes = coder.encode(WORDS)
    assert np.array_equal(coder.encode(WORDS[::-1])[::-1], codes)
    assert np.array_equal(np.concatenate([coder.encode([word]) for word in WORDS]), codes)


@pytest.mark.e2e
@pytest.mark.parametrize("name", coders())
def test_a_few_in_plain_python_are_equal_bit_for_bit(name: str) -> None:
    coder = fitted(name)
    for strings in (WORDS, []):
        few, codes = coder.encode_few(strings), coder.encode(strings)
        assert (few.dtype, few.shape, few.tobytes()) == (codes.dtype, codes.shape, codes.tobytes())


@pytest.mark.parametrize("name", coders())
def test_a_table_is_encoded_as_its_strings_are(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HASHBENCH_THREADS", "2")
    many = {f"{word}{i}": 1 for i in range(1200) for word in COUNTS if len(word) < 9}  # more than one slice
    coder, table = make_coder(name, **({"num_buckets": 64} if name == "lsh-rows" else {})), TypeTable.from_counts(many)
    coder.fit(table)
    assert np.array_equal(coder.encode_types(table), coder.encode(table.strings()))


@pytest.mark.parametrize("name", coders())
def test_state_restores_codes_and_fingerprint(name: str) -> None:
    coder, other = fitted(name), make_coder(name)
    other.restore(coder.state())
    assert np.array_equal(other.encode(WORDS), coder.encode(WORDS))
    assert other.fingerprint() == coder.fingerprint()
    assert bool(coder.state()) == coder.needs_fit


@pytest.mark.parametrize("name", ["vocabulary", "lsh-rows", "lsh-bits"])
def test_another_corpus_gives_another_fingerprint(name: str) -> None:
    other = make_coder(name)
    other.fit(TypeTable.from_counts({"other": 1}))
    assert other.fingerprint() != fitted(name).fingerprint()


def test_another_argument_gives_another_fingerprint() -> None:
    fingerprints = {make_coder("md5-rows", num_buckets=n).fingerprint() for n in (50_260, 1033, 50_260)}
    assert len(fingerprints) == 2


def test_unknown_names_get_near_matches() -> None:
    with pytest.raises(InputError, match="coder: unknown name 'md5-bit'; did you mean 'md5-bits'"):
        make_coder("md5-bit")
    with pytest.raises(
        InputError, match="md5-rows: unknown argument 'num_bucket'; did you mean 'num_buckets'.; it takes num"
    ):
        make_coder("md5-rows", num_bucket=3)


@pytest.mark.parametrize("name", ["byte-ngrams", "ngram-buckets", "trigrams", "hash-rows", "word-features"])
def test_codes_have_room_for_every_sign(name: str) -> None:
    """row + num_buckets sign stays below 2^31 where codes are int32; in int64 there are at most 2^20 vectors."""
    most = (2**31 - 1) // 1_000 if make_coder(name).dtype is np.int32 else 2**20
    make_coder(name, num_buckets=1_000, signs=most)
    with pytest.raises(InputError, match=rf"^coder {name}: signs {most + 1} is no whole number from 0 to {most}; "):
        make_coder(name, num_buckets=1_000, signs=most + 1)
