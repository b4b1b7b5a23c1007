"""Merging: complete, idempotent, what was here counts, disagreement is told, and nothing is believed unseen."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import sqlalchemy as sa

from hashbench.common.errors import InputError
from hashbench.common.measured import MetricRow
from hashbench.results.exchange.export import export_example
from hashbench.results.exchange.merge import Difference, Void, merge
from hashbench.store.engine import Store, open_store
from hashbench.store.environment import Environment
from hashbench.store.planning import attach_run
from hashbench.store.queue import claim, fail
from hashbench.store.result import Artifact, Predictions, Result, finish, void
from hashbench.store.schema import attempt, experiment, metadata, metric, run
from hashbench.store.status import artifacts, attempts, counts, find_experiment, predictions
from tests.store.noted import wrong_notes

if TYPE_CHECKING:
    from tests.store.conftest import Lab

NewStore = Callable[[str], Store]


def place_of(store: Store) -> Path:
    return Path(store.url.database)


def content(store: Store) -> dict[str, list[str]]:
    with store.read() as connection:
        return {
            name: sorted(str(tuple(row)) for row in connection.execute(sa.select(table)))
            for name, table in metadata.tables.items()
        }


def score(store: Store) -> float:
    assert wrong_notes(store) == []
    return store.query("SELECT value FROM scores WHERE checkpoint = 'best'")[0]["value"]


def finish_at(store: Store, lab: Lab, value: float, ended_at: float) -> int:
    """One finished run 'a' with a score, ended at a given time."""
    experiment_id = lab.plan(store, lab.run("a"))
    lab.finish_all(store, experiment_id, {lab.id("a"): Result(lab.score("matthews", value))})
    with store.write() as connection:
        connection.execute(sa.update(attempt).values(ended_at=ended_at))
        connection.execute(sa.update(run).values(finished_at=ended_at))
    return experiment_id


def test_everything_comes_over_and_a_second_merge_changes_nothing(store: Store, new_store: NewStore, lab: Lab) -> None:
    other = new_store("other.db")
    runs = [lab.run("p", kind="pretrain"), lab.run("a", needs=["p"]), lab.run("b", needs=["p"]), lab.run("c")]
    theirs = lab.plan(other, *runs)
    place = Environment("box7", "abc", "diff", {"torch": "2"}, {}, "EPYC")
    held = claim(other, theirs, worker="w", lease_s=60, max_attempts=2, environment=place)
    array = np.array([0.25, 0.5])
    files = [Artifact("weights", "p", 1, "ab")]
    finish(other, held, Result(lab.score("loss", 1.0), [Predictions("validation", "best", array, array, "x")], files))
    finish(other, lab.claim(other, theirs), Result(lab.score("matthews", 0.5)))
    fail(other, lab.claim(other, theirs), "disk full")
    lab.plan(store, lab.run("mine"), name="mine")  # so that ids differ
    lab.finish_all(store, find_experiment(store).id)

    report = merge(store, place_of(other))
    assert (report.experiments, report.runs, report.finished, report.attempts) == (1, 4, 2, 3)
    assert report.differences == []
    here = find_experiment(store, "exp").id
    assert counts(store, here) == {"planned": 1, "running": 0, "done": 2, "failed": 1, "void": 0}
    assert artifacts(store, lab.id("p")) == files
    np.testing.assert_array_equal(predictions(store, lab.id("p"), "validation", "best").outputs, array)
    assert attempts(store, lab.id("p"))[0].host == "box7"
    assert attempts(store, lab.id("b"))[0].reason == "disk full"
    assert lab.claim(store, here, retries=1).run_id == lab.id("b")  # its one failed try came along
    before = content(store)
    again = merge(store, place_of(other))
    assert (again.experiments, again.runs, again.finished, again.attempts, again.differences) == (0, 0, 0, 0, [])
    assert content(store) == before


def test_a_finished_copy_completes_a_planned_run(store: Store, new_store: NewStore, lab: Lab) -> None:
    other = new_store("other.db")
    finish_at(other, lab, 0.6, ended_at=100.0)
    here = lab.plan(store, lab.run("a"))
    report = merge(store, place_of(other))
    assert (report.runs, report.finished, report.attempts) == (0, 1, 1)
    assert counts(store, here)["done"] == 1
    assert score(store) == 0.6


@pytest.mark.parametrize("ours", [50.0, 200.0])
def test_the_copy_that_was_here_counts_and_the_difference_is_told(
    store: Store, new_store: NewStore, lab: Lab, ours: float
) -> None:
    other = new_store("other.db")
    finish_at(other, lab, 0.6, ended_at=100.0)
    finish_at(store, lab, 0.5, ended_at=ours)
    for _ in range(2):  # it is listed each time
        report = merge(store, place_of(other))
        assert score(store) == 0.5
        assert report.differences == [Difference(lab.id("a"), "validation", "matthews", 3, 0.5, 0.6)]
        assert len(attempts(store, lab.id("a"))) == 2  # nothing is lost


def test_each_side_of_a_mutual_merge_keeps_its_own(new_store: NewStore, lab: Lab) -> None:
    one, two = new_store("one.db"), new_store("two.db")
    finish_at(one, lab, 0.5, ended_at=100.0)
    finish_at(two, lab, 0.6, ended_at=100.0)
    merge(one, place_of(two))
    merge(two, place_of(one))
    assert (score(one), score(two)) == (0.5, 0.6)


def test_equal_copies_differ_in_nothing_and_times_are_no_difference(
    store: Store, new_store: NewStore, lab: Lab
) -> None:
    other = new_store("other.db")
    for place, seconds in ((store, 1.0), (other, 2.0)):
        experiment_id = lab.plan(place, lab.run("a"))
        metrics = [*lab.score("matthews", 0.5), MetricRow("step_ms", seconds), MetricRow("loss", seconds, "train", 1)]
        more = [MetricRow("bytes", 16_384.0)] if place is other else []  # of a later version, which measures more
        lab.finish_all(place, experiment_id, {lab.id("a"): Result([*metrics, *more])})
    assert merge(store, place_of(other)).differences == []


def test_a_score_at_another_step_is_a_difference(store: Store, new_store: NewStore, lab: Lab) -> None:
    other = new_store("other.db")
    for place, step in ((store, 3), (other, 4)):
        experiment_id = lab.plan(place, lab.run("a"))
        score = MetricRow("matthews", 0.5, "validation", step)
        lab.finish_all(place, experiment_id, {lab.id("a"): Result([score])})
    found = merge(store, place_of(other)).differences
    assert [(each.step, each.counted, each.other) for each in found] == [(3, 0.5, None), (4, None, 0.5)]


def test_a_run_in_flight_here_is_left_to_its_worker(store: Store, new_store: NewStore, lab: Lab) -> None:
    other = new_store("other.db")
    finish_at(other, lab, 0.6, ended_at=100.0)
    held = lab.claim(store, lab.plan(store, lab.run("a")))
    for _ in range(2):
        report = merge(store, place_of(other))
        assert (report.attempts, report.finished, report.in_flight) == (0, 0, [lab.id("a")])
    finish(store, held, Result(lab.score("matthews", 0.1)))
    report = merge(store, place_of(other))
    assert (report.in_flight, report.beside, score(store)) == ([], [lab.id("a")], 0.1)
    assert [(one.counted, one.other) for one in report.differences] == [(0.1, 0.6)]


def test_a_run_in_flight_here_is_free_again_after_it_failed(store: Store, new_store: NewStore, lab: Lab) -> None:
    other = new_store("other.db")
    finish_at(other, lab, 0.6, ended_at=100.0)
    held = lab.claim(store, lab.plan(store, lab.run("a")))
    assert merge(store, place_of(other)).in_flight == [lab.id("a")]
    fail(store, held, "disk full")
    assert (merge(store, place_of(other)).finished, score(store)) == (1, 0.6)


def test_a_run_in_flight_there_is_free_here(store: Store, new_store: NewStore, lab: Lab) -> None:
    other = new_store("other.db")
    lab.claim(other, lab.plan(other, lab.run("a")))
    assert merge(store, place_of(other)).attempts == 0
    assert lab.claim(store, find_experiment(store).id) is not None


def voided_elsewhere(store: Store, new_store: NewStore, lab: Lab, reason: str = "wrong labels") -> Store:
    """A database whose one result was merged into the store and is void there since."""
    other = new_store("other.db")
    finish_at(other, lab, 0.6, ended_at=100.0)
    merge(store, place_of(other))
    void(other, lab.id("a"), reason)
    return other


def test_void_there_is_listed_and_counts_here(store: Store, new_store: NewStore, lab: Lab) -> None:
    other = voided_elsewhere(store, new_store, lab)
    before = content(store)
    for _ in range(2):
        report = merge(store, place_of(other))
        assert report.voids == [Void(lab.id("a"), "wrong labels")]
        assert report.disagrees and content(store) == before
    fresh = new_store("fresh.db")
    assert merge(fresh, place_of(other)).attempts == 0
    assert counts(fresh, find_experiment(fresh).id)["planned"] == 1


def test_void_here_stays_void_and_another_result_fills_it(store: Store, new_store: NewStore, lab: Lab) -> None:
    other = new_store("other.db")
    finish_at(other, lab, 0.6, ended_at=100.0)
    merge(store, place_of(other))
    void(store, lab.id("a"), "wrong folder")
    report = merge(store, place_of(other))
    assert (report.attempts, report.finished, report.void_here) == (0, 0, [lab.id("a")])
    assert counts(store, find_experiment(store).id)["void"] == 1
    another = new_store("another.db")
    finish_at(another, lab, 0.7, ended_at=100.0)
    assert merge(store, place_of(another)).finished == 1
    assert score(store) == 0.7


def test_a_dry_run_counts_what_would_come_and_writes_nothing(store: Store, new_store: NewStore, lab: Lab) -> None:
    other = new_store("other.db")
    finish_at(other, lab, 0.6, ended_at=100.0)
    lab.plan(other, lab.run("b"), name="second")
    finish_at(store, lab, 0.5, ended_at=50.0)
    before = content(store)
    look = merge(store, place_of(other), dry_run=True)
    assert (look.experiments, look.runs, look.attempts, len(look.differences)) == (1, 1, 1, 1)
    assert content(store) == before and look.copy is None
    done = merge(store, place_of(other))
    assert (done.experiments, done.runs, done.attempts, done.differences) == (1, 1, 1, look.differences)


def test_a_copy_is_saved_before_anything_is_written(new_store: NewStore, lab: Lab) -> None:
    store, other = new_store("here.db"), new_store("other.db")
    finish_at(other, lab, 0.6, ended_at=100.0)
    finish_at(store, lab, 0.5, ended_at=50.0)
    before = content(store)
    report = merge(store, place_of(other))
    assert report.copy == place_of(store).with_name("here.db.saved-1")
    copy = open_store(report.copy, read_only=True)
    assert content(copy) == before
    copy.close()
    assert merge(store, place_of(other)).copy is None


def test_exports_and_their_origin_are_one_attempt(new_store: NewStore, lab: Lab, tmp_path: Path) -> None:
    store, third = new_store("here.db"), new_store("third.db")
    finish_at(store, lab, 0.5, ended_at=50.0)
    lab.finish_all(store, lab.plan(store, lab.run("b"), name="second"))
    for name in ("one.db", "two.db"):
        export_example(store, tmp_path / name)
    assert merge(third, tmp_path / "one.db").attempts == 2
    export_example(third, tmp_path / "again.db")  # a copy of the copy
    before = content(third), content(store)
    for _ in range(3):
        for source in ("two.db", "one.db", "again.db", "here.db"):
            report = merge(third, tmp_path / source)
            assert (report.experiments, report.runs, report.attempts, report.disagrees) == (0, 0, 0, False)
        for source in ("one.db", "two.db", "again.db", "third.db"):
            report = merge(store, tmp_path / source)
            assert (report.experiments, report.runs, report.attempts, report.disagrees) == (0, 0, 0, False)
    assert (content(third), content(store)) == before
    tokens = {row["token"] for row in store.query("SELECT token FROM attempt")}
    assert not any(token.encode() in (tmp_path / "one.db").read_bytes() for token in tokens)


def test_copies_are_known_by_times_and_numbers_without_their_token(new_store: NewStore, lab: Lab) -> None:
    store, other = new_store("here.db"), new_store("other.db")
    finish_at(store, lab, 0.5, ended_at=50.0)
    merge(other, place_of(store))
    with other.write() as connection:
        connection.execute(sa.update(attempt).values(token="new"))
    assert merge(store, place_of(other)).attempts == 0


def test_a_token_with_other_numbers_is_another_attempt(new_store: NewStore, lab: Lab) -> None:
    store, other = new_store("here.db"), new_store("other.db")
    finish_at(store, lab, 0.5, ended_at=50.0)
    merge(other, place_of(store))
    with other.write() as connection:
        connection.execute(sa.update(metric).where(metric.c.name == "matthews").values(value=0.9))
    report = merge(store, place_of(other))
    assert (report.attempts, report.beside, score(store)) == (1, [lab.id("a")], 0.5)
    assert {one.other for one in report.differences} == {0.9}
    again = merge(store, place_of(other))
    assert (again.attempts, again.differences) == (0, report.differences)


def test_only_sets_that_were_not_planned_join_a_complete_experiment(
    store: Store, new_store: NewStore, lab: Lab
) -> None:
    other = new_store("other.db")
    finish_at(store, lab, 0.5, ended_at=50.0)
    merge(other, place_of(store)) if store.dialect == "sqlite" else finish_at(other, lab, 0.5, ended_at=50.0)
    number = find_experiment(other).id
    attach_run(other, lab.run("seed", seed=7), [(number, "bert-mlm")])
    attach_run(other, lab.run("set", kind="evaluation", task="mine"), [(number, "bert-mlm")])
    report = merge(store, place_of(other))
    assert (report.members, dict(report.apart)) == (1, {"exp": 1})
    stored = store.query("SELECT run_id FROM experiment_run ORDER BY run_id")
    assert [row["run_id"] for row in stored] == [lab.id("a"), lab.id("set")]


def test_a_merged_export_of_a_part_is_completed_later(store: Store, new_store: NewStore, lab: Lab, tmp_path) -> None:
    other = new_store("other.db")
    number = lab.plan(other, lab.run("a"), lab.run("b"))
    finish(other, lab.claim(other, number), lab.result())
    export_example(other, tmp_path / "half.db")
    finish(other, lab.claim(other, number), lab.result())
    export_example(other, tmp_path / "whole.db")
    assert (merge(store, tmp_path / "half.db").runs, merge(store, tmp_path / "whole.db").members) == (1, 1)
    assert counts(store, find_experiment(store).id)["done"] == 2


def test_an_experiment_of_tomorrow_is_one_of_today(store: Store, new_store: NewStore, lab: Lab) -> None:
    other = new_store("other.db")
    lab.plan(other, lab.run("z"), name="exp")
    with other.write() as connection:
        connection.execute(sa.update(experiment).values(called_at=9e10))
    lab.plan(store, lab.run("a"))
    assert merge(store, place_of(other)).shown_instead == ["exp"]
    assert max(row["called_at"] for row in store.query("SELECT called_at FROM experiment")) < 8e10
    lab.plan(store, lab.run("a"))
    assert find_experiment(store, "exp").id == 1


def test_the_source_is_not_changed(store: Store, new_store: NewStore, lab: Lab) -> None:
    other = new_store("other.db")
    finish_at(other, lab, 0.6, ended_at=100.0)
    before = content(other)
    merge(store, place_of(other))
    assert content(other) == before


def test_what_cannot_be_merged(new_store: NewStore, tmp_path: Path) -> None:
    store = new_store("one.db")
    with pytest.raises(InputError, match="one.db: the same database; name another one"):
        merge(store, tmp_path / "." / "one.db")
    with pytest.raises(InputError, match="none.db: no such database"):
        merge(store, tmp_path / "none.db")
    (tmp_path / "text").write_text("no")
    with pytest.raises(InputError, match="not a database"):
        merge(store, tmp_path / "text")


def test_the_text_of_an_uncommitted_change_stays_at_home(store: Store, new_store: NewStore, lab: Lab) -> None:
    other = new_store("other.db")
    place = Environment("box7", "abc", "- old\n+ new", {"torch": "2"}, {"cores": 2}, "EPYC", "5f5f")
    experiment = lab.plan(other, lab.run("a"))
    held = claim(other, experiment, worker="w", lease_s=60, max_attempts=1, environment=place)
    assert held is not None
    finish(other, held, Result(lab.score("matthews", 0.5)))
    merge(store, place_of(other))
    columns = "SELECT host, git_commit, git_diff, git_tree, hardware FROM environment"
    assert [tuple(row.values()) for row in store.query(columns)] == [
        ("box7", "abc", "(left out)", "5f5f", '{"cores":2}')
    ]


BOMB = zlib.compress(
    b"\x93NUMPY\x01\x00v\x00" + b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999,), }".ljust(117) + b"\n"
)

SPOILT = {
    "UPDATE metric SET value = 'high'": "run a00000000000: metric.value: str where a number belongs",
    "UPDATE metric SET value = 9e999": "metric.value: float (inf) where a number belongs",
    "UPDATE run SET spec = '[]'": "run a00000000000: run.spec: a list, where a block belongs",
    "UPDATE run SET spec = '{'": "run a00000000000: run.spec: no JSON",
    "UPDATE run SET created_at = 'long ago'": "run.created_at: str where a time belongs",
    "UPDATE attempt SET state = 'done', ended_at = NULL": "attempt.ended_at: does not agree with its state",
    "UPDATE artifact SET url = '../../etc/passwd'": "artifact.url: '../../etc/passwd' leads out of its folder",
    "UPDATE artifact SET url = '/etc/passwd'": "artifact.url: '/etc/passwd' leads out of its folder",
    "UPDATE predictions SET n = 3": "an array of shape (2,) where 3 rows belong",
    "UPDATE predictions SET outputs = x'FFFF'": "predictions.outputs: not compressed by zlib",
    "ALTER TABLE artifact DROP COLUMN sha256": "artifact: no such column: sha256",
    "DROP TABLE predictions": "predictions: no such table",
}


def finished_elsewhere(new_store: NewStore, lab: Lab, change: str = "", *values: Any) -> Path:
    other = new_store("other.db")
    number = lab.plan(other, lab.run("a"))
    array = np.array([0.25, 0.5])
    stored = [Predictions("validation", "best", array, array, "x")]
    finish(
        other, lab.claim(other, number), Result(lab.score("matthews", 0.5), stored, [Artifact("w", "ab/w", 1, "ab")])
    )
    place = place_of(other)
    other.close()
    with sqlite3.connect(place) as connection:
        connection.executescript("PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF;")
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall():
            connection.execute(f"DROP VIEW {name}")
        if change:
            connection.execute(change, values)
    connection.close()
    return place


@pytest.mark.e2e
@pytest.mark.parametrize("change", SPOILT)
def test_a_malformed_database_is_one_line_and_changes_nothing(new_store: NewStore, lab: Lab, change: str) -> None:
    store = new_store("here.db")
    place = finished_elsewhere(new_store, lab, change)
    before = content(store)
    with pytest.raises(InputError) as refused:
        merge(store, place)
    assert "other.db: malformed: " in str(refused.value) and SPOILT[change] in str(refused.value)
    assert "\n" not in str(refused.value)
    assert content(store) == before


def test_an_array_that_would_fill_memory_is_refused(new_store: NewStore, lab: Lab) -> None:
    place = finished_elsewhere(new_store, lab, "UPDATE predictions SET n = 99999999, outputs = ?", BOMB)
    with pytest.raises(
        InputError, match=r"predictions.outputs: an array of shape \(99999999,\).* more than 536,870,912"
    ):
        merge(new_store("here.db"), place)


def test_a_run_whose_spec_is_anothers_is_refused_before_anything_is_written(new_store: NewStore, lab: Lab) -> None:
    store, place = new_store("here.db"), finished_elsewhere(new_store, lab)
    before = content(store)
    with pytest.raises(InputError, match="run a00000000000: its spec is that of run beef"):
        merge(store, place, identify=lambda spec: "beef")
    assert content(store) == before
    assert merge(store, place, identify=lambda spec: lab.id(spec["run"])).finished == 1


def test_passwords_stay_where_they_are(new_store: NewStore, lab: Lab) -> None:
    store = new_store("here.db")
    place = finished_elsewhere(new_store, lab, "UPDATE experiment SET command = 'sweep --db postgresql://me:pw@box/r'")
    merge(store, place)
    assert store.query("SELECT command FROM experiment")[0]["command"] == "sweep --db postgresql://me:***@box/r"
