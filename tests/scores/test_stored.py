"""Scores of all stored predictions of the example database against scikit-learn, scipy and plain counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from hashbench.scores import minimal_pairs
from hashbench.scores.base import find_metric, metrics, predicted_classes
from hashbench.scores.rankings import CERTIFIED, RANK, TOKENS
from hashbench.store.engine import open_store
from hashbench.store.status import predictions

EXAMPLE = Path(__file__).parents[2] / "results.db.example"
STORED = """
    SELECT DISTINCT run.id AS run, metric.name AS metric, metric.split AS split, metric.condition AS condition
    FROM metric JOIN attempt ON attempt.id = metric.attempt_id JOIN run ON run.id = attempt.run_id
    JOIN predictions ON predictions.attempt_id = attempt.id AND predictions.split = metric.split
        AND predictions.condition = metric.condition
    WHERE predictions.checkpoint = 'best' AND run.state = 'done'
    ORDER BY run.id, metric.split, metric.condition
"""
pytestmark = pytest.mark.skipif(not EXAMPLE.exists(), reason="no example database beside the tests")
Score = Callable[[np.ndarray, np.ndarray], float]


def of_classes(function: Callable[..., float], **options: object) -> Score:
    """A function of scikit-learn on class ids or logits."""
    return lambda targets, outputs: float(function(targets, predicted_classes(outputs), **options))


def of_values(function: Callable[..., object]) -> Score:
    """A correlation of scipy on values (n,) or (n, 1)."""
    return lambda targets, outputs: function(*(np.float64(side).reshape(-1) for side in (targets, outputs))).statistic  # type: ignore[attr-defined]


def span_share(above: Callable[[np.ndarray], float], below: Callable[[np.ndarray], float]) -> Score:
    """A share of counts of spans: of targets, predicted, hits, words, right words."""

    def score(targets: np.ndarray, outputs: np.ndarray) -> float:
        counts = [int(targets.sum()), *(int(outputs[:, i].sum()) for i in range(4))]
        return above(counts) / below(counts)

    return score


ORACLES: dict[str, Score] = {
    "accuracy": of_classes(accuracy_score),
    "f1": of_classes(f1_score, labels=[1], average="micro", zero_division=0.0),
    "f1_macro": of_classes(f1_score, average="macro", zero_division=0.0),
    "matthews": of_classes(matthews_corrcoef),
    "pearson": of_values(stats.pearsonr),
    "spearman": of_values(stats.spearmanr),
    "rec@1": lambda targets, outputs: float((outputs[:, RANK] == 1).mean()),
    "rec@10": lambda targets, outputs: float(np.isin(outputs[:, RANK], range(1, 11)).mean()),
    "rec@20": lambda targets, outputs: float(np.isin(outputs[:, RANK], range(1, 21)).mean()),
    "mrr": lambda targets, outputs: float(np.mean([1 / rank if rank else 0.0 for rank in outputs[:, RANK]])),
    "token_rec@1": lambda targets, outputs: float(outputs[:, TOKENS:].mean()),
    "certified": lambda targets, outputs: float(outputs[:, CERTIFIED].mean()),
    "span_f1": span_share(lambda c: 2 * c[2], lambda c: c[0] + c[1]),
    "span_precision": span_share(lambda c: c[2], lambda c: c[1]),
    "span_recall": span_share(lambda c: c[2], lambda c: c[0]),
    "word_accuracy": span_share(lambda c: c[4], lambda c: c[3]),
    "label_f1_micro": lambda targets, outputs: f1_score(targets, outputs > 0, average="micro", zero_division=0),
    "label_f1_macro": lambda targets, outputs: f1_score(targets, outputs > 0, average="macro", zero_division=0),
}


@cache
def stored() -> dict[str, list[tuple[np.ndarray, np.ndarray]]]:
    """Targets and outputs of every stored evaluation, by the names of the metrics that it has."""
    store = open_store(str(EXAMPLE), create=False, read_only=True)
    by_metric: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    known, key = None, None
    for row in store.query(STORED):
        if key != (row["run"], row["split"], row["condition"]):
            key = (row["run"], row["split"], row["condition"])
            known = predictions(store, row["run"], row["split"], "best", row["condition"])
        assert known is not None
        by_metric.setdefault(row["metric"], []).append((known.targets, known.outputs))
    return by_metric


def scored(name: str) -> Iterator[tuple[float | None, np.ndarray, np.ndarray]]:
    """Our score of each stored evaluation, with its targets and outputs."""
    for targets, outputs in stored()[name]:
        yield find_metric(name).scored(targets, outputs).value, targets, outputs


def test_every_metric_has_an_oracle() -> None:
    """Those of minimal pairs, of which the example stores none, are counted by hand in test_minimal_pairs.py."""
    assert set(ORACLES) | {metric.name for metric in minimal_pairs.METRICS} == set(metrics())


@pytest.mark.e2e
@pytest.mark.parametrize("name", ORACLES)
def test_scores_of_stored_predictions_equal_the_oracle(name: str) -> None:
    if name not in stored():
        pytest.skip("the example has no such score")
    compared = 0
    for value, targets, outputs in scored(name):
        if value is None:
            assert find_metric(name).is_constant(outputs)
            continue
        assert value == pytest.approx(ORACLES[name](targets, outputs), abs=1e-12)
        compared += 1
    assert compared
