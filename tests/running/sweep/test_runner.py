"""Sweeps as a user calls them: finished once, not done twice, interrupted, killed, failed."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import sqlalchemy as sa

from hashbench.common.errors import InputError
from hashbench.common.measured import TextsRead
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.catalogue import find_task, load_task
from hashbench.results.read.scores import results
from hashbench.running.runs import finetuning
from hashbench.running.runs.artifacts import ArtifactFolder
from hashbench.running.sweep import runner
from hashbench.running.sweep.executors import Executor
from hashbench.running.sweep.progress import SweepProgress, WorkerEnded, WorkerRefused, WorkerStarted
from hashbench.running.training.machine import Machine
from hashbench.store.engine import open_store
from hashbench.store.result import Result
from hashbench.store.status import attempts, counts, experiments, runs
from tests.commands import finish, start
from tests.running.sweep.idle import make_assignment

N_RUNS = 2 + 8 + 4  # pre-trainings, floors, fine-tunings of the small experiment


def scores(db: Path) -> dict:
    """Every stored score by what it is a score of."""
    table = results(db, everything=True)
    keys = ["model", "task", "seed", "metric", "split", "checkpoint"]
    rows = [tuple(row) for row in table[keys].fillna({"seed": -1}).itertuples(index=False)]  # floors have no seed
    assert len(set(rows)) == len(rows), "a run stands twice in the results"
    return dict(zip(rows, table["value"], strict=True))


@pytest.fixture(scope="module")
def finished(tmp_path_factory, small_experiment):
    """A sweep that nobody disturbed: folder, what it printed, and its exit code."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "small.yaml").write_text(small_experiment)
    process = start("sweep", "small.yaml", "--db", "r.db", cache=folder / "cache", cwd=folder)
    out, err = process.communicate(timeout=300)
    return folder, out, err, process.returncode


def test_a_sweep_finishes_every_run_and_prints_its_table(finished):
    folder, out, err, code = finished
    assert code == 0, err
    store = open_store(folder / "r.db")
    assert counts(store, experiments(store)[0].id)["done"] == N_RUNS
    assert "hashformer-md-proj" in out and "bag-of-words" in out
    assert f"[{N_RUNS}/{N_RUNS}" in err


def test_every_fine_tuning_stores_how_much_of_its_texts_it_reads(finished):
    store = open_store(finished[0] / "r.db")
    stored = {}
    for run in runs(store, experiments(store)[0].id):
        read = TextsRead.of_notes(attempts(store, run.run_id)[-1].notes)
        assert (read is not None) == (run.kind == "finetune")
        if read is not None:
            assert read.max_length == 32
            stored[run.task] = read.splits
    assert set(stored["mrpc"]) == {"train", "validation"}
    pairs, single = stored["mrpc"]["validation"], stored["cola"]["validation"]
    rows = {task: len(load_task(find_task(task), open_sources("builtin")).splits["validation"]) for task in stored}
    assert (pairs.texts, single.texts) == (2 * rows["mrpc"], rows["cola"]), "both texts of a pair"
    assert pairs.tokens > pairs.tokens_lost >= 0 and single.share_lost == 0


def test_a_second_call_starts_nothing_and_reads_no_data(finished):
    folder, first_out, _, _ = finished
    store = open_store(folder / "r.db")
    before = [attempts(store, run.run_id) for run in runs(store, experiments(store)[0].id)]
    hidden = folder / "cache"
    hidden.rename(folder / "away")  # whatever would be read from it is not there
    try:
        done = finish("sweep", "small.yaml", "--db", "r.db", cwd=folder)
        assert done.code == 0, done.err
        assert not (hidden / "tasks").exists() and not (hidden / "corpora").exists()
    finally:
        subprocess.run(["rm", "-rf", str(hidden)], check=True)
        (folder / "away").rename(hidden)
    assert done.out == first_out
    assert "done already" in done.err
    assert [attempts(store, run.run_id) for run in runs(store, experiments(store)[0].id)] == before


def test_an_interrupted_sweep_says_how_to_go_on(tmp_path, small_experiment):
    (tmp_path / "small.yaml").write_text(small_experiment)
    process = start("sweep", "small.yaml", "--db", "r.db", "pretrain.steps=5000", cache=tmp_path / "c", cwd=tmp_path)
    wait_for_a_running_run(tmp_path / "r.db")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "interrupted; to go on: hashbench sweep small.yaml --db r.db pretrain.steps=5000"
    states = counts(open_store(tmp_path / "r.db"), 1)
    assert states["running"] == 0 and states["failed"] == 0


