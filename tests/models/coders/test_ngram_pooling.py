"""The n-gram pooling hash against integers that were worked out by hand from its definition, and plain Python."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashbench.common.errors import InputError
from hashbench.models.coders.base import make_coder
from hashbench.models.coders.ngram_pooling import NgramPooling, seed_vector
from hashbench.models.text.types import TypeTable
from tests.oracles import ngram_pooling as oracle

# State 42, d = 12 in parts 2, 4, 6: the column sums S of each token (EELBERT, section 3.2, with the coder's rules).
SEEDS_12 = [678530714, 427935848, 627061557, 163067633, 932766565, 567102889]
SEEDS_12 += [604436798, 373468481, 988756972, 796787037, 747664440, 896867931]
CAT = [-298418716, -484016362, -91361195, -223842438, -3639763, -100560744]
CAT += [252872788, 251402120, -111947774, 208405963, -407294904, -216389460]
ING = [-730084816, 39107862, 476149036, -548430480, 753170327, -361867544]
ING += [288437929, 530269644, -402644252, 606769108, -358696557, -858843842]
IT = [-44713256, -426178257, -4862701, 295891000, -93498888, 55287206, 0, 0, 0, 0, 0, 0]
SUMS_12 = {"cat": CAT, "##ing": ING, "it": IT, "a": [-182521204, -490223038, *[0] * 10], "": [0] * 12}
CAT_VECTOR = [-0.198945809, -0.322677572, -0.091361194, -0.223842436, -0.003639763, -0.100560743]
CAT_VECTOR += [0.505745572, 0.502804236, -0.223895546, 0.416811923, -0.814589802, -0.432778917]
SEED_SUMS = {128: 66551058317, 256: 126609075673, 768: 370198261155}
RUNNING_SUMS = {128: -7525301468, 256: -3972403656, 768: 3480844244}
STRANGE = ["", "a", "ab", "naïve", "日本語", "😀🙃", "a\0b", "##", "###", "\U0010ffff\U0010ffff\U0010fffe", "xyz" * 300]


def words(n: int, seed: int = 0) -> list[str]:
    """Random strings of 1 to 9 characters, a few of them from beyond ASCII."""
    draw = random.Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz#" * 3 + "äßж中😀\u0301"
    return ["".join(draw.choice(letters) for _ in range(draw.randint(1, 9))) for _ in range(n)]


def test_seeds() -> None:
    assert seed_vector(42, 12, 10**9 + 7).tolist() == SEEDS_12
    assert {dim: int(seed_vector(42, dim, 10**9 + 7).sum()) for dim in SEED_SUMS} == SEED_SUMS
    assert seed_vector(42, 768, 10**9 + 7)[767] == 223860674


def test_sums_are_exact_integers() -> None:
    found = NgramPooling(dim=12).sums(list(SUMS_12))
    assert {token: row.tolist() for token, row in zip(SUMS_12, found, strict=True)} == SUMS_12


@pytest.mark.parametrize("dim", RUNNING_SUMS)
def test_sums_at_the_sizes_of_the_paper(dim: int) -> None:
    assert int(NgramPooling(dim=dim).sums(["running"]).sum()) == RUNNING_SUMS[dim]


def test_single_columns_at_the_sizes_of_the_paper() -> None:
    tiny, base = NgramPooling(dim=128).sums(["running"])[0], NgramPooling(dim=768).sums(["running", "[MASK]"])
    assert tiny[:3].tolist() == [-209884588, 82664809, 210333959]
    assert tiny[-3:].tolist() == [-43155587, -706872886, -869914231]
    assert base[0, -3:].tolist() == [-309035728, -234755476, -696763979]
    assert int(base[1].sum()) == 4485824589


def test_a_vector() -> None:
    assert NgramPooling(dim=12).encode(["cat"])[0].tolist() == pytest.approx(CAT_VECTOR, abs=5e-8)


@pytest.mark.parametrize("modulus", [10**9 + 7, 2**31 - 1, 2**31 - 2, 10, 7, 3])
def test_any_modulus_equals_plain_integers(modulus: int) -> None:
    """Moduli at both ends of what is allowed, and even ones, where half the modulus is a remainder of its own."""
    coder, strings = NgramPooling(dim=24, modulus=modulus, seed=5), STRANGE + words(60)
    h = oracle.seeds(5, 24, modulus)
    assert coder.sums(strings).tolist() == [oracle.column_sums(each, h, [4, 8, 12], modulus) for each in strings]


def test_vectors_are_rounded_once() -> None:
    h, strings = oracle.seeds(42, 128), STRANGE + words(40, seed=1)
    expected = np.array([oracle.vector(each, h, [21, 42, 65]) for each in strings], dtype=np.float32)
    assert np.array_equal(NgramPooling(dim=128).encode(strings), expected)


@pytest.mark.e2e
@settings(max_examples=30)
@given(
    st.lists(st.text(max_size=12) | st.sampled_from(STRANGE), max_size=6),
    st.integers(6, 40),
    st.sampled_from((3, 257, 10**6 + 3, 10**9 + 7, 2**31 - 1)),
    st.booleans(),
    st.sampled_from((1.0, 0.02, 3.7)),
)
def test_a_few_in_plain_python_are_equal_bit_for_bit(
    strings: list[str], dim: int, modulus: int, strip: bool, scale: float
) -> None:
    coder = NgramPooling(dim, modulus=modulus, strip=strip, scale=scale)
    few = coder.encode_few(strings)
    assert few.dtype == np.float32 and few.shape == (len(strings), dim)
    assert few.tobytes() == coder.encode(strings).tobytes()


def test_many_types_on_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HASHBENCH_THREADS", "2")
    table = TypeTable.from_counts(dict.fromkeys(words(9000, seed=2), 1))
    coder, h = NgramPooling(dim=16), oracle.seeds(42, 16)
    expected = np.array([oracle.vector(each, h, list(coder.partition)) for each in table.strings()], dtype=np.float32)
    assert np.array_equal(coder.encode_types(table), expected)


def test_partitions_of_the_paper() -> None:
    parts = {dim: NgramPooling(dim=dim).partition for dim in (12, 128, 256, 768)}
    assert parts == {12: (2, 4, 6), 128: (21, 42, 65), 256: (42, 84, 130), 768: (128, 256, 384)}


def test_a_partition_of_ones_own() -> None:
    h = oracle.seeds(42, 10)
    found = NgramPooling(dim=10, orders=2, partition=[3, 7]).sums(["cats"])
    assert found[0].tolist() == oracle.column_sums("cats", h, [3, 7])


def test_a_continuing_piece_is_another_type_unless_stripped() -> None:
    plain, stripped = NgramPooling(dim=768), NgramPooling(dim=768, strip=True)
    piece, word = plain.encode(["##ing", "ing"]).astype(float)
    assert piece @ word / np.linalg.norm(piece) / np.linalg.norm(word) == pytest.approx(0.63, abs=0.005)
    assert np.array_equal(stripped.encode(["##ing", "##", "#a"]), plain.encode(["ing", "##", "#a"]))


def test_similar_spellings_have_similar_vectors() -> None:
    """Cosines at d = 768, worked out in plain Python."""
    pairs = {("running", "runner"): 0.55, ("run", "runner"): 0.59, ("running", "table"): 0.01, ("[CLS]", "[SEP]"): 0.06}
    coder = NgramPooling(dim=768)
    for pair, cosine in pairs.items():
        a, b = coder.encode(list(pair)).astype(float)
        assert a @ b / np.linalg.norm(a) / np.linalg.norm(b) == pytest.approx(cosine, abs=0.006)


def test_scale_multiplies() -> None:
    plain, scaled = (NgramPooling(dim=12, scale=scale).encode(["cat", ""]) for scale in (1.0, 0.25))
    assert np.array_equal(scaled, plain * np.float32(0.25))
    assert NgramPooling(dim=12, scale=0.25).fingerprint() != NgramPooling(dim=12).fingerprint()


WRONG: dict[str, dict[str, object]] = {
    "dim 5 is too small for orders 3; take at least 6": {"dim": 5},
    "orders 0 is no whole number from 1 to 16": {"orders": 0},
    "modulus 2147483648 is no whole number from 3": {"modulus": 2**31},
    "seed -1 is no whole number from 0": {"seed": -1},
    "scale 0 is no number above 0": {"scale": 0},
    "scale 'big' is no number above 0": {"scale": "big"},
    "strip 1; give true or false": {"strip": 1},
    r"partition \[1, 2\]; give 3 whole numbers above 0 whose sum is 12": {"dim": 12, "partition": [1, 2]},
    r"partition \[4, 4, 5\]; give 3 whole numbers above 0 whose sum is 12": {"dim": 12, "partition": [4, 4, 5]},
    "unknown argument 'sed'; did you mean 'seed'": {"sed": 1},
}


@pytest.mark.parametrize(("message", "arguments"), WRONG.items())
def test_wrong_arguments(message: str, arguments: dict[str, object]) -> None:
    with pytest.raises(InputError, match=f"coder ngram-pooling: {message}"):
        make_coder("ngram-pooling", **arguments)
