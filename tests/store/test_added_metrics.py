"""What is measured of a finished run's model later stands beside its result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hashbench.common.errors import InputError
from hashbench.store.added_metrics import add_metrics
from hashbench.store.engine import Store
from hashbench.store.finishing import finish
from hashbench.store.result import MetricRow, Result

if TYPE_CHECKING:
    from tests.store.conftest import Lab


def numbers(store: Store) -> list[tuple[str, float]]:
    return [(row["name"], row["value"]) for row in store.query("SELECT name, value FROM metric ORDER BY name")]


def test_numbers_are_added_and_measured_again(store: Store, lab: Lab) -> None:
    held = lab.claim(store, lab.plan(store, lab.run("a")))
    finish(store, held, Result(metrics=[MetricRow("total_params", 7)]))
    add_metrics(store, held.run_id, [MetricRow("int8_bytes", 100), MetricRow("int8_latency", 0.2)])
    add_metrics(store, held.run_id, [MetricRow("int8_bytes", 90)])
    assert numbers(store) == [("int8_bytes", 90.0), ("int8_latency", 0.2), ("total_params", 7.0)]


def test_nothing_is_added_to_a_run_that_is_not_finished(store: Store, lab: Lab) -> None:
    held = lab.claim(store, lab.plan(store, lab.run("a")))
    with pytest.raises(InputError, match="is not finished, so nothing can be added to it"):
        add_metrics(store, held.run_id, [MetricRow("int8_bytes", 100)])
    assert numbers(store) == []
