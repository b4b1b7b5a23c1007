"""LSH codes against the dense product x . R, the worked examples, and the released code's feature vectors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.models.coders.lsh import OFFSETS_AT_ONCE, LshBits, LshRows, offset_blocks
from hashbench.models.coders.ngrams import LONGEST_SPLIT, with_splits
from hashbench.models.text.subwords import SubwordTokenizer
from hashbench.models.text.types import TypeTable
from hashbench.models.text.unicode import pack
from tests.oracles import hashes as oracle

KNOWN = ["a", "c", "t", "at", "ca", "cat", "s", "ts", "ats", "b"]  # ranks 0..9
DICTIONARY = np.array([[ord(c) + 1 for c in ngram] + [0] * (4 - len(ngram)) for ngram in KNOWN], dtype=np.int32)
CORPUS = {"cat": 9, "cats": 7, "the": 30, "hat": 4, "that": 8, "naïve": 2, "中文": 3, ",": 20, "tact": 1, "attack": 2}


@pytest.fixture
def bpe(tmp_path: Path) -> str:
    tokenizer = SubwordTokenizer()
    tokenizer.train(["cat-c-at-ca-t cats the hats that attack"] * 3, vocabulary_size=5 + 256 + 12)
    tokenizer.save(tmp_path)
    return str(tmp_path / "tokenizer.json")


def rows(words: list[str], n: int) -> list[int]:
    coder = LshRows(num_buckets=n)
    coder.restore({"ngrams": DICTIONARY})
    return (coder.encode(words)[:, 0] - 5).tolist()


def test_worked_rows() -> None:
    assert rows(["cat", "cats", "at", "tact", "zzz"], 16) == [2, 1, 3, 1, 0]
    assert rows(["cat", "cats", "at", "tact"], 7) == [2, 5, 3, 1]


def test_worked_bits() -> None:
    coder = LshBits()
    coder.restore({"ngrams": DICTIONARY})
    assert [code.tobytes().hex() for code in coder.encode(["cat", "cats", "at", "zzz"])] == [
        "8180e298b3fd941dd3c8fa590301de4a",
        "8980f29911f9941db3c83b710315b64a",
        "0d80c2d8457db03e43deaaf0a311d65a",
        "f" * 32,  # a token without a known n-gram: every x . r is 0
    ]


def test_zero_bit_of_the_released_code() -> None:
    coder = LshBits(lsh_zero_bit=0)
    coder.restore({"ngrams": DICTIONARY})
    assert [code.tobytes().hex() for code in coder.encode(["zzz", "at"])] == [
        "0" * 32,
        "0d80c2d8457db03e43deaaf0a311d65a",
    ]


@pytest.mark.parametrize("negate_half", [False, True])
@pytest.mark.parametrize("n", [1, 2, 7, 64, 1033])
def test_rows_equal_the_dense_product(n: int, negate_half: bool) -> None:
    coder = LshRows(num_buckets=n, lsh_negate_half=negate_half, max_features=40)
    coder.fit(TypeTable.from_counts(CORPUS))
    known = oracle.dictionary(CORPUS, 40)
    words = [*CORPUS, "zzz", "", "catcatcat"]
    expected = [5 + oracle.rolled_row(oracle.features(word, known), n, negate_half) for word in words]
    assert coder.encode(words)[:, 0].tolist() == expected


@pytest.mark.parametrize(("width", "zero_bit"), [(128, 1), (8, 0), (256, 1)])
def test_bits_equal_the_dense_product(width: int, zero_bit: int) -> None:
    coder = LshBits(bits=width, lsh_zero_bit=zero_bit, max_features=40)
    coder.fit(TypeTable.from_counts(CORPUS))
    known = oracle.dictionary(CORPUS, 40)
    words = [*CORPUS, "zzz", "", "catcatcat"]
    expected = [oracle.sign_bits(oracle.features(word, known), width, zero_bit) for word in words]
    assert [code.tobytes().hex() for code in coder.encode(words)] == expected
    assert coder.encode(words).shape == (len(words), width // 8)


def features_of(*types: dict[int, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    ids = np.array([i for found in types for i in found], dtype=np.int32)
    weights = np.array([weight for found in types for weight in found.values()], dtype=np.float64)
    return ids, weights, np.cumsum([0, *(len(found) for found in types)])


@pytest.mark.parametrize(("negate_half", "offsets"), [(False, [15833, 15643]), (True, [15833, 43123])])
def test_feature_vectors_of_the_released_code(negate_half: bool, offsets: list[int]) -> None:
    coder = LshRows(lsh_negate_half=negate_half)
    found = coder.offsets_of(*features_of({10: 1.0}, {10: 1.0, 200: 2.0, 3000: 0.5}))
    assert found.tolist() == offsets


def test_hyperplanes_of_the_released_code(bpe: str) -> None:
    coder = LshBits(lsh_features="bpe-splits", lsh_bpe=bpe)
    code = coder.bits_of(*features_of({10: 1.0}))[0]
    assert code.tobytes().hex() == "cbb763f4ba8197c22374c1b3691a863f"


def test_feature_ids_wrap_at_the_length_of_eta() -> None:
    coder = LshRows(num_buckets=100)
    assert coder.offsets_of(*features_of({103: 1.0})).tolist() == coder.offsets_of(*features_of({3: 1.0})).tolist()


def test_screening_changes_nothing() -> None:
    """Float32 finds the same winners as a float64 product, also where thousands of scores lie close together."""
    generator = np.random.RandomState(7)
    types = [
        {int(i): float(generator.choice([1, 2, 0.25, 1e-3])) for i in generator.choice(50_260, size, replace=False)}
        for size in (1, 2, 3, 5, 9, 30, 400)
    ]
    coder = LshRows()
    eta = np.random.RandomState(42).standard_normal(50_260)
    wrapped = np.concatenate([eta, eta])
    expected = []
    for found in types:
        scores = np.zeros(50_260)
        for i, weight in found.items():
            scores += weight * wrapped[i : i + 50_260]
        expected.append(int(np.argmax(scores)))
    assert coder.offsets_of(*features_of(*types)).tolist() == expected


def test_blocks_cover_the_offsets_and_never_lie_on_both_sides_of_the_half() -> None:
    blocks = offset_blocks(50_260, negate_half=True)
    assert [i for first, last, _ in blocks.tolist() for i in range(first, last)] == list(range(50_260))
    assert all(
        sign == (1 if last <= 25_130 else -1) and last - first <= OFFSETS_AT_ONCE
        for first, last, sign in blocks.tolist()
    )


def test_weights_of_splits_equal_the_definition(bpe: str) -> None:
    coder = LshRows(lsh_features="bpe-splits", lsh_bpe=bpe)
    assert coder.splits is not None
    spellings = SubwordTokenizer(bpe).spellings()
    words = ["cat", "cats", "-", "a-b", "naïve", "t"]
    ids, weights, bounds = coder.features(*pack(words))
    for word, start, stop in zip(words, bounds[:-1], bounds[1:], strict=True):
        found = {spellings[i]: weight for i, weight in zip(ids[start:stop], weights[start:stop], strict=True)}
        assert found == oracle.split_weights(word, SubwordTokenizer(bpe).tokenize(with_splits(word)))
        assert ("-" in found) == (word == "-")


def test_splits_of_a_word() -> None:
    assert with_splits("cat") == "cat-c-at-ca-t"
    assert with_splits("a") == "a"
    assert with_splits("x" * (LONGEST_SPLIT + 1)) == "x" * (LONGEST_SPLIT + 1)


def test_a_token_of_100_000_characters_works() -> None:
    counts = {"cat": 3, "".join(chr(97 + i * i % 26) + chr(97 + i % 25) for i in range(50_000)): 1}
    for coder in (LshRows(num_buckets=5000), LshBits()):
        coder.fit(TypeTable.from_counts(counts))
        assert len(coder.encode(list(counts))) == 2


def test_unfitted_says_so() -> None:
    with pytest.raises(RuntimeError, match="coder lsh-bits: not fitted; call fit or restore first"):
        LshBits().encode(["a"])


def test_wrong_arguments() -> None:
    with pytest.raises(
        InputError, match="unknown lsh_features 'ngrams'; did you mean 'ngram'.; choose from ngram, bpe-sp"
    ):
        LshRows(lsh_features="ngrams")
    with pytest.raises(InputError, match="bits 100 is no multiple of 8"):
        LshBits(bits=100)
    with pytest.raises(InputError, match="lsh_zero_bit 2 is no whole number from 0 to 1"):
        LshBits(lsh_zero_bit=2)
    with pytest.raises(InputError, match="lsh_negate_half 'no'; give true or false"):
        LshRows(lsh_negate_half="no")  # type: ignore[arg-type]


@pytest.mark.e2e
def test_codes_do_not_depend_on_the_process() -> None:
    program = (
        "from hashbench.models.coders.base import make_coder; from hashbench.models.text.types import TypeTable\n"
        f"c = make_coder('lsh-bits'); c.fit(TypeTable.from_counts({CORPUS!r}))\n"
        "print(c.encode(['cats'])[0].tobytes().hex(), c.fingerprint())"
    )
    outcomes = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        outcomes.add(
            subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True).stdout
        )
    assert len(outcomes) == 1
