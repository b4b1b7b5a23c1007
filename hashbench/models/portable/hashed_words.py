"""Scores of texts by hashed words: a hash of each word, and perhaps of each pair of neighbours, and one linear layer.

A hash (MurmurHash3, 32 bits, of UTF-8) gives a word's bucket and sign. A bucket's value is ln(1 + n) with the sign of
n, the sum of the signs of its words. Weights are int8 with a scale for each output.
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hashbench.models.portable.tokens import words

SETTINGS, WEIGHTS = "hashed_words.json", "weights.bin"
ALL_32 = 2**32 - 1
FIRST_32, SECOND_32 = 0xCC9E2D51, 0x1B873593


def murmur32(data: bytes) -> int:
    """MurmurHash3_x86_32 of bytes with seed 0, as a signed number."""
    h, whole = 0, len(data) & ~3
    for at in range(0, whole, 4):
        h ^= _mixed(int.from_bytes(data[at : at + 4], "little"))
        h = ((h << 13 | h >> 19) * 5 + 0xE6546B64) & ALL_32
    h ^= _mixed(int.from_bytes(data[whole:], "little")) ^ len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & ALL_32
    h = (h ^ h >> 13) * 0xC2B2AE35 & ALL_32
    h ^= h >> 16
    return h - 2**32 if h >> 31 else h


def _mixed(k: int) -> int:
    k = k * FIRST_32 & ALL_32
    return (k << 15 | k >> 17) * SECOND_32 & ALL_32


class HashedWords:
    """Hashed words at work: texts to scores."""

    def __init__(self, tokenize: Callable[[str], list[str]], values: Mapping[str, Any], weights: bytes):
        """`weights`: int8, those of each output behind each other."""
        self.tokenize, self.labels = tokenize, list(values["labels"])
        self.multi_label = bool(values["multi_label"])
        self.pairs, self.buckets = values["pairs"], values["buckets"]
        self.scales, self.intercepts = values["scales"], values["intercepts"]
        places = range(0, len(self.scales) * self.buckets, self.buckets)
        self.weights = [array("b", weights[place : place + self.buckets]) for place in places]

    @classmethod
    def load(cls, folder: str | Path) -> HashedWords:
        """The hashed words in a folder."""
        values = json.loads((Path(folder) / SETTINGS).read_text(encoding="utf-8"))
        return cls(words(values["tokenizer"], str), values, (Path(folder) / WEIGHTS).read_bytes())

    def counts(self, tokens: Sequence[str]) -> dict[int, int]:
        """The sum of the signs of the words of an input in each bucket that has one."""
        counts: dict[int, int] = {}
        pairs = map(" ".join, zip(tokens, tokens[1:])) if self.pairs else ()  # noqa: B905  # Python 3.9 has no strict
        for feature in (*tokens, *pairs):
            h = murmur32(feature.encode())
            bucket = abs(h) % self.buckets
            counts[bucket] = counts.get(bucket, 0) + (1 if h >= 0 else -1)
        return counts

    def scores(self, *texts: str) -> list[float]:
        """The score of each output for a text, or for the texts of a pair, which are read one behind the other."""
        return self.of_words(self.tokenize(" ".join(texts)))

    def of_words(self, tokens: Sequence[str]) -> list[float]:
        """The score of each output for the words of an input."""
        values = [(bucket, math.copysign(math.log1p(abs(n)), n)) for bucket, n in self.counts(tokens).items()]
        return [
            intercept + scale * sum(value * weights[bucket] for bucket, value in values)
            for weights, scale, intercept in zip(self.weights, self.scales, self.intercepts)  # noqa: B905
        ]

    def answer(self, *texts: str) -> str | float | list[str]:
        """The label of an input, or the value of a regression, or the list of labels where it may have several."""
        scores = self.scores(*texts)
        if self.multi_label:
            return [label for label, score in zip(self.labels, scores) if score > 0]  # noqa: B905
        if not self.labels:
            return scores[0]
        return str(self.labels[int(scores[0] > 0) if len(scores) == 1 else scores.index(max(scores))])
