"""What the process of a sweep does beside its workers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from hashbench.running.runs.artifacts import ArtifactFolder
from hashbench.running.sweep.housekeeping import (
    ResultSpool,
    look_after,
    release_dead,
    remove_temporary_files,
    saved_copy,
)
from hashbench.running.sweep.processes import own_name
from hashbench.store.engine import Store
from hashbench.store.planning import Run
from hashbench.store.result import finish
from hashbench.store.status import attempts, counts, needed_by_others
from tests.store.conftest import lab as lab
from tests.store.conftest import new_store as new_store

if TYPE_CHECKING:
    from tests.store.conftest import Lab


def gone() -> str:
    """The name of a process of this boot that has ended."""
    host, place, process_id, start = own_name().split(":")
    return f"{host}:{place}:{process_id}:{int(start) - 1}"


def test_runs_of_dead_processes_are_freed_and_no_others(lab: Lab, new_store: Callable[[str], Store]) -> None:
    store = new_store("r.db")
    experiment_id = lab.plan(store, *(lab.run(name) for name in "abcd"))
    for worker in (gone(), own_name(), "elsewhere", "actor-1"):
        lab.claim(store, experiment_id, worker)
    release_dead(store, experiment_id, gone="actor-1", counts_as_try=True)
    # What ended the other one, perhaps a worker of another sweep, is not known here: no try of its run.
    assert counts(store, experiment_id) == {"planned": 1, "running": 2, "done": 0, "failed": 1, "void": 0}
    release_dead(store, experiment_id)
    assert counts(store, experiment_id)["running"] == 2


def test_a_kept_result_of_a_dead_process_is_stored_before_its_run_is_freed(
    lab: Lab, tmp_path: Path, new_store: Callable[[str], Store], capsys: pytest.CaptureFixture[str]
) -> None:
    store = new_store("r.db")
    experiment_id = lab.plan(store, lab.run("a"), lab.run("b"))
    held, _ = lab.claim(store, experiment_id, gone()), lab.claim(store, experiment_id, gone())
    ResultSpool(ArtifactFolder(tmp_path)).keep(held, lab.result())
    look_after(store, experiment_id, ArtifactFolder(tmp_path))
    assert counts(store, experiment_id) == {"planned": 1, "running": 0, "done": 1, "failed": 0, "void": 0}
    assert [item.state for item in attempts(store, held.run_id)] == ["done"]
    assert capsys.readouterr().err == "run a00000000000: its result was kept on disk and is stored now\n"


def test_weights_that_another_sweep_needs_stay(lab: Lab, tmp_path: Path, new_store: Callable[[str], Store]) -> None:
    store = new_store("r.db")
    both = [lab.run("p", kind="pretrain"), lab.run("q", kind="pretrain")]
    mine = lab.plan(store, *both, lab.run("f", needs=["p", "q"]))
    lab.finish_all(store, mine)
    theirs = lab.plan(store, *both, lab.run("g", needs=["q"]), name="theirs")
    assert needed_by_others(store) == {lab.id("q")}
    runs = {row.id: Run(row.id, "pretrain", row.model, row.encoder, {"run": row.id}) for row in both}
    weights = {each: ArtifactFolder(tmp_path).files(run_id_of(runs[each])).weights for each in runs}
    for path in weights.values():
        path.parent.mkdir(parents=True)
        path.touch()
    assignment = SimpleNamespace(artifact_folder=lambda: ArtifactFolder(tmp_path), runs=runs)
    remove_temporary_files(assignment, needed_by_others(store))
    assert {each: path.exists() for each, path in weights.items()} == {lab.id("p"): False, lab.id("q"): True}
    finish(store, lab.claim(store, theirs), lab.result())
    remove_temporary_files(assignment, needed_by_others(store))
    assert not any(path.exists() for path in weights.values())


def run_id_of(run: Run) -> str:
    from hashbench.running.experiment.identity import run_id

    return run_id(run.spec)


def test_a_lost_file_is_saved_or_it_is_said_why_not(
    lab: Lab, tmp_path: Path, new_store: Callable[[str], Store]
) -> None:
    store = new_store("r.db")
    lab.plan(store, lab.run("a"))
    (tmp_path / "r.db").unlink()
    assert saved_copy(store) == f"what it held is saved: --db {tmp_path / 'r.db.saved-1'}"
    store.close()
    assert saved_copy(store) == "what it held could not be saved: no connection to it is open"
