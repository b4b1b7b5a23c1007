"""Results on disk: nothing of them changes, and only the database that they belong to takes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from hashbench.common.measured import MetricRow
from hashbench.running.runs.artifacts import ArtifactFolder
from hashbench.running.sweep.housekeeping import ResultSpool
from hashbench.store.engine import Store
from hashbench.store.queue import abandon
from hashbench.store.result import Artifact, Predictions, Result
from hashbench.store.status import artifacts, attempts, counts, predictions
from tests.damage import DAMAGES
from tests.store.conftest import lab as lab
from tests.store.conftest import new_store as new_store

if TYPE_CHECKING:
    from tests.store.conftest import Lab


def whole_result() -> Result:
    outputs = np.array([[0.25, 0.75], [1.0, 0.0]], dtype=np.float32)
    return Result(
        metrics=[MetricRow("accuracy", 0.1 + 0.2, "validation", 7), MetricRow("pearson", float("nan"), "validation")],
        predictions=[Predictions("validation", "best", outputs, np.array([1, 0]), "rows", condition="swap=0.05")],
        artifacts=[Artifact("weights", "a/b.safetensors", 5_000_000_000, "ab" * 32)],
        log="epoch é",
        seconds=12.5,
        notes={"data": "built-in"},
    )


@pytest.fixture
def spool(tmp_path: Path) -> ResultSpool:
    return ResultSpool(ArtifactFolder(tmp_path / "cache"))


def test_a_kept_result_is_stored_as_if_it_had_come_in_time(
    spool: ResultSpool, tmp_path: Path, lab: Lab, new_store: Callable[[str], Store]
) -> None:
    store = new_store("r.db")
    held = lab.claim(store, lab.plan(store, lab.run("a"), lab.run("b", needs=["a"])))
    (tmp_path / "cache" / "running" / held.run_id).mkdir(parents=True)
    spool.keep(held, whole_result())
    assert spool.hand_in(new_store("other.db")) == []
    assert spool.hand_in(store) == [held.run_id]
    assert not (tmp_path / "cache" / "running" / held.run_id).exists()
    rows = store.query("SELECT name, step, value, reason FROM metric ORDER BY name")
    assert [tuple(row.values()) for row in rows] == [("accuracy", 7, 0.1 + 0.2, None), ("pearson", 0, None, "nan")]
    stored = predictions(store, held.run_id, "validation", "best", "swap=0.05")
    np.testing.assert_array_equal(stored.outputs, whole_result().predictions[0].outputs)
    assert stored.outputs.dtype == np.float32
    assert artifacts(store, held.run_id) == whole_result().artifacts
    (attempt,) = attempts(store, held.run_id)
    assert (attempt.state, attempt.seconds, attempt.log, attempt.notes) == (
        "done", 12.5, "epoch é", {"data": "built-in"},
    )  # fmt: skip
    assert spool.hand_in(store) == [] and not list((tmp_path / "cache" / "finished").iterdir())


def test_a_kept_result_of_an_attempt_that_was_taken_over_is_named_and_dropped(
    spool: ResultSpool,
    tmp_path: Path,
    lab: Lab,
    new_store: Callable[[str], Store],
    capsys: pytest.CaptureFixture[str],
) -> None:
    store = new_store("r.db")
    experiment_id = lab.plan(store, lab.run("a"))
    held = lab.claim(store, experiment_id)
    spool.keep(held, whole_result())
    abandon(store, held.attempt_id, "the worker process is gone")
    lab.finish_all(store, experiment_id)
    assert spool.hand_in(store) == []
    assert capsys.readouterr().err.startswith(f"run {held.run_id[:12]}: a result that waited on disk is not stored")
    assert counts(store, experiment_id)["done"] == 1
    assert not list((tmp_path / "cache" / "finished").iterdir())


def test_without_kept_results_there_is_nothing_to_do(spool: ResultSpool, new_store: Callable[[str], Store]) -> None:
    assert spool.hand_in(new_store("r.db")) == []
    spool.drop("0" * 32)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_one_is_set_aside_and_its_run_is_done_again(
    spool: ResultSpool,
    tmp_path: Path,
    lab: Lab,
    new_store: Callable[[str], Store],
    damage: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    store = new_store("r.db")
    held = lab.claim(store, lab.plan(store, lab.run("a")))
    spool.keep(held, whole_result())
    (path,) = (tmp_path / "cache" / "finished").glob("*.npz")
    DAMAGES[damage](path)
    assert spool.hand_in(store) == [] and attempts(store, held.run_id)[0].state == "running"
    line = capsys.readouterr().err
    assert line.startswith(f"{path}: ") and line.endswith("and its run is done again\n")
    assert spool.hand_in(store) == [] and capsys.readouterr().err == ""


def without_key(path: Path) -> None:
    """A result of a version that had no needs."""
    with np.load(path) as arrays:
        about = json.loads(str(arrays["about"]))
        rest = {name: arrays[name] for name in arrays.files if name != "about"}
    del about["held"]["needs"]
    with path.open("wb") as file:
        np.savez(file, about=np.array(json.dumps(about)), **rest)


def with_the_id(run_id: str) -> Callable[[Path], None]:
    """A result of whatever run: its id names a folder that goes once it is stored."""

    def change(path: Path) -> None:
        with np.load(path) as arrays:
            about = json.loads(str(arrays["about"]))
            rest = {name: arrays[name] for name in arrays.files if name != "about"}
        about["held"]["run_id"] = run_id
        with path.open("wb") as file:
            np.savez(file, about=np.array(json.dumps(about)), **rest)

    return change


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


UNREADABLE = {
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:300]),
    "no zip": lambda path: path.write_bytes(b"text"),
    "objects": lambda path: path.write_bytes(b"\x93NUMPY\x01\x00v\x00" + b"{'descr': '|O', 'shape': (1,)}".ljust(118)),
    "folder": a_folder,
    "another version": without_key,
    "an id that is a path": with_the_id("../../victim"),
    "no id": with_the_id(""),
    "no JSON": lambda path: np.savez(path, about=np.array("{")),
    "no block": lambda path: np.savez(path, about=np.array("[]")),
}


@pytest.mark.parametrize("what", UNREADABLE)
def test_what_cannot_be_read_is_set_aside_and_the_rest_is_stored(
    spool: ResultSpool, tmp_path: Path, lab: Lab, new_store: Callable[[str], Store], what: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Files without a list of checksums, as an older version left them, or a copy of them."""
    store = new_store("r.db")
    number = lab.plan(store, lab.run("a"), lab.run("b"))
    first, second = lab.claim(store, number), lab.claim(store, number)
    for held in (first, second):
        spool.keep(held, whole_result())
    folder = tmp_path / "cache" / "finished"
    path = folder / f"{first.token}.npz"
    (folder / f"{path.name}.files.json").unlink()
    UNREADABLE[what](path)
    assert spool.hand_in(store) == [second.run_id]
    line = capsys.readouterr().err
    assert line.startswith(f"{path}: cannot be read") and line.endswith("and its run is done again\n")
    assert line.count("\n") == 1 and [left.name for left in folder.iterdir()] == [f"{path.name}.bad"]
