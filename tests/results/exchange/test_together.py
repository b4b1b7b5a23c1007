"""Several databases are read as one: each run counts once, as the first of them has it; none of them is changed."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hashbench.common.errors import InputError
from hashbench.results.exchange.together import check_mergeable, together
from hashbench.store import sums
from hashbench.store.engine import open_store
from hashbench.store.status import versions
from tests.databases.made_up import World, build

SCORES = """
SELECT DISTINCT run_id, value FROM scores WHERE task = 'cola' AND seed = 0 AND own = 1 AND checkpoint = 'best'
"""


def identify(spec: Mapping[str, Any]) -> str:
    """The id of a made-up run."""
    return hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()


@pytest.fixture
def places(tmp_path: Path) -> list[str]:
    """Two databases with one experiment each; both have the runs of seed 0."""
    worlds = {"first.db": World(seeds=(0,), tasks=("cola",)), "second.db": World(seeds=(0, 1), tasks=("cola",))}
    for name, world in worlds.items():
        build(tmp_path / name, world).close()
    return [str(tmp_path / name) for name in worlds]


def test_a_run_that_two_databases_have_counts_once_as_the_first_has_it(places: list[str]) -> None:
    second = open_store(places[1])
    with second.write() as connection:  # a stranger writes the sums that belong to other numbers
        connection.exec_driver_sql("UPDATE metric SET value = value + 0.1 WHERE split = 'validation'")
        sums.write_all(connection)
    second.close()
    before = [Path(place).read_bytes() for place in places]
    with together(places, identify=identify) as of:
        scores = of.store.query(SCORES)
        one = {row["run_id"]: row["value"] for row in scores}
        assert len(one) == len(scores) > 0
        with together(places[:1], identify=identify) as alone:
            assert {row["run_id"]: row["value"] for row in alone.store.query(SCORES)} == one
        assert len(versions(of.store)) == 2
        first, other = of.contributions
        assert (first.name, other.name) == ("first.db", "second.db")
        assert other.merged.differences and other.merged.runs > 0 and not first.merged.runs
    assert [Path(place).read_bytes() for place in places] == before


def test_what_is_damaged_is_refused_and_named(places: list[str]) -> None:
    with sqlite3.connect(places[1]) as second:
        second.execute("UPDATE metric SET value = value + 0.1 WHERE split = 'validation'")
    with pytest.raises(InputError, match=r"second.db: damaged: run .* changed since it was stored; all"):
        with together(places, identify=identify):
            pass


def test_a_database_is_named_once(places: list[str]) -> None:
    with pytest.raises(InputError, match="first.db: named twice"), together([places[0]] * 2, identify=identify):
        pass


def test_a_database_that_cannot_be_merged_is_refused(places: list[str]) -> None:
    check_mergeable(places[0], identify=identify)
    with sqlite3.connect(places[0]) as store:
        store.execute("UPDATE run SET spec = replace(spec, 'data-cola', 'other')")
    with pytest.raises(InputError, match="first.db: malformed: run .*: its spec is that of run"):
        check_mergeable(places[0], identify=identify)
