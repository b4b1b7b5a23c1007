"""EELBERT's codes on a device: lanes of one integer and numpy give the folded products of a plain loop."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.models.portable.ngram_pooling import SeedLanes, ngram_pooling

MODULI = [3, 4, 257, 2**20, 1_000_000_007, 2**30, 2**31 - 1]
words = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), min_size=1, max_size=6)


def folded(product: int, modulus: int) -> int:
    rest = product % modulus
    return rest - modulus if rest > modulus // 2 else rest


def slow(word: str, values: dict) -> list[float]:
    points, vector, seeds = [ord(character) for character in word], [], iter(values["seeds"])
    for order, n_seeds in enumerate(values["partition"], 1):
        hashes = []
        for start in range(len(points) - order + 1):
            number = 0
            for point in points[start : start + order]:
                number = (number * values["base"] + point) % values["modulus"]
            hashes.append(number)
        divisor = float(max(len(hashes), 1)) * float(values["modulus"])
        for _ in range(n_seeds):
            seed = next(seeds)
            total = sum(folded(number * seed, values["modulus"]) for number in hashes)
            vector.append(2.0 * float(total) / divisor * values["scale"])
    return [struct.unpack("<f", struct.pack("<f", number))[0] for number in vector]


@pytest.mark.parametrize("modulus", MODULI)
@given(numbers=st.data())
def test_each_lane_is_divided_as_a_number_alone(modulus: int, numbers: st.DataObject) -> None:
    some = st.lists(st.integers(0, modulus - 1) | st.just(modulus - 1), max_size=5)
    hashes, seeds = numbers.draw(some), [*numbers.draw(some), 1, modulus - 1]
    wanted = [sum(folded(number * seed, modulus) for number in hashes) for seed in seeds]
    assert list(SeedLanes(seeds, modulus).sums(hashes)) == wanted


@given(words, st.sampled_from(MODULI))
def test_both_ways_give_the_vectors_of_a_loop(of_words: list[str], modulus: int) -> None:
    values = {
        "base": 257, "modulus": modulus, "marker": "", "scale": 1.5, "partition": [1, 2, 3],
        "seeds": [1 + 7919 * j % (modulus - 1) for j in range(6)],
    }  # fmt: skip
    encode = ngram_pooling(values, str)
    wanted = [slow(word, values) for word in of_words]
    assert [encode(word) for word in of_words] == wanted
    assert encode.of_many(np, of_words).tolist() == wanted


def test_a_marker_before_more_is_left_out() -> None:
    values = {"base": 257, "modulus": 1_009, "marker": "##", "scale": 1.0, "partition": [2], "seeds": [5, 7]}
    encode = ngram_pooling(values, str)
    assert encode("##ing") == encode("ing") and encode("##") != encode("")
    assert encode.of_many(np, ["##ing", "##"]).tolist() == [encode("ing"), encode("##")]
