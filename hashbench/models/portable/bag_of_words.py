"""Scores of texts by a bag of words: TF-IDF of words and pairs of neighbours, and one linear layer.

A feature with n occurrences has the value (1 + ln n) times its idf; values are divided by their Euclidean norm, so that
the scale of idf does not matter. Weights are numbers, or int8 with a scale for each output.
"""

from __future__ import annotations

import json
import math
import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hashbench.models.portable.tokens import words

SETTINGS, FEATURES, NUMBERS = "bag_of_words.json", "features.txt", "weights.bin"
KINDS = {"float32": ("f", "f"), "int8": ("B", "b")}  # of idf and of weights, as `array` calls them


class BagOfWords:
    """A bag of words at work: texts to scores."""

    def __init__(self, tokenize: Callable[[str], list[str]], values: Mapping[str, Any], features: str, numbers: bytes):
        """`features`: one a line; `numbers`: the idf of each, then the weights of each output, low byte first."""
        self.tokenize, self.labels = tokenize, list(values["labels"])
        self.multi_label = bool(values["multi_label"])
        self.rows = {feature: row for row, feature in enumerate(features.split("\n"))}
        self.scales, self.intercepts = values["scales"], values["intercepts"]
        of_idf, of_weights = KINDS[values["kind"]]
        self.idf, self.weights = array(of_idf), []
        n = len(self.rows)
        ends = n * self.idf.itemsize
        parts = [(self.idf, numbers[:ends])]
        for number in range(len(self.scales)):
            weights = array(of_weights)
            size = n * weights.itemsize
            parts.append((weights, numbers[ends + number * size : ends + (number + 1) * size]))
            self.weights.append(weights)
        for numbers_of, content in parts:
            numbers_of.frombytes(content)
            if sys.byteorder == "big":
                numbers_of.byteswap()

    @classmethod
    def load(cls, folder: str | Path) -> BagOfWords:
        """The bag of words in a folder."""
        place = Path(folder)
        values = json.loads((place / SETTINGS).read_text(encoding="utf-8"))
        # As bytes: line ends of any other kind are none here.
        features = (place / FEATURES).read_bytes().decode()
        return cls(words(values["tokenizer"], str), values, features, (place / NUMBERS).read_bytes())

    def scores(self, *texts: str) -> list[float]:
        """The score of each output for a text, or for the texts of a pair, which are read one behind the other."""
        return self.of_words(self.tokenize(" ".join(texts)))

    def of_words(self, tokens: Sequence[str]) -> list[float]:
        """The score of each output for the words of an input."""
        counts: dict[int, int] = {}
        for feature in (*tokens, *map(" ".join, zip(tokens, tokens[1:]))):  # noqa: B905  # Python 3.9 has no strict
            row = self.rows.get(feature)
            if row is not None:
                counts[row] = counts.get(row, 0) + 1
        values = {row: (1.0 + math.log(n)) * self.idf[row] for row, n in counts.items()}
        norm = math.sqrt(sum(value * value for value in values.values())) or 1.0
        return [
            intercept + scale / norm * sum(value * weights[row] for row, value in values.items())
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
