"""An experiment at a glance, counted out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from hashbench.cli.status import MOST_WORKERS, overview_lines
from hashbench.results.read.overview import Activity, EndedBadly, Overview, noted, overview
from hashbench.store.engine import Store
from hashbench.store.environment import Environment
from hashbench.store.queue import claim, fail, release
from hashbench.store.result import Result, finish, void
from hashbench.store.schema import attempt, run

if TYPE_CHECKING:
    from tests.store.conftest import Lab


def test_counts_workers_reasons_and_ended_attempts(store: Store, lab: Lab) -> None:
    runs = [lab.run("p", kind="pretrain", task=None), *(lab.run(name, model="mine", seed=1) for name in "abcde")]
    number = lab.plan(store, *runs)
    lab.plan(store, lab.run("z"), name="other")
    for place in ("box1", "box2"):
        claim(
            store, number, worker="w", lease_s=60, max_attempts=1, environment=Environment(place, hardware_name="EPYC")
        )
    fail(store, lab.claim(store, number, retries=0), "out of memory")
    fail(store, lab.claim(store, number, retries=0), "out of memory")
    finish(store, lab.claim(store, number, retries=0), Result(notes={"sources": "1f"}))
    void(store, lab.id("d"), "wrong labels")
    release(store, lab.claim(store, number, retries=0))
    with store.write() as connection:
        old = sa.update(attempt).where(attempt.c.run_id == lab.id("p"))
        connection.execute(old.values(heartbeat_at=attempt.c.heartbeat_at - 100, started_at=attempt.c.started_at - 200))
    seen = overview(store, number)
    assert seen.by_kind == {
        "pretrain": {"running": 1},
        "finetune": {"running": 1, "failed": 2, "void": 1, "planned": 1},
    }
    assert [(each.host, each.hardware, each.what) for each in seen.active] == [
        ("box1", "EPYC", "pretrain bert-mlm seed 0"), ("box2", "EPYC", "finetune mine cola seed 1"),
    ]  # fmt: skip
    assert 100 <= seen.active[0].silent < 160 and 200 <= seen.active[0].seconds < 260 and seen.active[1].silent < 60
    assert seen.reasons == (
        EndedBadly("failed", "out of memory", 2, lab.id("b"), "finetune mine cola seed 1"),
        EndedBadly("void", "wrong labels", 1, lab.id("d"), "finetune mine cola seed 1"),
    )
    assert (seen.n_reasons, seen.ended, seen.rate) == (2, {"failed": 2, "interrupted": 1}, None)


@pytest.mark.parametrize(("ages", "rate"), [([10] * 6, 36.0), ([1000] * 6, 6.0), ([5000] * 6, None), ([10] * 3, None)])
def test_the_rate_is_that_of_the_last_minutes(store: Store, lab: Lab, ages: list[int], rate: float | None) -> None:
    number = lab.plan(store, *(lab.run(f"{n}") for n in range(len(ages))))
    lab.finish_all(store, number)
    with store.write() as connection:
        for n, age in enumerate(ages):
            connection.execute(sa.update(run).where(run.c.id == lab.id(f"{n}")).values(finished_at=store.now - age))
    assert overview(store, number).rate == rate


def _worker(host: str, silent: float) -> Activity:
    return Activity("r", "pretrain", "bert-mlm", None, 0, "w", host, "EPYC", 10.0, silent)


def test_what_is_left_and_who_is_listed() -> None:
    active = (_worker("box1", 44.0), *(_worker("box2", 46.0) for _ in range(13)))
    by_kind = {"finetune": {"done": 9, "failed": 1, "planned": 6}, "pretrain": {"running": 4}}
    seen = Overview(by_kind, active, (), 2, {}, 20.0)
    lines = overview_lines(seen)
    assert lines[0].split() == ["kind", "planned", "running", "done", "failed"]
    assert seen.seconds_left == 1_800.0  # 10 runs at 20 an hour
    assert [line for line in lines if line.endswith(":")] == ["box1 (EPYC):", "box2 (EPYC):"]
    assert sum(line.startswith("  ") for line in lines) == MOST_WORKERS and "and 2 more" in lines
    assert [f"NOT HEARD OF for {n} s" in " ".join(lines) for n in (44, 46)] == [False, True]
    assert "14 workers on 2 machines" in " ".join(lines) and "and 2 further reasons" in lines
    assert Overview(by_kind, active[:1], (), 0, {}, None).seconds_left is None


def test_notes_of_equal_runs_come_once(store: Store, lab: Lab) -> None:
    number = lab.plan(store, *(lab.run(f"{n}", seed=n) for n in range(3)))
    for notes in ({"sources": "1"}, {"sources": "1"}, {"sources": "2"}):
        finish(store, lab.claim(store, number), Result(notes=notes))
    assert noted(store, number) == [
        ("finetune", "cola", "bert-mlm", {"sources": "1"}), ("finetune", "cola", "bert-mlm", {"sources": "2"}),
    ]  # fmt: skip
