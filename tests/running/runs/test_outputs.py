"""Outputs above the reader's limit: kept as metrics read them, left out with a note, or refused before training."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashbench.common.errors import InputError
from hashbench.common.measured import MetricRow
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.catalogue import find_task
from hashbench.data.tasks.text_data import Split, TaskData
from hashbench.running.runs.base import check_outputs, storable, stored_bytes
from hashbench.scores.base import Metric, metrics
from hashbench.scores.draws import drawn
from hashbench.store import packing
from hashbench.store.packing import pack, unpack
from hashbench.store.result import NOT_STORED, Predictions, Result

SMALL = 1_000  # bytes in place of the limit


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(packing, "MOST_BYTES", SMALL)
    return SMALL


def result(outputs: np.ndarray, targets: np.ndarray, *names: str, split: str = "test") -> Result:
    scores = [MetricRow(name, metrics()[name].scored(targets, outputs).value, split=split) for name in names]
    return Result(scores, [Predictions(split, "best", outputs, targets, "rows")], notes={"data": "some"})


def test_what_is_written_is_what_can_be_read(limit: int) -> None:
    for array in (
        np.zeros((2, 400), np.float32),
        np.array(["a"]),
        np.zeros(()),
        np.array([None]),
        np.zeros(3, complex),
    ):
        with pytest.raises(ValueError, match="more than 1,000 bytes|no rows of numbers"):
            pack(array)
    assert unpack(pack(np.zeros((1, 250), np.float32))).shape == (1, 250)


@settings(max_examples=30)
@given(st.integers(3, 60), st.integers(2, 300), st.integers(0, 2**32 - 1), st.booleans())
def test_class_ids_keep_every_score_interval_and_paired_test(n: int, classes: int, seed: int, ties: bool) -> None:
    """Also among equal logits, of which the first counts."""
    rng = np.random.RandomState(seed)
    outputs = rng.randint(-2, 3, (n, classes)).astype(np.float32) if ties else rng.randn(n, classes).astype(np.float32)
    targets = rng.randint(0, classes, n)
    for name, metric in metrics("classes").items():
        small = metric.compact(outputs)
        assert small.nbytes < outputs.nbytes
        assert metric.scored(targets, small) == metric.scored(targets, outputs)
        assert metric.is_constant(small) == metric.is_constant(outputs)
        assert np.array_equal(metric.right(targets, small), metric.right(targets, outputs))
        draws = drawn(name, targets, [outputs, small], draws=20, seed=1)
        assert np.array_equal(draws[0], draws[1], equal_nan=True)


def test_too_large_outputs_are_stored_as_their_metrics_read_them(limit: int) -> None:
    outputs, targets = np.random.RandomState(0).randn(40, 20).astype(np.float32), np.arange(40) % 20
    whole = result(outputs, targets, "accuracy", "f1_macro")
    (kept,) = storable(whole).predictions
    assert kept.outputs.dtype == np.uint8 and np.array_equal(kept.outputs, outputs.argmax(axis=1))
    assert storable(whole).notes == whole.notes and storable(whole).metrics == whole.metrics


def test_small_outputs_stay_as_they_are(limit: int) -> None:
    whole = result(np.zeros((10, 5), np.float32), np.zeros(10, int), "accuracy")
    assert storable(whole) is whole


class Surprise(Metric):
    """Made up: reads the largest output, not only whose it is; its author left `compact` as it is."""

    name, outputs = "surprise", "classes"

    def score(self, targets: np.ndarray, outputs: np.ndarray) -> float:
        return float(outputs.max(axis=-1).mean()) if outputs.ndim == 2 else 0.0

    def scorer(self, targets, outputs, units=None):
        raise ValueError


@pytest.fixture
def surprise(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {**metrics(), "surprise": Surprise()}
    monkeypatch.setattr("hashbench.running.runs.base.metric_of", known.get)


def test_a_score_that_would_change_keeps_its_outputs_out_and_a_note_says_so(limit: int, surprise: None) -> None:
    outputs, targets = np.random.RandomState(0).randn(40, 20).astype(np.float32), np.arange(40) % 20
    whole = result(outputs, targets, "accuracy")
    scored = [*whole.metrics, MetricRow("surprise", Surprise().score(targets, outputs), split="test")]
    stored = storable(Result(scored, whole.predictions))
    assert not stored.predictions and "test (40, 20) float32" in stored.notes[NOT_STORED]
    assert list(stored.metrics) == scored


def test_outputs_of_no_known_metric_are_left_out(limit: int) -> None:
    """As those of a user-defined kind of run, whose size no plan knows."""
    own = Result((), [Predictions("mine", "best", np.zeros((40, 20)), np.zeros(40), "x")])
    assert NOT_STORED in storable(own).notes
    text = Result((), [Predictions("mine", "best", np.array(["a", "b"]), np.zeros(2), "x")])
    assert not storable(text).predictions


def data(rows: int, classes: int, *names: str) -> TaskData:
    task = Task("mine", find_task("cola").kind, ("text",), metrics=names, n_classes=classes, report_splits=("test",))
    splits = {name: Split((["a"] * rows,), np.zeros(rows, int)) for name in ("train", "validation", "test")}
    return TaskData(task, splits, "x", "y", "own")


def test_a_task_is_refused_before_the_training_if_nothing_makes_its_outputs_small_enough(
    limit: int, surprise: None
) -> None:
    few, many = data(40, 20, "accuracy"), data(1_001, 20, "accuracy")
    check_outputs(few.task, few)  # 3,200 bytes of logits, and one byte a row of class ids
    with pytest.raises(InputError, match="task 'mine': validation has 1,001 rows and 20 outputs a row, 1,001 bytes"):
        check_outputs(many.task, many)
    both = data(40, 20, "accuracy", "surprise")
    check_outputs(both.task, both)  # what its compact says


def test_the_size_of_class_ids_is_that_of_the_largest_one(limit: int) -> None:
    accuracy = [metrics()["accuracy"]]
    assert [stored_bytes(1_000, classes, accuracy) for classes in (256, 257)] == [1_000, 2_000]
    assert stored_bytes(1_000, 1, [metrics()["pearson"]]) == 4_000  # values stay what they are
    assert stored_bytes(0, 10**9, accuracy) == 0
    assert stored_bytes(10, 20, accuracy) == 800  # few enough: all of them, whatever reads them


def test_data_whose_outputs_nobody_knows_before_are_not_refused() -> None:
    kind = SimpleNamespace(stored_outputs=lambda _: {})
    check_outputs(SimpleNamespace(kind=kind, metrics=(), name="own"), None)  # type: ignore[arg-type]
