"""Arrays as they lie in the database."""

from __future__ import annotations

import io
import zlib

import numpy as np
import pytest

from hashbench.common.measured import MetricRow
from hashbench.store.packing import pack, unpack
from hashbench.store.result import Predictions


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.uint8])
@pytest.mark.parametrize("shape", [(0,), (5,), (4, 3)])
def test_an_array_comes_back_as_it_was(dtype: type, shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    back = unpack(pack(array))
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


def test_an_array_can_be_read_without_this_program() -> None:
    packed = pack(np.arange(6).reshape(2, 3).T)  # not contiguous
    np.testing.assert_array_equal(np.load(io.BytesIO(zlib.decompress(packed))), [[0, 3], [1, 4], [2, 5]])


def test_objects_are_refused() -> None:
    with pytest.raises(ValueError, match="[Oo]bject"):
        pack(np.array([{"a": 1}], dtype=object))


def test_repeated_labels_take_little_room() -> None:
    assert len(pack(np.zeros(10_000, dtype=np.int64))) < 1_000


@pytest.mark.parametrize(
    ("metric", "stored"),
    [
        (MetricRow("f1", 0.5), (0.5, None)),
        (MetricRow("f1", np.float32(0.5)), (0.5, None)),
        (MetricRow("f1", 0), (0.0, None)),
        (MetricRow("f1", None, reason="constant"), (None, "constant")),
        (MetricRow("f1", float("-inf")), (None, "-inf")),
        (MetricRow("f1", float("nan"), reason="constant"), (None, "constant")),
    ],
)
def test_what_is_stored_of_a_metric(metric: MetricRow, stored: tuple[float | None, str | None]) -> None:
    assert metric.stored() == stored


def test_an_array_unfolds_to_what_its_first_line_says_and_no_further() -> None:
    good = np.arange(6, dtype=np.int32).reshape(3, 2)
    assert np.array_equal(unpack(pack(good)), good)
    plain = zlib.decompress(pack(good))
    for wrong in (plain + b"\0", plain[:-1], plain + bytes(1 << 24)):
        with pytest.raises(ValueError, match="not as long as its first line says"):
            unpack(zlib.compress(wrong))
    with pytest.raises(ValueError, match="no rows of numbers"):
        unpack(pack(np.array(["text"])))
    with pytest.raises(ValueError, match="not compressed by zlib"):
        unpack(b"text")


@pytest.mark.parametrize("targets", [[2, 0, 1, 0], [[0, 1], [1, 0], [0, 1], [0, 0]]])
def test_rows_in_the_order_of_their_targets_stay_together(targets: list) -> None:
    """Of several labels a row the targets are (n, C)."""
    stored = Predictions("test", "best", np.arange(4), np.array(targets, np.uint8), "rows")
    ordered = stored.in_order_of_targets()
    expected = sorted(range(4), key=lambda row: (targets[row], row))
    assert ordered.outputs.tolist() == expected and ordered.targets.tolist() == [targets[row] for row in expected]
    assert ordered.index_fingerprint != "rows" and ordered.in_order_of_targets() is ordered


@pytest.mark.parametrize(
    ("outputs", "targets", "said"),
    [
        (np.zeros((3, 2)), np.zeros((3, 2), np.uint8), ""),
        (np.zeros((3, 2)), np.zeros(3, np.uint8), ""),
        (np.zeros((3, 2)), np.zeros((3, 4), np.uint8), r"predictions.targets: \(3, 4\) beside outputs \(3, 2\)"),
        (np.zeros(3), np.zeros((3, 2), np.uint8), r"predictions.targets: \(3, 2\) beside outputs \(3,\)"),
        (np.zeros((3, 2)), np.zeros((3, 2, 1), np.uint8), "where 3 rows belong"),
    ],
)
def test_targets_of_several_labels_are_as_wide_as_the_outputs(
    outputs: np.ndarray, targets: np.ndarray, said: str
) -> None:
    row = {
        "split": "test", "checkpoint": "best", "outputs": pack(outputs), "targets": pack(targets), "n": 3,
        "index_fingerprint": "rows", "condition": "",
    }  # fmt: skip
    if not said:
        assert Predictions.of_row(row).targets.shape == targets.shape
        return
    with pytest.raises(ValueError, match=said):
        Predictions.of_row(row)
