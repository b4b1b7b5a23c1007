"""Reading runs, attempts and experiments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hashbench.common.errors import InputError
from hashbench.store.engine import Store
from hashbench.store.environment import Environment
from hashbench.store.planning import add_experiment
from hashbench.store.queue import claim, fail
from hashbench.store.result import Result, finish
from hashbench.store.status import (
    artifacts,
    attempts,
    counts,
    find_experiment,
    find_run,
    run_spec,
    runs,
    seconds_of,
)

if TYPE_CHECKING:
    from tests.store.conftest import Lab


def test_every_state_is_counted(store: Store, lab: Lab) -> None:
    experiment_id = lab.plan(store, lab.run("a"), lab.run("b"))
    finish(store, lab.claim(store, experiment_id), Result())
    lab.claim(store, experiment_id)
    assert counts(store, experiment_id) == {"planned": 0, "running": 1, "done": 1, "failed": 0, "void": 0}


def test_a_row_per_run_in_planned_order(store: Store, lab: Lab) -> None:
    experiment_id = lab.plan(store, lab.run("cccc", model="mine"), lab.run("bbbb"), lab.run("aaaa", seed=None))
    finish(store, lab.claim(store, experiment_id, "w1"), Result(seconds=2.0))
    fail(store, lab.claim(store, experiment_id, "w2"), "first")
    fail(store, lab.claim(store, experiment_id, "w3"), "second")
    done, failed, planned = runs(store, experiment_id)
    assert (done.run_id, done.model, done.state) == (lab.id("cccc"), "mine", "done")
    assert (done.seconds, done.worker) == (2.0, "w1")
    assert (failed.state, failed.attempts, failed.tries, failed.reason) == ("failed", 2, 2, "second")
    assert (failed.seconds, failed.worker) == (None, "w3")
    assert (planned.state, planned.attempts, planned.started_at, planned.seed) == ("planned", 0, None, None)


def test_experiments_are_found_by_name_with_a_near_match(store: Store, lab: Lab) -> None:
    with pytest.raises(InputError, match="no experiment in it; run hashbench sweep first"):
        find_experiment(store)
    add_experiment(store, "glue", {"seeds": [0, 1]}, [lab.run("a")], baseline="bert-sr", command="hashbench sweep x")
    lab.plan(store, lab.run("b"), name="tiny")
    assert find_experiment(store).name == "tiny"
    found = find_experiment(store, "glue")
    assert (found.baseline, found.config, found.command) == ("bert-sr", {"seeds": [0, 1]}, "hashbench sweep x")
    with pytest.raises(InputError, match=r"no experiment 'gleu'; did you mean 'glue'\? \(there is: glue, tiny\)"):
        find_experiment(store, "gleu")


def test_runs_are_found_by_the_beginning_of_their_id(store: Store, lab: Lab) -> None:
    lab.plan(store, lab.run("abcd1"), lab.run("abcd2"), lab.run("a_cd3"))
    assert find_run(store, "abcd1") == lab.id("abcd1")
    assert find_run(store, "a_cd") == lab.id("a_cd3")  # not a wildcard
    for prefix, words in [("abcd", "several runs"), ("zzzz", "no run 'zzzz'"), ("ab", "at least 4 letters")]:
        with pytest.raises(InputError, match=words):
            find_run(store, prefix)


def test_an_attempt_names_its_place(store: Store, lab: Lab) -> None:
    experiment_id = lab.plan(store, lab.run("a", spec={"task": "cola", "rate": 0.1}))
    place = Environment("box7", "abc", "", {"torch": "2.13.0"}, {}, "EPYC")
    held = claim(store, experiment_id, worker="box7:1", lease_s=60, max_attempts=2, environment=place)
    fail(store, held, "no room", log="the last lines")
    lab.claim(store, experiment_id, "nowhere")
    first, second = attempts(store, held.run_id)
    assert (first.host, first.git_commit, first.packages) == ("box7", "abc", {"torch": "2.13.0"})
    assert (first.reason, first.log, first.hardware_name) == ("no room", "the last lines", "EPYC")
    assert (second.host, second.packages, second.state, second.ended_at) == ("", {}, "running", None)
    assert run_spec(store, held.run_id) == {"task": "cola", "rate": 0.1}
    assert artifacts(store, held.run_id) == []


def test_how_long_finished_runs_took(store: Store, lab: Lab) -> None:
    experiment_id = lab.plan(store, lab.run("a", seed=0), lab.run("b", seed=1), lab.run("c", task="rte"))
    for seconds in (10.0, 30.0):
        finish(store, lab.claim(store, experiment_id), Result(seconds=seconds))
    asked = [lab.id(name) for name in ("a", "b", "c", "unknown")]
    assert seconds_of(store, asked) == {lab.id("a"): 10.0, lab.id("b"): 30.0}


def test_a_password_in_a_stored_command_is_not_shown(store: Store, lab: Lab) -> None:
    lab.plan(store, lab.run("a"))
    with store.write() as connection:
        connection.exec_driver_sql("UPDATE experiment SET command = 'sweep a.yaml --db postgresql://me:pw@box/r'")
    assert find_experiment(store).command == "sweep a.yaml --db postgresql://me:***@box/r"
