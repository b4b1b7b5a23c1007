"""Metrics of classes and of spans.

Of classes: accuracy, F1 of class 1 or as the mean over classes, Matthews correlation (Gorodkin 2004).

Of spans of words, by counts of each row: F1, precision and recall over all spans, and tags that are right. The F1 is
conlleval's and seqeval's: over the spans of all rows together, a hit where both ends and the type are equal. Targets
(n,) are the spans of each row; outputs (n, 4) are the spans predicted there, the hits, the words, and the words with
the right tag.
"""

from __future__ import annotations

import numpy as np

from hashbench.scores.base import SummedMetric, UndefinedScore, predicted_classes


class ClassMetric(SummedMetric):
    """A metric of classes."""

    outputs = "classes"

    def best_constant(self, targets: np.ndarray) -> np.ndarray | None:
        """The class (n,) that scores highest if it is predicted for all of targets (n,)."""
        constants = [np.full_like(targets, label) for label in np.unique(targets)]
        scores = [self.scored(targets, outputs).value for outputs in constants]
        ranks = [-np.inf if score is None else score for score in scores]  # an undefined one is below all others
        return constants[int(np.argmax(ranks))] if constants else None


class Accuracy(ClassMetric):
    """Share of right classes.

    >>> Accuracy().score(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]))
    0.75
    """

    name = "accuracy"

    def columns(self, targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """True where the class is right: targets (n,) and outputs (n,) or (n, C) -> (n, 1)."""
        return (targets == predicted_classes(outputs))[:, None]

    def of_sums(self, n: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Examples (draws,) and sums (draws, 1) -> scores (draws,)."""
        return sums[:, 0] / n


class MacroF1(ClassMetric):
    """Mean of the F1 of each class that occurs in the targets or the predictions.

    >>> MacroF1().score(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]))  # (4/5 + 2/3) / 2
    0.7333333333333334
    """

    name = "f1_macro"

    def columns(self, targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """Hits of each class, then its occurrences among targets and predictions together.

        Targets (n,) and outputs (n,) or (n, C) -> (n, 2 k).
        """
        predicted = predicted_classes(outputs)
        return _class_columns(targets, predicted, np.union1d(targets, predicted))

    def of_sums(self, n: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Mean F1 of the classes that occur in a draw, NaN where none does: (draws,), (draws, 2 k) -> (draws,)."""
        hits, both = np.split(sums, 2, axis=1)  # (draws, k) each
        occurs = both > 0
        scores = np.divide(2 * hits, both, out=np.zeros(both.shape), where=occurs)
        k = occurs.sum(axis=1)
        return np.divide(scores.sum(axis=1), k, out=np.full(len(k), np.nan), where=k > 0)


class F1(MacroF1):
    """F1 of class 1, of two classes; undefined where class 1 is neither a target nor predicted.

    >>> F1().score(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]))  # precision 1, recall 1/2
    0.6666666666666666
    """

    name = "f1"
    counted_class = 1
    needs_accuracy = True
    undefined = "class 1 is neither in the targets nor predicted"

    def refuses(self, n_classes: int) -> str:
        return "" if n_classes == 2 else f"f1 needs two classes, here are {n_classes}; use metric f1_macro"

    def columns(self, targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """Hits of class 1, then its occurrences among targets and predictions together.

        Targets (n,) and outputs (n,) or (n, C) -> (n, 2).
        """
        return _class_columns(targets, predicted_classes(outputs), np.array([1]))


class Matthews(ClassMetric):
    """Matthews correlation; 0 by definition where predictions are constant, undefined where all targets are one class.

    >>> Matthews().score(np.array([0, 1, 1, 0]), np.array([1, 1, 1, 1]))
    0.0
    """

    name = "matthews"
    least = -1.0
    of_constant = 0.0

    def score(self, targets: np.ndarray, outputs: np.ndarray) -> float:
        """The correlation of targets (n,), outputs (n,) or (n, C). Raises UndefinedScore for targets of one class."""
        if (targets == targets[:1]).all():  # scikit-learn gives 0 there, even where all are right
            raise UndefinedScore("the targets are constant")
        return super().score(targets, outputs)

    def columns(self, targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """Hits, then occurrences of each class in the targets and in the predictions.

        Targets (n,) and outputs (n,) or (n, C) -> (n, 1 + 2 k).
        """
        predicted = predicted_classes(outputs)
        classes = np.union1d(targets, predicted)
        real, predictions = targets[:, None] == classes, predicted[:, None] == classes
        return np.concatenate([(targets == predicted)[:, None], real, predictions], axis=1)

    def of_sums(self, n: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Examples (draws,) and sums (draws, 1 + 2 k) -> scores (draws,); 0 in a draw of one class."""
        real, predictions = np.split(sums[:, 1:], 2, axis=1)  # (draws, k) each
        shared = sums[:, 0] * n - (real * predictions).sum(axis=1)
        square = (n**2 - (real**2).sum(axis=1)) * (n**2 - (predictions**2).sum(axis=1))
        return np.divide(shared, np.sqrt(square), out=np.zeros(len(n)), where=square > 0)


def _class_columns(targets: np.ndarray, predicted: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Hits of each of k classes, then occurrences of each: (n,), (n,), (k,) -> (n, 2 k)."""
    real, predictions = targets[:, None] == classes, predicted[:, None] == classes  # (n, k)
    return np.concatenate([real & predictions, real.astype(np.int8) + predictions], axis=1)


# Each of the five sums as a choice (5,) of it: of spans in the targets, then of the four columns of the outputs
SPANS, PREDICTED, HITS, WORDS, RIGHT_WORDS = np.eye(5)


class SpanShare(SummedMetric):
    """The ratio of two weighted sums of the counts of spans and words of all rows, such as F1.

    >>> span_f1.score(np.array([2, 1]), np.array([[2, 1, 9, 8], [0, 0, 4, 3]]))  # precision 1/2, recall 1/3
    0.4
    """

    outputs = "spans"

    def __init__(self, name: str, above: np.ndarray, below: np.ndarray, undefined: str) -> None:
        """`above` (5,) and `below` (5,): weights of the sums. `undefined`: why there is no score where below is 0."""
        self.name, self.undefined = name, undefined
        self._above, self._below = above, below

    def is_constant(self, outputs: np.ndarray) -> bool:
        """True where outputs (n, 4) have no predicted span, so that every word has the tag of no span."""
        return not outputs[:, 0].any()

    def columns(self, targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """Targets (n,) and outputs (n, 4) side by side, (n, 5)."""
        return np.column_stack([targets, outputs])

    def of_sums(self, n: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Sums (draws, 5) -> scores (draws,), NaN where there is none."""
        below = sums @ self._below
        return np.divide(sums @ self._above, below, out=np.full(len(n), np.nan), where=below > 0)


# Most words are outside of spans, so that even no span at all has a high word_accuracy.
span_f1 = SpanShare("span_f1", 2 * HITS, SPANS + PREDICTED, "no span is there or predicted")
METRICS = (
    Accuracy(),
    F1(),
    MacroF1(),
    Matthews(),
    span_f1,
    SpanShare("span_precision", HITS, PREDICTED, "no span is predicted"),
    SpanShare("span_recall", HITS, SPANS, "no span is there"),
    SpanShare("word_accuracy", RIGHT_WORDS, WORDS, "no words"),
)