def wait_for_a_running_run(db: Path) -> None:
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline:
        if db.exists():
            try:
                if counts(open_store(db), 1)["running"]:
                    return
            except Exception:  # the file is being made
                pass
        time.sleep(0.1)
    raise AssertionError("no run was started")


@pytest.mark.slow
def test_a_sweep_killed_at_random_moments_ends_as_if_it_was_not(finished, tmp_path, small_experiment):
    """SIGKILL of the whole process group at ten random moments; the same command finishes the sweep."""
    folder, *_ = finished
    (tmp_path / "small.yaml").write_text(small_experiment)
    chance = random.Random(0)
    kept: dict[str, int] = {}
    for _ in range(10):
        process = start("sweep", "small.yaml", "--db", "r.db", cache=tmp_path / "c", cwd=tmp_path)
        try:
            process.wait(timeout=chance.uniform(3.0, 14.0))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        kept = finished_attempts(tmp_path / "r.db", kept)
    process = start("sweep", "small.yaml", "--db", "r.db", cache=tmp_path / "c", cwd=tmp_path)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    finished_attempts(tmp_path / "r.db", kept)
    assert scores(tmp_path / "r.db") == scores(folder / "r.db")
    store = open_store(tmp_path / "r.db")
    orphans = store.query(
        "SELECT count(*) AS n FROM metric m JOIN attempt a ON a.id = m.attempt_id WHERE a.state <> 'done'"
    )
    assert orphans[0]["n"] == 0


def finished_attempts(db: Path, before: dict[str, int]) -> dict[str, int]:
    """The attempt that finished each run so far; one that was there before must still be the one."""
    if not db.exists():
        return before
    rows = open_store(db).query("SELECT id, finished_attempt FROM run WHERE state = 'done'")
    now = {row["id"]: row["finished_attempt"] for row in rows}
    assert before.items() <= now.items(), "a finished run was redone"
    return now


class Dying(Executor):
    """Workers that end as often as `deaths` says, all of them at once, before one ends in order."""

    deaths = 0

    def start(self, worker):
        pass

    def events(self, wait_s):
        Dying.deaths -= 1
        ends = [WorkerEnded(worker, "gone", is_try=False) for worker in range(self.n_workers)]
        return ends if Dying.deaths >= 0 else [WorkerEnded(worker) for worker in range(self.n_workers)]

    def stop(self):
        pass

    def kill(self):
        pass


@pytest.mark.parametrize(("deaths", "goes_on"), [(5, True), (6, False)])
def test_a_machine_that_takes_all_its_workers_along_ends_no_sweep(tmp_path, monkeypatch, deaths, goes_on):
    """But one on which all workers die again and again does."""
    monkeypatch.setattr(runner, "find_executor", lambda name: Dying)
    monkeypatch.setattr(Dying, "deaths", deaths)
    assignment = make_assignment(tmp_path, 1)
    work = runner.Sweep(open_store(assignment.db), assignment.experiment_id, assignment, 8, {})
    progress = SweepProgress(1, 0, lambda: None)
    ended = runner.run_phase(work, assignment.kinds, 8, progress, fail_fast=False)
    assert ended == goes_on


class Endless(Executor):
    """Workers that never come to an end; counts how often they were asked to stop."""

    stopped = 0

    def start(self, worker):
        pass

    def events(self, wait_s):
        return []

    def stop(self):
        Endless.stopped += 1

    def kill(self):
        pass


class Waiting(Endless):
    """Workers for which there is no place, while another machine does all runs."""

    def events(self, wait_s):
        store = open_store(self.assignment.db)
        with store.write() as connection:
            connection.execute(sa.text("UPDATE run SET state = 'void', void_reason = 'done elsewhere'"))
        store.close()
        return []


def test_a_sweep_without_a_place_for_its_workers_ends_when_others_have_done_all_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "find_executor", lambda name: Waiting)
    monkeypatch.setattr(runner, "LOOK_EVERY_S", 0.0)
    assignment = make_assignment(tmp_path, 2)
    work = runner.Sweep(open_store(assignment.db), assignment.experiment_id, assignment, 1, {})
    progress = SweepProgress(2, 0, lambda: None)
    soon = time.monotonic() + 60
    assert runner.run_phase(
        work, assignment.kinds, 1, progress, fail_fast=False, over=lambda: "late" if time.monotonic() > soon else ""
    )


