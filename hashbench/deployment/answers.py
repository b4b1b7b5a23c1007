"""Answers of a model to texts, from its outputs: labels, values, probabilities. Whatever computes the outputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hashbench.common.errors import InputError
from hashbench.deployment.description import Config
from hashbench.deployment.inputs import Asked, Question, of_lines, question
from hashbench.deployment.untrusted import AGAIN


@dataclass(frozen=True)
class AnsweredLine:
    """A line with the prediction of a model."""

    text: str
    prediction: str | float
    probabilities: dict[str, float] | None  # by the names of classes; None for a regression


class AnsweringModel(ABC):
    """A model that answers texts by the outputs of its head."""

    config: Config

    @abstractmethod
    def _outputs(self, inputs: Question) -> np.ndarray:
        """The head's outputs (n, n_outputs) float32, in the order of the inputs. Raises InputError without a head."""

    def _shares(self, outputs: np.ndarray) -> np.ndarray:
        """The probability of each class (n, C) float64, from logits (n, C)."""
        powers = np.exp(outputs.astype(np.float64) - outputs.max(axis=1, keepdims=True))
        shares: np.ndarray = powers / powers.sum(axis=1, keepdims=True)
        return shares

    def predict(self, texts: Asked) -> str | float | list[str] | list[float]:
        """The most likely class, or the value of a regression, for a text or a pair; for a list of them a list.

        `predict("a film")` gives "positive", `predict([("it rains", "it is wet")])` ["entailment"]. Raises TypeError
        for what is no text or pair.
        """
        inputs = self._question(texts)
        outputs = self._outputs(inputs)  # (n, n_outputs)
        if self.config.n_outputs == 1:
            values = [float(value) for value in outputs[:, 0]]
            return values[0] if inputs.is_one else values
        names = [self.labels[i] for i in outputs.argmax(axis=1)]
        return names[0] if inputs.is_one else names

    def probabilities(self, texts: Asked) -> dict[str, float] | list[dict[str, float]]:
        """The probability of each class by name, for a text or a pair; for a list of them a list.

        Raises InputError for a model of a regression, which has no classes.
        """
        if self.config.n_outputs == 1:
            raise InputError(f"{self.config.name}: a regression has no classes; call predict")
        inputs = self._question(texts)
        shares = self._shares(self._outputs(inputs)).tolist()
        named = [dict(zip(self.labels, row, strict=True)) for row in shares]
        return named[0] if inputs.is_one else named

    def answers(self, lines: Sequence[str]) -> list[AnsweredLine]:
        """Prediction and class probabilities for each line, which is a text, or a pair separated by a tab."""
        texts = of_lines(lines, self.config.is_pair)
        if self.config.n_outputs == 1:
            values: Any = self.predict(texts)  # a list, of a list
            return [AnsweredLine(line, value, None) for line, value in zip(lines, values, strict=True)]
        shares: Any = self.probabilities(texts)
        most = [max(row, key=row.__getitem__) for row in shares]
        return [AnsweredLine(*parts) for parts in zip(lines, most, shares, strict=True)]

    def outputs(self, texts: Asked) -> np.ndarray:
        """The head's outputs (n, n_outputs) float32, one row for one text. Raises InputError without a head."""
        return self._outputs(self._question(texts))

    def _finite(self, values: np.ndarray) -> np.ndarray:
        """`values` (n, k) themselves. Raises InputError where weights are so large that some are not finite."""
        if not np.isfinite(values).all():
            raise InputError(
                f"{self.config.name}: its outputs are not finite, as of weights that are too large; {AGAIN}"
            )
        return values

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes in the order of the outputs; their numbers where they have no names."""
        return self.config.labels or tuple(str(i) for i in range(self.config.n_outputs or 0))

    def _question(self, texts: Asked) -> Question:
        return question(texts, None if self.config.task is None else self.config.is_pair)
