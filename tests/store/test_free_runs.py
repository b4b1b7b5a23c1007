"""What can be claimed is noted beside the members: after every change, for every claim, and mended where wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from hashbench.store.engine import Store, open_results
from hashbench.store.free_runs import mend
from hashbench.store.planning import retry_failed
from hashbench.store.queue import _free_run, claim, fail, pending
from hashbench.store.result import Result, finish, void
from hashbench.store.schema import chunks, experiment_run
from tests.store.noted import wrong_notes

if TYPE_CHECKING:
    from tests.store.conftest import Lab


def free(store: Store) -> dict[str, int | None]:
    rows = store.query("SELECT run_id, free_tries FROM experiment_run ORDER BY position")
    return {row["run_id"].rstrip("0"): row["free_tries"] for row in rows}


def test_a_run_is_free_while_it_waits_for_nothing(store: Store, lab: Lab) -> None:
    runs = [lab.run("f", needs=["p", "q"]), lab.run("p", kind="pretrain"), lab.run("q", kind="pretrain")]
    experiment_id = lab.plan(store, *runs)
    assert free(store) == {"f": None, "p": 0, "q": 0}
    p = lab.claim(store, experiment_id)
    assert free(store) == {"f": None, "p": None, "q": 0}
    finish(store, p, Result())
    q = lab.claim(store, experiment_id)
    fail(store, q, "broken")
    assert free(store) == {"f": None, "p": None, "q": 1}
    finish(store, lab.claim(store, experiment_id), Result())
    assert free(store) == {"f": 0, "p": None, "q": None}
    assert void(store, lab.id("p"), "wrong corpus") == [lab.id("p")]
    assert free(store) == {"f": None, "p": None, "q": None}
    lab.plan(store, *runs)
    assert free(store) == {"f": None, "p": 0, "q": None}
    assert wrong_notes(store) == []


def test_tries_that_were_given_back_are_noted(store: Store, lab: Lab) -> None:
    experiment_id = lab.plan(store, lab.run("a"))
    fail(store, lab.claim(store, experiment_id, retries=0), "broken")
    assert free(store) == {"a": 1}
    retry_failed(store, experiment_id)
    assert free(store) == {"a": 0}


def test_a_run_of_two_experiments_is_noted_in_both(store: Store, lab: Lab) -> None:
    one, two = (lab.plan(store, lab.run("p"), lab.run("a", needs=["p"]), name=name) for name in ("one", "two"))
    finish(store, lab.claim(store, one), Result())
    assert lab.claim(store, two).run_id == lab.id("a")
    assert lab.claim(store, one) is None
    assert {row["free_tries"] for row in store.query("SELECT free_tries FROM experiment_run")} == {None}


def test_a_claim_reads_the_first_entry_of_the_index(new_store, lab: Lab) -> None:
    """The plan of SQLite: no other row of the experiment is looked at, and nothing is sorted."""
    store = new_store("plan.db")
    experiment_id = lab.plan(store, *(lab.run(f"{n:03}") for n in range(100)))
    text = _free_run(experiment_id, 2, ("finetune",), None).compile(compile_kwargs={"literal_binds": True})
    steps = [row["detail"] for row in store.query(f"EXPLAIN QUERY PLAN {text}".replace(":", "\\:"))]
    assert steps[0].startswith("SEARCH experiment_run USING INDEX experiment_run_free (experiment_id=?")
    assert not any("TEMP B-TREE" in step or step.startswith("SCAN") for step in steps), steps


def test_runs_are_claimed_in_the_order_of_their_turn(store: Store, lab: Lab) -> None:
    experiment_id = lab.plan(store, lab.run("a"), lab.run("b"))
    with store.write() as connection:
        connection.execute(sa.update(experiment_run).values(turn=1 - experiment_run.c.position))
    assert [lab.claim(store, experiment_id).run_id for _ in range(2)] == [lab.id("b"), lab.id("a")]


def test_a_wrong_note_gives_no_run_away(store: Store, lab: Lab) -> None:
    experiment_id = lab.plan(store, lab.run("p"), lab.run("a", needs=["p"]))
    assert lab.claim(store, experiment_id).run_id == lab.id("p")
    with store.write() as connection:
        connection.execute(sa.update(experiment_run).values(free_tries=0))
    assert lab.claim(store, experiment_id) is None
    mend(store, experiment_id)
    assert wrong_notes(store) == []


def test_a_run_that_was_not_noted_is_found_when_nothing_else_is_left(store: Store, lab: Lab) -> None:
    experiment_id = lab.plan(store, lab.run("a"))
    with store.write() as connection:
        connection.execute(sa.update(experiment_run).values(free_tries=None))
    assert lab.claim(store, experiment_id) is None
    assert pending(store, experiment_id, 2)
    assert lab.claim(store, experiment_id).run_id == lab.id("a")


def test_who_only_reads_mends_nothing(new_store, lab: Lab) -> None:
    """As `status --watch`, in a folder that cannot be written or of a database of others."""
    store = new_store("read.db")
    experiment_id = lab.plan(store, lab.run("a"))
    with store.write() as connection:
        connection.execute(sa.update(experiment_run).values(free_tries=None))
    assert pending(open_results(store.address), experiment_id, 2)
    assert wrong_notes(store) != []
    assert pending(store, experiment_id, 2) and wrong_notes(store) == []


def test_a_worker_without_work_locks_nothing(new_store, lab: Lab) -> None:
    store = new_store("idle.db")
    experiment_id = lab.plan(store, lab.run("p"), lab.run("a", needs=["p"]))
    lab.claim(store, experiment_id)
    begun: list[object] = []
    sa.event.listen(store._writer, "begin", begun.append)
    assert claim(store, experiment_id, worker="idle", lease_s=60, max_attempts=2) is None
    assert pending(store, experiment_id, 2)
    assert begun == []


def test_parts_hold_everything_once() -> None:
    assert [list(part) for part in chunks("abcde", 2)] == [["a", "b"], ["c", "d"], ["e"]]
    assert list(chunks([], 2)) == []
