"""The tidy table of scores."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from hashbench.errors import InputError
from hashbench.store.engine import Store
from hashbench.store.result import Result
from hashbench.store.results import COLUMNS, results

if TYPE_CHECKING:
    from tests.store.conftest import Lab


def test_one_row_per_score(store: Store, place: str, lab: Lab) -> None:
    first = lab.plan(store, lab.run("a", model="mine", seed=1, data_fingerprint="d1"), name="one")
    lab.finish_all(store, first, {lab.id("a"): Result(lab.score("matthews", 0.5))})
    missing = lab.score("matthews", None, reason="constant predictions")
    lab.finish_all(store, lab.plan(store, lab.run("b"), name="two"), {lab.id("b"): Result(missing)})
    table = results(place)
    assert list(table.columns) == list(COLUMNS)
    assert len(table) == 4
    row = table[(table.experiment == "one") & (table.checkpoint == "best")].iloc[0]
    assert (row.model, row.task, row.seed, row.metric, row.split) == ("mine", "cola", 1, "matthews", "validation")
    assert (row.value, row.own, row.data_fingerprint, row.run_id) == (0.5, True, "d1", lab.id("a"))
    undefined = table[table.experiment == "two"]
    assert all(math.isnan(value) for value in undefined.value)
    assert set(undefined.reason) == {"constant predictions"}
    assert set(results(store, "two").experiment) == {"two"}
    assert store.query("SELECT 1 AS one")  # a store that was given stays open


def test_an_empty_database_gives_an_empty_table(store: Store, place: str) -> None:
    assert results(place).empty
    with pytest.raises(InputError, match="no experiment in it"):
        results(store, "one")
