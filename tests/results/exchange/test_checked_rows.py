"""Databases of strangers: none changes a row here, each refusal is one line, and a healthy one is merged whole."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import sqlalchemy as sa

from hashbench.common.errors import InputError
from hashbench.results.exchange.merge import MergeReport, merge
from hashbench.running.experiment.identity import run_id
from hashbench.store.engine import Store, open_store
from hashbench.store.environment import Environment
from hashbench.store.planning import Run
from hashbench.store.queue import claim, fail
from hashbench.store.result import Artifact, Predictions, Result, finish, void
from hashbench.store.schema import metadata, run
from tests.results.exchange.forged import ALL, forge
from tests.store.conftest import empty_database

if TYPE_CHECKING:
    from tests.store.conftest import Lab

NewStore = Callable[[str], Store]
MAY_BE_FILLED = {
    "run": ("state", "finished_attempt", "finished_at", "void_reason"),
    "experiment_run": ("free_tries",),
    "content_sum": ("sha256",),
}  # columns of runs that are not done


def a_run(kind: str, seed: int, *, needs: tuple[str, ...] = (), task: str | None = "cola") -> Run:
    """A run whose id is that of its spec."""
    spec = {"kind": kind, "seed": seed, **({"task": {"name": task}, "data": "5f"} if task else {})}
    about = {"metric": "matthews", "split": "validation", "data_fingerprint": "5f"} if task else {}
    return Run(run_id(spec), kind, "bert-mlm", "tiny", spec, task=task, seed=seed, needs=needs, **about)


def finish_next(store: Store, experiment_id: int, lab: Lab, value: float) -> str:
    """Finishes the next run of an experiment with a score, outputs and a file; returns its id."""
    place = Environment(f"box{value}", "abc", "diff", {"torch": "2"}, {}, "EPYC")
    held = claim(store, experiment_id, worker="w", lease_s=60, max_attempts=2, environment=place)
    assert held is not None
    array = np.arange(64) * value
    outputs = [Predictions("validation", "best", array, np.arange(64) % 2, "x")]
    finish(store, held, Result(lab.score("matthews", value), outputs, [Artifact("weights", "ab/w", 1, "ab")]))
    return held.run_id


@pytest.fixture
def ours(new_store: NewStore, lab: Lab) -> Store:
    """A database with runs that are done, void, failed, in flight and planned, all of them in one experiment."""
    store = new_store("ours.db")
    first = a_run("pretrain", 0, task=None)
    number = lab.plan(store, first, *(a_run("finetune", seed, needs=(first.id,)) for seed in range(6)))
    done = [finish_next(store, number, lab, value) for value in (0.1, 0.2, 0.3, 0.4)]
    void(store, done[-1], "wrong folder")
    fail(store, lab.claim(store, number), "disk full")
    held = claim(store, number, worker="w", lease_s=3600, max_attempts=1)
    assert held is not None and held.run_id != done[-1]
    return store


@pytest.fixture
def healthy(new_store: NewStore, lab: Lab, ours: Store) -> Path:
    """A database with the same runs, of which it finished what failed here, and some of its own."""
    store = new_store("healthy.db")
    merge(store, ours.path)
    number = lab.plan(store, *(a_run("finetune", seed) for seed in range(20, 23)), name="second")
    for value in (0.5, 0.6, 0.7):
        finish_next(store, number, lab, value)
    for value in (0.8, 0.9, 0.85):  # what is void, failed and in flight in the other one
        finish_next(store, 1, lab, value)
    store.close()
    return store.path


@pytest.fixture
def strange(new_store: NewStore, lab: Lab, healthy: Path) -> Path:
    """What forged databases are made from: a healthy one with further runs."""
    store = new_store("strange.db")
    merge(store, healthy)
    number = lab.plan(store, *(a_run("finetune", seed) for seed in (30, 31)), name="third")
    finish_next(store, number, lab, 0.25)
    finish_next(store, number, lab, 0.75)
    store.close()
    return store.path


def rows_of(store: Store) -> dict[str, dict[tuple[Any, ...], tuple[Any, ...]]]:
    """All rows by table and key, without what may be filled of runs that are not done."""
    rows: dict[str, dict[tuple[Any, ...], tuple[Any, ...]]] = {}
    with store.read() as connection:
        done = set(connection.execute(sa.select(run.c.id).where(run.c.state == "done")).scalars())
        for name, table in metadata.tables.items():
            rows[name] = {}
            for row in connection.execute(sa.select(table)).mappings():
                of_run = row["id"] if name == "run" else row.get("of" if row.get("kind") == "run" else "run_id")
                hidden = MAY_BE_FILLED.get(name, ()) if of_run and of_run not in done else ()
                values = tuple(value for column, value in row.items() if column not in hidden)
                rows[name][tuple(row[column.name] for column in table.primary_key)] = values
    return rows


def is_changed(store: Store, before: dict[str, dict[tuple[Any, ...], tuple[Any, ...]]]) -> list[str]:
    """Rows that are gone or have changed since."""
    after = rows_of(store)
    hidden = {name: len(columns) for name, columns in MAY_BE_FILLED.items()}
    changed = []
    for name, rows in before.items():
        for key, values in rows.items():
            now = after[name].get(key)
            filled = now is not None and name in hidden and len(now) == len(values) + hidden[name]
            if now != values and not filled:
                changed.append(f"{name} {key}")
    return changed


def try_merge(store: Store, path: Path) -> MergeReport | str:
    """The report of a merge, or the line by which it was refused."""
    try:
        return merge(store, path, identify=run_id)
    except InputError as error:
        assert "\n" not in str(error) and len(str(error)) < 1000, error
        return str(error)


def is_whole(store: Store, healthy: Path) -> list[str]:
    """Runs that a healthy database finished and this one has not, or not with its numbers among the attempts."""
    other = open_store(healthy, read_only=True)
    scores = (
        "SELECT a.run_id, m.name, m.value FROM attempt a JOIN metric m ON m.attempt_id = a.id WHERE a.state = 'done'"
    )
    have = {tuple(row.values()) for row in store.query(scores)}
    void = {row["run_id"] for row in store.query("SELECT run_id FROM attempt WHERE state = 'void'")}
    missing = [row["run_id"] for row in other.query(scores) if tuple(row.values()) not in have]
    done = {row["id"] for row in store.query("SELECT id FROM run WHERE state = 'done'")}
    missing += [row["id"] for row in other.query("SELECT id FROM run WHERE state = 'done'") if row["id"] not in done]
    other.close()
    in_flight = {row["run_id"] for row in store.query("SELECT run_id FROM attempt WHERE state = 'running'")}
    assert in_flight & set(missing)
    return sorted(set(missing) - void - in_flight)


def check_forged(store: Store, healthy: Path, forged: list[Path]) -> list[MergeReport | str]:
    """Merges forged databases and the healthy one into a store, and looks at its rows after each."""
    before = rows_of(store)
    outcomes = []
    for path in forged:
        outcomes.append(try_merge(store, path))
        assert is_changed(store, before) == [], path.name
    assert isinstance(try_merge(store, healthy), MergeReport)
    assert is_changed(store, before) == [] and is_whole(store, healthy) == []
    return outcomes


def a_copy(store: Store, path: Path) -> Store:
    """A new database with the content of another one."""
    store.settle()
    path.write_bytes(store.path.read_bytes())
    return open_store(path)


@pytest.mark.e2e
def test_no_forged_database_changes_a_row_here(ours: Store, healthy: Path, strange: Path, tmp_path: Path) -> None:
    """Each kind once."""
    outcomes = {}
    for kind in ALL:
        forged = forge(strange, tmp_path / f"{kind}.db", kind, 0)
        store = a_copy(ours, tmp_path / f"into {kind}.db")
        (outcomes[kind],) = check_forged(store, healthy, [forged])
        store.close()
    assert len(ALL) >= 20
    refused = {kind for kind, outcome in outcomes.items() if isinstance(outcome, str)}
    assert {"runs_under_ids_of_others", "damaged_arrays", "views_without_end", "two_rows_of_one_key"} <= refused
    assert {"tampered_scores", "everything_void", "tokens_of_other_runs"} <= outcomes.keys() - refused
    assert outcomes["everything_void"].voids and outcomes["tampered_scores"].differences


@pytest.mark.services
def test_no_forged_database_changes_a_row_of_a_server(
    server: str, ours: Store, healthy: Path, strange: Path, tmp_path: Path
) -> None:
    """Each kind, one after the other into one database."""
    empty_database(server)
    store = open_store(server)
    merge(store, ours.path)
    # What is in flight there stayed there: its run is in flight here, too
    in_flight = ours.query("SELECT run_id FROM attempt WHERE state = 'running'")[0]["run_id"]
    experiment_id = store.query("SELECT id FROM experiment")[0]["id"]
    assert claim(store, experiment_id, worker="w", lease_s=3600, max_attempts=1, only=in_flight) is not None
    check_forged(store, healthy, [forge(strange, tmp_path / f"{kind}.db", kind, 1) for kind in ALL])
    store.close()


@pytest.mark.slow
def test_a_hundred_forged_databases_alone_and_in_pairs(
    ours: Store, healthy: Path, strange: Path, tmp_path: Path
) -> None:
    chance = random.Random(0)
    forged = [
        forge(strange, tmp_path / f"{number} {ALL[number % len(ALL)]}.db", ALL[number % len(ALL)], number)
        for number in range(120)
    ]
    pairs = [[one] for one in forged] + [chance.sample(forged, 2) for _ in range(240)]
    n_refused = 0
    for number, pair in enumerate(pairs):
        store = a_copy(ours, tmp_path / f"into {number}.db")
        n_refused += sum(isinstance(outcome, str) for outcome in check_forged(store, healthy, pair))
        store.close()
        for path in tmp_path.glob("into*"):
            path.unlink()
    print(f"{len(forged)} databases of {len(ALL)} kinds (seeds 0 to {len(forged) - 1}), {len(pairs)} trials, "
          f"{n_refused} refusals")  # fmt: skip
