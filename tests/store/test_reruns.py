"""A finished run whose files are gone is attempted once more; what it found stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hashbench.common.errors import InputError
from hashbench.common.measured import MetricRow
from hashbench.store.engine import Store
from hashbench.store.queue import ClaimedRun, LeaseLost, fail, heartbeat, pending
from hashbench.store.result import Artifact, Result, claim_rerun, files_of_all_attempts, finish, finish_rerun, void
from hashbench.store.status import artifacts, attempts, counts, runs

if TYPE_CHECKING:
    from tests.store.conftest import Lab

FIRST = Artifact("weights", "a/weights.safetensors", 5, "ab" * 32)
SECOND = Artifact("weights", "a/weights.safetensors", 5, "cd" * 32)


def again(store: Store, run_id: str, lease_s: float = 60.0) -> ClaimedRun | None:
    return claim_rerun(store, run_id, worker="w2", lease_s=lease_s)


@pytest.fixture
def finished(store: Store, lab: Lab) -> tuple[int, ClaimedRun]:
    experiment_id = lab.plan(store, lab.run("a"))
    held = lab.claim(store, experiment_id)
    finish(store, held, Result(metrics=[MetricRow("loss", 0.5)], artifacts=[FIRST], seconds=3.0))
    return experiment_id, held


def test_its_result_stays_and_its_new_files_are_known(store: Store, finished: tuple[int, ClaimedRun]) -> None:
    experiment_id, first = finished
    held = again(store, first.run_id)
    assert held is not None and held.again and held.spec == first.spec
    assert counts(store, experiment_id)["done"] == 1
    assert heartbeat(store, held) and pending(store, experiment_id, 2)
    notes = {"from": "postgresql://user:secret@server/db"}
    finish(store, held, Result([MetricRow("loss", 0.7)], artifacts=[SECOND], seconds=2.0, log="log", notes=notes))
    assert "secret" not in str(store.query("SELECT notes FROM attempt"))
    assert not pending(store, experiment_id, 2) and artifacts(store, first.run_id) == [FIRST]
    assert files_of_all_attempts(store, first.run_id) == [SECOND, FIRST]
    assert [(row["value"]) for row in store.query("SELECT value FROM metric")] == [0.5]
    assert [(each.state, each.seconds, each.log) for each in attempts(store, first.run_id)] == [
        ("done", 3.0, ""),
        ("done", 2.0, "log"),
    ]
    assert "made again" in str(attempts(store, first.run_id)[1].reason)
    assert "made again" in str(runs(store, experiment_id)[0].reason)  # as status shows it


def test_one_at_a_time(store: Store, finished: tuple[int, ClaimedRun]) -> None:
    run_id = finished[1].run_id
    held = again(store, run_id)
    assert held is not None and again(store, run_id) is None
    fail(store, held, "out of memory")
    assert counts(store, finished[0])["done"] == 1  # its results are as good as before
    assert again(store, run_id) is not None


def test_one_that_lost_its_lease_writes_nothing(store: Store, finished: tuple[int, ClaimedRun]) -> None:
    run_id = finished[1].run_id
    held = again(store, run_id)
    assert held is not None
    fail(store, held, "given up")
    with pytest.raises(LeaseLost):
        finish_rerun(store, held, Result(artifacts=[SECOND]))
    assert files_of_all_attempts(store, run_id) == [FIRST]


def test_a_run_that_is_no_longer_done_is_no_matter_of_its_files(store: Store, finished: tuple[int, ClaimedRun]) -> None:
    void(store, finished[1].run_id, "wrong data")
    with pytest.raises(InputError, match="is void, and no longer done; sweep again"):
        again(store, finished[1].run_id)