class Refusing(Endless):
    """Workers that another plan than the stored one was given to."""

    def events(self, wait_s):
        return [WorkerStarted(0, "somebody"), WorkerRefused(1, "node 2: another plan than the stored one")]


def test_a_worker_that_cannot_take_part_ends_the_sweep_with_its_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "find_executor", lambda name: Refusing)
    monkeypatch.setattr(runner, "STOP_GRACE_S", 0.0)
    assignment = make_assignment(tmp_path, 2)
    work = runner.Sweep(open_store(assignment.db), assignment.experiment_id, assignment, 2, {})
    with pytest.raises(InputError, match="node 2: another plan than the stored one"):
        runner.run_phase(work, assignment.kinds, 2, SweepProgress(2, 0, lambda: None), fail_fast=False)


def test_a_sweep_whose_time_is_up_stops_its_workers_and_says_what_is_left(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(runner, "find_executor", lambda name: Endless)
    monkeypatch.setattr(Endless, "stopped", 0)
    assignment = make_assignment(tmp_path, 3)
    store = open_store(assignment.db)
    work = runner.Sweep(store, assignment.experiment_id, assignment, 1, {})
    assert runner.carry_out(work, fail_fast=False, over=lambda: "--max-hours: the time is up") == 1
    assert Endless.stopped == 1
    said = capsys.readouterr().err
    assert "--max-hours: the time is up" in said
    assert "3 of 3 runs are not done; the same command tries them again" in said


def test_a_failing_run_is_recorded_with_its_reason_and_the_others_go_on(tmp_path, small_experiment):
    (tmp_path / "bad.py").write_text(BROKEN_EMBEDDING)
    text = small_experiment.replace("hashformer-md-add]", '{name: bad, use: "bad.py:Broken"}]')
    text = text.replace("baseline: hashformer-md-add", "baseline: hashformer-md-proj").replace("[mrpc, cola]", "[mrpc]")
    (tmp_path / "small.yaml").write_text(text)
    done = finish("sweep", "small.yaml", "--db", "r.db", "retries=1", cwd=tmp_path)
    assert done.code == 1
    store = open_store(tmp_path / "r.db")
    by_label = {(run.model, run.kind): run for run in runs(store, 1)}
    failed = by_label["bad", "pretrain"]
    assert failed.state == "failed" and failed.tries == 2
    assert failed.reason == "ValueError: this embedding is broken"
    assert by_label["hashformer-md-proj", "finetune"].state == "done"
    assert "Traceback" in attempts(store, failed.run_id)[-1].log
    assert "failed: bad pretrain: ValueError: this embedding is broken" in done.err
    assert "Traceback" not in done.err


BROKEN_EMBEDDING = '''
import torch
from torch import nn
from hashbench.models.embeddings.base import Embedding


class Broken(Embedding):
    """Fails at the first real batch; with few types it passes the checks before a sweep."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.special = nn.Parameter(torch.zeros(5, dim))

    def embed_types(self, codes):
        if len(codes) > 20:
            raise ValueError("this embedding is broken")
        return self.special[:1].expand(len(codes), -1)

    def special_rows(self):
        return self.special

    def embedding_parameters(self):
        return 0
'''


@pytest.mark.parametrize(("chosen", "workers", "threads"), [(3, 2, 3), (None, 2, 4), (None, 16, 1)])
def test_threads_are_the_experiments_or_a_share_of_the_cores(chosen, workers, threads, monkeypatch):
    monkeypatch.setattr(runner, "usable_cores", lambda: 8)
    assert runner.threads_for(SimpleNamespace(threads=chosen), workers) == threads


def test_only_the_first_device_of_a_fine_tuning_returns_and_keeps_what_was_trained(monkeypatch, tmp_path):
    tuned = SimpleNamespace(grid_scores=[], chosen={}, done=SimpleNamespace(points=[]))
    monkeypatch.setattr(finetuning, "tune", lambda *_, **__: tuned)
    monkeypatch.setattr(finetuning, "keeps_best", lambda *_: True)
    monkeypatch.setattr(finetuning, "final_predictions", lambda *_: [])
    monkeypatch.setattr(finetuning, "save_best", lambda *_: pytest.fail("saved by the second device"))
    place = SimpleNamespace(model=lambda _: None, is_needed=lambda _: True, resolved=SimpleNamespace(experiment=None),
                            artifacts=ArtifactFolder(tmp_path))  # fmt: skip
    run = SimpleNamespace(id="0" * 64)
    assert finetuning.KIND.carry_out(run, place, Machine(tmp_path, devices=2, rank=1)) == Result()
