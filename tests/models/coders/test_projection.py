"""The projection of ProFormer: worked examples, the definition in plain Python, and what hashing promises."""

from __future__ import annotations

import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.models.coders.base import make_coder
from hashbench.models.coders.projection import ProjectionCoder
from tests.oracles import proformer as oracle

# Own place, seed 0: features, first sums, sum of sums, ones, zeros among the sums, first eight bytes of the bits.
WORKED = {
    "cat": (16, [2, 4, 4, 8, 2, 0, 0, 2], 28, 258, 81, "ffaf558f81bb5c9d"),
    "flights": (40, [-4, -4, -2, 4, -6, -6, 2, -12], 104, 246, 54, "48b8df6de9be5bdb"),
    "": (1, [1, 1, 1, 1, 1, -1, -1, 1], 24, 222, 0, "9f18358c34b5e664"),
}
ODD = ["", "cat", "CAT", "^", "$", "^$", "naïve", "日本語", "🙂x", "a\x00b", "x" * 255, "x" * 5_000, "İSTANBUL"]


def test_features_of_cat() -> None:
    """16 features, spelled out."""
    expected = "n:c n:a n:t n:^c n:ca n:at n:t$ n:^ca n:cat n:at$ n:^cat n:cat$ n:^cat$ s:^a s:ct s:a$"
    assert sorted(oracle.features("cat")) == sorted(expected.split())


def test_features_of_the_empty_word() -> None:
    assert oracle.features("") == ["n:^$"]


def test_a_long_word_has_at_most_1534_features() -> None:
    assert len(oracle.features("x" * 1_000)) == 1_534


def test_fingerprints() -> None:
    expected = {"n:c": 15577907878510673059, "n:cat": 14434128026825898545, "s:^a": 6843750368741817723}
    assert {feature: oracle.fingerprint(feature) for feature in expected} == expected


@pytest.mark.parametrize("word", WORKED)
def test_worked_examples(word: str) -> None:
    n_features, first, total, ones, zeros, bits = WORKED[word]
    sums = ProjectionCoder().encode([word])[0, :420]
    assert len(oracle.features(word)) == n_features
    assert sums[:8].tolist() == first and sums.sum() == total
    assert (sums >= 0).sum() == ones and (sums == 0).sum() == zeros
    assert np.packbits(sums >= 0, bitorder="little")[:8].tobytes().hex() == bits


def test_sums_of_each_place_equal_the_definition() -> None:
    codes = ProjectionCoder().encode(ODD).reshape(len(ODD), 3, 420)
    for word, code in zip(ODD, codes, strict=True):
        assert code.tolist() == [oracle.sums(word, place) for place in range(3)]


@pytest.mark.parametrize(("bits", "places", "seed"), [(64, 3, 0), (1_120, 1, 0), (65, 2, 7), (1, 1, 12345)])
def test_other_lengths_places_and_seeds(bits: int, places: int, seed: int) -> None:
    coder = ProjectionCoder(bits=bits, places=places, seed=seed)
    codes = coder.encode(["cat", "naïve"]).reshape(2, places, bits)
    assert codes.tolist() == [[oracle.sums(w, p, bits, seed) for p in range(places)] for w in ("cat", "naïve")]


def test_the_first_bits_of_sixty_four_do_not_depend_on_their_number() -> None:
    """Block 0 of place 0 is the same number for every T."""
    assert np.array_equal(ProjectionCoder(bits=64).encode(["cat"])[0, :64], ProjectionCoder().encode(["cat"])[0, :64])


def test_similar_words_agree_in_more_bits() -> None:
    """Shares of equal bits, own place."""
    expected = {("flights", "flight"): 0.80, ("flights", "flihgts"): 0.65, ("cat", "cats"): 0.74,
                ("running", "runner"): 0.67}  # fmt: skip
    for pair, share in expected.items():
        one, other = ProjectionCoder(places=1).encode(pair) >= 0
        assert (one == other).mean() == pytest.approx(share, abs=0.005)


def test_case_does_not_matter() -> None:
    one, other = ProjectionCoder().encode(["Cat", "cat"])
    assert np.array_equal(one, other)


def test_characters_behind_the_256th_do_not_matter() -> None:
    one, other = ProjectionCoder().encode(["x" * 256, "x" * 256 + "y"])
    assert np.array_equal(one, other)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"bits": 0}, r"^coder projection: bits 0 is no whole number from 1 to "),
        ({"bits": -420}, r"^coder projection: bits -420 is no whole number from 1 to "),
        ({"bits": 4.2}, r"^coder projection: bits 4\.2 is no whole number"),
        ({"places": 4}, r"^coder projection: places 4 is no whole number from 1 to 3; correct it$"),
        ({"seed": -1}, r"^coder projection: seed -1 is no whole number from 0 to "),
        ({"bit": 4}, r"^coder projection: unknown argument 'bit'; did you mean 'bits'"),
    ],
)
def test_wrong_arguments(arguments: dict[str, object], text: str) -> None:
    with pytest.raises(InputError, match=text):
        make_coder("projection", **arguments)
