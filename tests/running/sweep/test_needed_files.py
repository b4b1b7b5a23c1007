"""Machines with caches of their own: weights that one has not are fetched, or made again as a run of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hashbench.running.experiment.load import load_experiment
from hashbench.running.sweep.attempt import Control
from hashbench.running.sweep.plan import plan
from hashbench.running.sweep.progress import Event, RunEnded
from hashbench.running.sweep.runner import assign, shared_at
from hashbench.running.sweep.stored_plan import write_down
from hashbench.running.sweep.worker import Worker
from hashbench.store.engine import Store, open_store
from hashbench.store.result import files_of_all_attempts
from hashbench.store.status import attempts
from tests.damage import DAMAGES

FILE = """\
name: small
data: builtin
encoder: tiny
models: [hashformer-lsh-proj]
baseline: hashformer-lsh-proj
tasks: [mrpc]
seeds: [0]
floors: []
keep_weights: pretrained
pretrain: {corpora: [builtin], steps: 6, batch_size: 8, sequence_length: 16, max_documents: 60}
finetune: {epochs: 1, batch_size: 32, max_length: 32, evaluations_per_epoch: 1}
threads: 1
"""


class Here(Control):
    """A worker of this process."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def wait(self, seconds: float) -> None:
        raise AssertionError("nothing to wait for")

    def tell(self, event: Event) -> None:
        self.events.append(event)


class Machines:
    """Machines with one database."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder, self.patch, self.db = folder, patch, str(folder / "r.db")

    @property
    def store(self) -> Store:
        return open_store(self.db)

    def sweep(self, cache: str, tasks: str, url: str = "") -> list[tuple[str, str]]:
        """What a machine with this cache does of the experiment with these tasks: (label, state) of its runs."""
        self.patch.setenv("HASHBENCH_CACHE", str(self.folder / cache))
        file = self.folder / "small.yaml"
        file.write_text(FILE.replace("tasks: [mrpc]", f"tasks: [{tasks}]"))
        planned = plan(load_experiment(file, []))
        experiment_id = write_down(self.store, planned, {})
        shared = shared_at(str(self.folder / url) if url else "")
        assignment = assign(planned, db=self.db, experiment_id=experiment_id, n_workers=1, artifacts=shared)
        control = Here()
        Worker(assignment, control).loop()
        return [(event.label, event.state) for event in control.events if isinstance(event, RunEnded)]

    def pretraining(self) -> str:
        return str(self.store.query("SELECT id FROM run WHERE kind = 'pretrain'")[0]["id"])

    def weights(self, cache: str) -> Path:
        return self.folder / cache / "artifacts" / self.pretraining() / "weights.safetensors"


@pytest.fixture
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machines:
    return Machines(tmp_path, monkeypatch)


def test_weights_corpora_and_coders_are_fetched_from_where_machines_share_them(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [state for _, state in machines.sweep("a", "mrpc", url="there")] == ["done", "done"]
    monkeypatch.setattr("hashbench.data.corpora.preparing._Making.build", lambda *_: pytest.fail("prepared again"))
    monkeypatch.setattr("hashbench.models.coders.lsh.LshBits.fit", lambda *_: pytest.fail("fitted again"))
    assert [state for _, state in machines.sweep("b", "mrpc, rte", url="there")] == ["done"]
    assert len(attempts(machines.store, machines.pretraining())) == 1
    assert machines.weights("a").read_bytes() == machines.weights("b").read_bytes()
    left = {path.relative_to(machines.folder / "there").parts[0] for path in (machines.folder / "there").rglob("*")}
    assert left == {"artifacts", "corpora", "coders"}  # checkpoints of finished runs are gone


def test_weights_that_are_nowhere_are_made_again_as_an_attempt_of_their_own(
    machines: Machines, capfd: pytest.CaptureFixture[str]
) -> None:
    machines.sweep("a", "mrpc")
    finished = "SELECT id, finished_attempt, finished_at FROM run"
    before = [tuple(row.values()) for row in machines.store.query(finished)]
    assert [state for _, state in machines.sweep("b", "mrpc, rte")] == ["done"]
    first, second = attempts(machines.store, machines.pretraining())
    assert (first.state, second.state) == ("done", "done") and "made again" in str(second.reason)
    assert "its weights are neither here nor shared" in capfd.readouterr().err
    assert set(before) < {tuple(row.values()) for row in machines.store.query(finished)}
    sums = {(file.kind, file.sha256) for file in files_of_all_attempts(machines.store, machines.pretraining())}
    assert len(sums) == 2, "the same weights, bit for bit, and the same head"
    # The second training is no time of the fine-tuning
    (tuned,) = machines.store.query(
        "SELECT a.started_at, a.ended_at, a.seconds FROM attempt a JOIN run r ON r.id = a.run_id WHERE r.task = 'rte'"
    )
    assert tuned["seconds"] < tuned["ended_at"] - tuned["started_at"] - (second.seconds or 0) / 2


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_weights_are_fetched_anew(machines: Machines, damage: str, capfd: pytest.CaptureFixture[str]) -> None:
    machines.sweep("a", "mrpc", url="there")
    whole = machines.weights("a").read_bytes()
    DAMAGES[damage](machines.weights("a"))
    assert [state for _, state in machines.sweep("a", "mrpc, rte", url="there")] == ["done"]
    assert machines.weights("a").read_bytes() == whole
    assert str(machines.weights("a")) in capfd.readouterr().err
    assert len(attempts(machines.store, machines.pretraining())) == 1


def test_weights_of_an_earlier_version_are_known_by_the_database(
    machines: Machines, capfd: pytest.CaptureFixture[str]
) -> None:
    machines.sweep("a", "mrpc")
    manifest = machines.weights("a").with_name("weights.safetensors.files.json")
    manifest.unlink()
    machines.sweep("a", "mrpc, rte")
    assert "it is right, and has checksums from now on" in capfd.readouterr().err
    manifest.unlink()
    DAMAGES["bit flipped"](machines.weights("a"))
    machines.sweep("a", "mrpc, rte, cola")
    assert "is not what it should be, and has no checksums" in capfd.readouterr().err
    assert len(attempts(machines.store, machines.pretraining())) == 2


def test_weights_that_are_deleted_are_fetched(machines: Machines) -> None:
    machines.sweep("a", "mrpc", url="there")
    shutil.rmtree(machines.weights("a").parent)
    assert [state for _, state in machines.sweep("a", "mrpc, rte", url="there")] == ["done"]
    assert len(attempts(machines.store, machines.pretraining())) == 1
