"""`cache clean` as a user calls it."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest

from hashbench.common.cache import mark, using
from hashbench.common.checksums import seal
from hashbench.running.runs.artifacts import ArtifactFolder, kept_files
from hashbench.store.engine import open_results, open_store
from hashbench.store.queue import claim
from hashbench.store.result import Artifact, Result, finish
from tests.cli.commands import Run, fails
from tests.cli.stores import FIRST, SECOND, make_store


def put(path: Path) -> Path:
    """Makes a file with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"123")
    return path


def test_clean_and_what_it_would_remove(run: Run) -> None:
    cache = Path("cache")
    mark(cache)
    (cache / "codes").mkdir(parents=True)
    (cache / "codes" / "codes-a.npy").write_bytes(b"0" * 2_000_000)
    assert "0 entries" in run("cache", "clean").out
    planned = run("cache", "clean", "--older-than", "0", "--dry-run")
    assert "codes/codes-a.npy" in planned.out and "1 entries of 2.0 MB would be removed" in planned.out
    with using(cache):
        fails(run("cache", "clean", "--older-than", "0"), "a sweep is using this cache")
    assert run("cache", "clean", "--older-than", "0").code == 0 and not (cache / "codes" / "codes-a.npy").exists()


def test_an_empty_cache(run: Run) -> None:
    assert "0 entries of 0.0 MB removed" in run("cache", "clean").out


@pytest.mark.parametrize("name", ["", ".", "home"])
def test_an_empty_variable_and_a_folder_of_the_users(run: Run, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own = [put(Path(name, place)) for place in (".ssh/id", "thesis/chapters/1.tex", "tasks/mine.csv")]
    monkeypatch.setenv("HASHBENCH_CACHE", name)
    if name:
        fails(run("cache", "clean", "--older-than", "0"), f"{Path(name).absolute()}: is no cache of hashbench")
    else:
        assert f"{Path('.hashbench').absolute()}: 0 entries" in run("cache", "clean", "--older-than", "0").out
    assert all(path.exists() for path in own)
    assert run("check", "small.yaml").code == 0  # which puts its files there
    if name:
        fails(run("cache", "clean", "--older-than", "0"), "is no cache of hashbench")
    else:
        assert run("cache", "clean", "--older-than", "0").code == 0
    assert all(path.exists() for path in own)


def test_what_a_command_made_without_a_sweep_is_a_cache(run: Run) -> None:
    assert run("check", "small.yaml").code == 0
    if Path("cache").exists():
        assert run("cache", "clean", "--older-than", "0").code == 0


def finished_with_weights(cache: Path, db: str) -> Path:
    """Finishes the planned run of a database, and returns the file that it left in the cache."""
    with using(cache):
        store = open_store(db)
        held = claim(store, 1, worker="w", lease_s=60, max_attempts=1)
        assert held is not None
        weights = put(ArtifactFolder(cache).files(held.run_id).weights)
        seal(weights)
        digest = hashlib.sha256(weights.read_bytes()).hexdigest()
        finish(store, held, Result(artifacts=[Artifact("weights", f"{held.run_id}/{weights.name}", 3, digest)]))
        store.close()
    for path in weights.parent.iterdir():
        os.utime(path, (1e9, 1e9))
    return weights


def test_weights_go_when_no_database_has_their_run(run: Run) -> None:
    """Two databases share a cache: deleting in one leaves the other's weights."""
    make_store("results.db")
    cache = Path("cache").absolute()
    weights = finished_with_weights(cache, "results.db")
    of_nobody = put(cache / "artifacts" / ("c" * 64) / "weights.safetensors")
    os.utime(of_nobody, (1e9, 1e9))
    shutil.copy("results.db", "other.db")
    deleted = run("db", "delete", "small", "--db", "other.db", "--yes")
    assert deleted.out.startswith(
        "small (other.db): 1 version, 2 runs, 2 attempts go; 1 files of 0.0 MB stay in the cache"
    )
    assert "hashbench cache clean --weights --db other.db" in deleted.err
    store = open_results("results.db")
    assert kept_files(store, SECOND, ArtifactFolder(cache), with_head=False) == {"weights": weights}
    for wrong in (["--weights"], ["--db", "results.db"]):
        fails(run("cache", "clean", *wrong), "--weights and --db go together")
    fails(run("cache", "clean", "--weights", "--db", "typo.db"), "typo.db: no such database")
    assert run("cache", "clean").code == 0 and of_nobody.exists()
    assert "1 entries" in run("cache", "clean", "--weights", "--db", "other.db", "--db", "results.db").out
    assert weights.exists() and not of_nobody.exists()
    assert "1 entries" in run("cache", "clean", "--weights", "--db", "other.db", "--older-than", "0").out
    assert not weights.exists()


def test_weights_of_a_run_that_is_not_done_stay(run: Run) -> None:
    """A sweep that goes on reads them."""
    make_store("results.db")
    mark(Path("cache"))
    weights = put(Path("cache", "artifacts", FIRST, "weights.safetensors"))
    os.utime(weights, (1e9, 1e9))
    assert "0 entries" in run("cache", "clean", "--weights", "--db", "results.db").out and weights.exists()
