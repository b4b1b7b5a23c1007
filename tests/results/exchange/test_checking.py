"""Damage is found; a run that was made void for it is whole again."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import sqlalchemy as sa

from hashbench.common.errors import InputError
from hashbench.results.exchange.checking import find_damage, has_sums
from hashbench.results.exchange.export import export_example
from hashbench.results.exchange.merge import merge
from hashbench.running.experiment.identity import run_id
from hashbench.store import views
from hashbench.store.engine import Store, open_results, open_store
from hashbench.store.planning import Run
from hashbench.store.result import Artifact, Predictions, Result, finish, void
from tests.store.noted import wrong_sums

if TYPE_CHECKING:
    from tests.store.conftest import Lab

EXAMPLE = Path(__file__).resolve().parents[3] / "results.db.example"
SMALL = ["canine_tiny", "eelbert_tiny", "robustness_tiny", "superbloom_text_tiny", "tagging_tiny"]
N_BITS = int(os.environ.get("FLIPPED_BITS", "200"))
FIRST, SECOND = np.array([0, 1, 1, 0]), np.array([0, 1, 0, 1])


def a_run(seed: int, *needs: str) -> Run:
    spec = {"kind": "finetune", "seed": seed}
    return Run(run_id(spec), "finetune", "m", "tiny", spec, task="rte", seed=seed, metric="accuracy", needs=needs)


@pytest.fixture
def finished(store: Store, lab: Lab) -> tuple[Store, list[str]]:
    """A database with two finished runs, the second built on the first, and their ids."""
    runs = [a_run(0), a_run(1, a_run(0).id)]
    number = lab.plan(store, *runs)
    for _ in runs:
        outputs = [Predictions("validation", "best", SECOND, FIRST, "x")]
        files = [Artifact("weights", "ab/w", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")]
        rows = [row for row in lab.score("accuracy", 0.5) if row.split != "train"]
        finish(store, lab.claim(store, number), Result(rows, outputs, files))
    return store, [row.id for row in runs]


def lines(store: Store, files: Path | None = None) -> list[str]:
    return [str(item) for item in find_damage(store, identify=run_id, files=files)]


def change(store: Store, sql: str) -> None:
    with store.write() as connection:
        connection.execute(sa.text(sql))


def test_a_whole_database_has_no_damage(finished: tuple[Store, list[str]], tmp_path: Path, lab: Lab) -> None:
    store, _ = finished
    assert lines(store) == [] and has_sums(store)
    export_example(store, tmp_path / "copy.db")
    copy = open_results(tmp_path / "copy.db")
    assert lines(copy) == [] and wrong_sums(copy) == []
    copy.close()


def test_a_merged_database_has_no_damage(finished: tuple[Store, list[str]], new_store, lab: Lab, tmp_path) -> None:
    store, ids = finished
    export_example(store, tmp_path / "copy.db")
    other = new_store("other.db")
    lab.plan(other, a_run(0), a_run(2))
    merge(other, tmp_path / "copy.db", identify=run_id)
    assert lines(other) == []


def test_a_changed_score_is_named_with_that_of_its_outputs(finished: tuple[Store, list[str]]) -> None:
    store, ids = finished
    change(store, "UPDATE metric SET value = 0.9 WHERE attempt_id = 1 AND name = 'accuracy' AND step = 3")
    assert lines(store) == [
        f"run {ids[0][:12]}: attempt 1 changed since it was stored",
        f"run {ids[0][:12]}: attempt 1: validation accuracy step 3 is 0.9, by its outputs 0.5",
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE metric SET value = 9 WHERE attempt_id = 1 AND name = 'best_step'",
        "UPDATE attempt SET seconds = 9 WHERE id = 1",
        "UPDATE predictions SET outputs = targets WHERE attempt_id = 1",
        "UPDATE run SET seed = 9 WHERE finished_attempt = 1",
    ],
)
def test_a_damaged_run_that_is_void_is_damaged_no_more(finished: tuple[Store, list[str]], sql: str) -> None:
    store, ids = finished
    change(store, sql)
    assert any(ids[0][:12] in line for line in lines(store))
    void(store, ids[0], "damaged")
    assert {row["state"] for row in store.query("SELECT state FROM run")} == {"void"}
    assert lines(store) == []


def test_ids_environments_invariants_and_files(finished: tuple[Store, list[str]], tmp_path: Path) -> None:
    store, ids = finished
    (tmp_path / "ab").mkdir()
    (tmp_path / "ab" / "w").write_bytes(b"abc")
    assert lines(store, tmp_path) == []
    (tmp_path / "ab" / "w").write_bytes(b"abd")
    assert lines(store, tmp_path) == [
        f"run {ids[0][:12]}: {tmp_path / 'ab' / 'w'} is not the file that it left; remove it"
    ]
    change(store, "UPDATE run SET spec = '{}' WHERE finished_attempt = 1")
    assert f"run {ids[0][:12]}: run.spec: its id is not that of its spec" in lines(store)
    change(store, "UPDATE attempt SET state = 'failed' WHERE id = 2")
    assert f"run {ids[1][:12]}: is done without the attempt that finished it" in lines(store)


def test_changed_views_and_readings(new_store) -> None:
    store = new_store("here.db")
    change(store, "UPDATE reading SET metric = 'accuracy'")
    assert lines(store) == ["table reading: changed since it was stored; take a copy that is whole"]
    change(store, "DROP VIEW poep")
    assert "view poep: changed since it was stored; take a copy that is whole" in lines(store)


def printed(path: Path) -> str:
    """What reports read: all rows of all views."""
    store = open_results(path)
    try:
        return repr([sorted(map(repr, store.tuples(f"SELECT * FROM {name}"))) for name in views.VIEWS])
    finally:
        store.close()


def is_found(path: Path) -> bool:
    """True where the file does not open, or its damage is found."""
    try:
        store = open_results(path)
    except InputError:
        return True
    try:
        return next(find_damage(store, identify=run_id), None) is not None
    except InputError:
        return True
    finally:
        store.close()


@pytest.mark.services
def test_single_bits_of_examples_that_change_a_number_are_found(tmp_path: Path) -> None:
    """Of experiments with all tables but few runs: the whole file is read hundreds of times."""
    path = tmp_path / "whole.db"
    example = open_store(EXAMPLE, create=False, read_only=True)
    try:
        export_example(example, path, SMALL)
    finally:
        example.close()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("VACUUM")
    content, numbers = path.read_bytes(), printed(path)
    assert not is_found(path)
    chance, damaged, missed, n_found = random.Random(0), tmp_path / "damaged.db", [], 0
    for number in range(N_BITS):
        if number % 100 == 0:
            print(f"{number} bits: {n_found} found, {len(missed)} missed", flush=True)
        bit = chance.randrange(8 * len(content))
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        damaged.write_bytes(changed)
        if is_found(damaged):
            n_found += 1
        elif printed(damaged) != numbers:
            missed.append(bit)
    print(f"{N_BITS} bits (seed 0): {n_found} found, {N_BITS - n_found} of no effect on a number, {len(missed)} missed")
    assert missed == []
