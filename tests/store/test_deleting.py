"""Deleting and renaming experiments, on both databases."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from hashbench.common.errors import InputError
from hashbench.results.exchange.checking import find_damage
from hashbench.store.deleting import Deletion, delete, planned_deletion
from hashbench.store.engine import Store, open_store
from hashbench.store.environment import Environment
from hashbench.store.queue import claim
from hashbench.store.result import Artifact, Result, finish
from hashbench.store.schema import metadata, setting
from hashbench.store.status import counts, experiment_names

if TYPE_CHECKING:
    from tests.store.conftest import Lab


def content(store: Store) -> dict[str, list[tuple[object, ...]]]:
    """All rows, by table."""
    with store.read() as connection:
        return {
            table.name: sorted(map(tuple, connection.execute(sa.select(table))), key=repr)
            for table in metadata.sorted_tables
            if table is not setting
        }


def finish_with_files(store: Store, lab: Lab, experiment_id: int) -> None:
    """Finishes every run that can be claimed, in an environment of its own, with a score and a file of 10 bytes."""
    while held := claim(
        store, experiment_id, worker="w", lease_s=60, max_attempts=1,
        environment=Environment(f"box {experiment_id}", "", "", {}, {}, "CPU"),
    ):  # fmt: skip
        finish(store, held, Result(lab.score("matthews", 0.5), artifacts=[Artifact("weights", "a/b", 10, "c")]))


def assert_whole(store: Store) -> None:
    """Nothing of a deleted row is left, sums included."""
    names = {lab_id: spec for lab_id, spec in ((row["id"], row["spec"]) for row in store.query("SELECT * FROM run"))}
    ids = iter(names)
    damage = [str(item) for item in find_damage(store, identify=lambda _: next(ids))]
    assert [line for line in damage if "its id is not" not in line] == []


def test_all_of_an_experiment_goes_and_nothing_else(store: Store, lab: Lab) -> None:
    kept = lab.plan(store, lab.run("a"), lab.run("b"), name="kept")
    finish_with_files(store, lab, kept)
    before = content(store)
    mine = lab.plan(store, lab.run("c"), lab.run("d", needs=["c"]), name="mine")
    finish_with_files(store, lab, mine)
    planned = planned_deletion(store, "mine")
    assert planned == Deletion("mine", (mine,), (lab.id("c"), lab.id("d")), 0, 2, 2, 20)
    delete(store, planned)
    assert content(store) == before
    assert_whole(store)


def test_runs_that_others_have_or_need_stay(store: Store, lab: Lab) -> None:
    """`base` is needed by `tuned`, which another experiment has; `shared` is in both."""
    mine = lab.plan(store, lab.run("base"), lab.run("own"), lab.run("shared"), name="mine")
    lab.finish_all(store, mine)
    other = lab.plan(store, lab.run("shared"), lab.run("tuned", needs=["base"]), name="other")
    lab.finish_all(store, other)
    planned = planned_deletion(store, "mine")
    assert (planned.runs, planned.n_staying) == ((lab.id("own"),), 2)
    delete(store, planned)
    assert counts(store, other)["done"] == 2 and experiment_names(store) == ["other"]
    ids = {row["id"] for row in store.query("SELECT id FROM run")}
    assert ids == {lab.id("base"), lab.id("shared"), lab.id("tuned")}
    assert_whole(store)


def test_what_a_staying_run_needs_through_others_stays(store: Store, lab: Lab) -> None:
    lab.plan(store, lab.run("first"), lab.run("second", needs=["first"]), lab.run("third"), name="mine")
    lab.plan(store, lab.run("last", needs=["second"]), name="other")
    planned = planned_deletion(store, "mine")
    assert planned.runs == (lab.id("third"),)
    delete(store, planned)
    assert_whole(store)


def test_a_run_in_a_workers_hand_is_not_taken_away(store: Store, lab: Lab) -> None:
    """Also a run that would stay. A lease that is over does not count."""
    mine = lab.plan(store, lab.run("a"), name="mine")
    planned = planned_deletion(store, "mine")
    held = lab.claim(store, mine, "box:7")
    for attempted in (lambda: planned_deletion(store, "mine"), lambda: delete(store, planned)):
        with pytest.raises(InputError, match="mine: worker box:7 has its run a0.*stop its sweep first"):
            attempted()
    lab.expire(store, held)
    delete(store, planned_deletion(store, "mine"))
    assert experiment_names(store) == []


def test_what_changed_since_it_was_shown_is_not_deleted(store: Store, lab: Lab) -> None:
    lab.plan(store, lab.run("a"), name="mine")
    planned = planned_deletion(store, "mine")
    lab.plan(store, lab.run("a"), name="other")
    before = content(store)
    with pytest.raises(InputError, match="mine has changed meanwhile, so nothing was deleted"):
        delete(store, planned)
    assert content(store) == before


def test_many_runs_in_any_order_of_needs(store: Store, lab: Lab) -> None:
    """More than one SQL statement takes; each run needs one that is deleted with another statement."""
    ids = [f"{number:04d}" for number in range(1200)]
    rows = [lab.run(name, needs=[ids[place - 600]] if place >= 600 else ()) for place, name in enumerate(ids)]
    lab.plan(store, *rows, name="mine")
    delete(store, planned_deletion(store, "mine"))
    assert all(not rows for name, rows in content(store).items() if name not in ("reading", "alembic_version"))


def test_an_experiment_that_is_not_there(store: Store, lab: Lab) -> None:
    lab.plan(store, lab.run("a"), name="mine")
    with pytest.raises(InputError, match="no experiment 'mime'; did you mean 'mine'"):
        planned_deletion(store, "mime")


def test_a_copy_is_whole(tmp_path: Path, lab: Lab) -> None:
    store = open_store(tmp_path / "r.db")
    assert store.copy_first() is None  # nothing is in it
    lab.finish_all(store, lab.plan(store, lab.run("a"), name="mine"))
    before, copy = content(store), store.copy_first()
    assert copy is not None
    delete(store, planned_deletion(store, "mine"))
    assert content(open_store(copy, create=False)) == before != content(store)
    planned = planned_deletion(open_store(copy, create=False), "mine")
    assert replace(planned, runs=()) == Deletion("mine", (1,), (), 0, 1, 0, 0)
