"""Planning: idempotent, sharing runs, never touching what is finished."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from hashbench.common.errors import InputError
from hashbench.store.engine import Store, open_store
from hashbench.store.planning import RUNS_AT_ONCE, Run, add_experiment, retry_failed
from hashbench.store.queue import claim, fail
from hashbench.store.result import Result, finish, void
from hashbench.store.schema import CHUNK
from hashbench.store.status import counts, done_ids, experiments, find_experiment

if TYPE_CHECKING:
    from tests.store.conftest import Lab


def test_the_same_plan_is_the_same_experiment(store: Store, lab: Lab) -> None:
    runs = [lab.run("p", kind="pretrain"), lab.run("a", needs=["p"])]
    first = lab.plan(store, *runs)
    before = find_experiment(store)
    assert lab.plan(store, *runs) == first
    after = find_experiment(store)
    assert after.called_at >= before.called_at
    assert after.created_at == before.created_at
    for table, n in (("experiment", 1), ("run", 2), ("experiment_run", 2), ("dependency", 1)):
        assert store.query(f"SELECT COUNT(*) AS n FROM {table}")[0]["n"] == n


def test_another_set_of_runs_under_the_same_name_is_another_experiment(store: Store, lab: Lab) -> None:
    whole = lab.plan(store, lab.run("a"), lab.run("b"))
    part = lab.plan(store, lab.run("a"))
    assert part != whole
    assert find_experiment(store, "exp").id == part  # the one swept last
    assert counts(store, whole)["planned"] == 2  # nothing was taken from the other
    lab.plan(store, lab.run("a"), lab.run("b"))
    assert find_experiment(store, "exp").id == whole
    assert [item.id for item in experiments(store)] == [whole, part]


def test_a_finished_run_is_shared_as_it_is(store: Store, lab: Lab) -> None:
    lab.finish_all(store, lab.plan(store, lab.run("a", model="mine"), name="one"))
    before = store.query("SELECT * FROM run")
    second = lab.plan(store, lab.run("a", model="renamed", spec={"other": 1}), name="two")
    assert store.query("SELECT * FROM run") == before
    assert counts(store, second)["done"] == 1
    assert done_ids(store, [lab.id("a"), lab.id("b")]) == {lab.id("a")}


def test_a_run_in_flight_stays_with_its_worker(store: Store, lab: Lab) -> None:
    held = lab.claim(store, lab.plan(store, lab.run("a"), name="one"))
    second = lab.plan(store, lab.run("a"), name="two")
    assert lab.claim(store, second) is None
    finish(store, held, Result())
    assert counts(store, second)["done"] == 1


def test_a_void_run_is_planned_again(store: Store, lab: Lab) -> None:
    experiment_id = lab.plan(store, lab.run("a"))
    lab.finish_all(store, experiment_id)
    void(store, lab.id("a"), "wrong labels")
    assert lab.claim(store, experiment_id) is None  # not behind the user's back
    lab.plan(store, lab.run("a"))
    assert lab.finish_all(store, experiment_id) == 1
    assert store.query("SELECT COUNT(*) AS n FROM metric WHERE name = 'matthews'")[0]["n"] == 2  # both are kept
    assert store.query("SELECT COUNT(*) AS n FROM scores WHERE checkpoint = 'best'")[0]["n"] == 1


def test_failed_runs_can_be_given_their_tries_back(store: Store, lab: Lab) -> None:
    experiment_id = lab.plan(store, lab.run("a"), lab.run("b"))
    fail(store, lab.claim(store, experiment_id, retries=0), "disk full")
    lab.finish_all(store, lab.plan(store, lab.run("b"), name="other"))
    assert retry_failed(store, experiment_id) == 1
    assert counts(store, experiment_id) == {"planned": 1, "running": 0, "done": 1, "failed": 0, "void": 0}
    assert lab.claim(store, experiment_id, retries=0).run_id == lab.id("a")


def test_more_runs_than_an_in_clause_holds(store: Store, lab: Lab) -> None:
    runs = [lab.run(f"{number:05}") for number in range(CHUNK + 3)]
    experiment_id = lab.plan(store, *runs)
    assert lab.plan(store, *runs) == experiment_id
    assert counts(store, experiment_id)["planned"] == CHUNK + 3
    assert done_ids(store, [row.id for row in runs]) == set()


def test_a_need_that_nobody_planned_is_refused_and_nothing_is_written(store: Store, lab: Lab) -> None:
    with pytest.raises(ValueError, match="run a00000000000 needs run nowhere00000, which nobody planned"):
        lab.plan(store, lab.run("a", needs=["nowhere"]))
    assert not store.query("SELECT 1 FROM run")
    assert not store.query("SELECT 1 FROM experiment")


def test_a_later_call_adds_to_the_config_and_takes_nothing_away(store: Store, lab: Lab) -> None:
    for config in ({"retries": 1, "sources": "hub"}, {"retries": 2}):
        add_experiment(store, "exp", config, [lab.run("a")], baseline="bert-mlm")
    assert find_experiment(store).config == {"retries": 2, "sources": "hub"}


def test_the_largest_seed_is_stored_or_refused_before_anything_is_written(store: Store, lab: Lab) -> None:
    largest = 2**32 - 1
    if store.dialect == "sqlite":
        lab.plan(store, lab.run("a", seed=largest))
        assert store.query("SELECT seed FROM run") == [{"seed": largest}]
    else:
        with pytest.raises(InputError, match=r"seed 4294967295: PostgreSQL holds seeds up to 2147483647"):
            lab.plan(store, lab.run("a", seed=largest))
        assert store.query("SELECT * FROM run") == []


def test_a_config_that_json_cannot_hold_is_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="JSON"):
        add_experiment(store, "exp", {"rate": float("nan")}, [], baseline="bert-mlm")


class Interrupted(Exception):
    """The process ended here."""


def interrupt(store: Store, after: int) -> None:
    """The write transaction behind the next `after` ones does not happen."""
    left = [after]

    @sa.event.listens_for(store._writer, "begin")
    def count(_: Connection) -> None:
        left[0] -= 1
        if left[0] == -1:
            raise Interrupted


def plan_in_parts(lab: Lab) -> list[Run]:
    """450 runs in an order in which needs come last: three transactions a table."""
    return [*(lab.run(f"{n:04}", needs=["p"]) for n in range(449)), lab.run("p", kind="pretrain")]


@pytest.mark.parametrize("after", [1, 4, 6, 8, 10])
def test_a_plan_that_was_interrupted_is_completed_by_the_next_call(place: str, lab: Lab, after: int) -> None:
    runs = plan_in_parts(lab)
    store = open_store(place)
    interrupt(store, after)
    with contextlib.suppress(Interrupted):
        lab.plan(store, *runs)
    store.close()
    store = open_store(place)
    for each in store.query("SELECT id FROM experiment"):  # nothing can be claimed before its need is known
        held = claim(store, each["id"], worker="w", lease_s=60, max_attempts=1)
        assert held is None or held.run_id == lab.id("p")
    experiment_id = lab.plan(store, *runs)
    assert sum(counts(store, experiment_id).values()) == 450
    assert store.query("SELECT COUNT(*) AS n FROM dependency")[0]["n"] == 449
    assert [row["run_id"] for row in store.query("SELECT run_id FROM experiment_run ORDER BY position")] == [
        run.id for run in runs
    ]
    store.close()


def test_an_experiment_is_the_last_one_called_only_when_it_is_whole(place: str, lab: Lab) -> None:
    store = open_store(place)
    before = lab.plan(store, lab.run("before"), name="before")
    interrupt(store, 10)
    with pytest.raises(Interrupted):
        lab.plan(store, *plan_in_parts(lab))
    assert find_experiment(store).id == before
    assert find_experiment(store, "exp").config == {"name": "exp"}
    store.close()


def test_others_can_write_between_the_parts_of_a_plan(store: Store, lab: Lab) -> None:
    written: list[int] = []

    @sa.event.listens_for(store._writer, "commit")
    def look(connection: Connection) -> None:
        tables = ("run", "dependency", "experiment_run")
        written.append(sum(connection.exec_driver_sql(f"SELECT COUNT(*) FROM {name}").scalar_one() for name in tables))

    lab.plan(store, *plan_in_parts(lab))
    steps = [after - before for before, after in zip([0, *written], written, strict=False)]
    assert written[-1] == 450 + 449 + 450
    assert max(steps) <= RUNS_AT_ONCE


def test_a_password_in_the_command_is_not_stored(store: Store) -> None:
    command = "sweep a.yaml --db postgresql://me:s3cr3t@host/runs"
    add_experiment(store, "exp", {}, [], baseline="bert-mlm", command=command)
    assert (
        store.query("SELECT command FROM experiment")[0]["command"] == "sweep a.yaml --db postgresql://me:***@host/runs"
    )
