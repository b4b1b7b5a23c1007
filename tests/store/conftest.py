"""Both databases for one contract suite, and small builders of runs and results."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from hashbench.common.measured import MetricRow
from hashbench.store.engine import Store, open_store
from hashbench.store.planning import Run, add_experiment
from hashbench.store.queue import ClaimedRun, claim
from hashbench.store.result import Result, finish
from hashbench.store.schema import attempt

STARTED_WITHIN_S = 30


def _as_other_user(folder: Path) -> dict[str, int]:
    """initdb refuses root: run as nobody then, and give it the folder."""
    if os.getuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid}


def _find(program: str) -> str | None:
    found = shutil.which(program)
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"))
    return found or (str(places[-1]) if places else None)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of a database on a fresh PostgreSQL server: socket only, in a temporary folder."""
    initdb, postgres = _find("initdb"), _find("postgres")
    if initdb is None or postgres is None:
        pytest.skip("PostgreSQL is not installed (no initdb)")
    pytest.importorskip("psycopg", reason="the postgres extra is not installed")
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # not pytest's: a socket's path has at most 107 letters
    who = _as_other_user(folder)
    data = folder / "data"
    try:
        made = [initdb, "-D", str(data), "-U", "hashbench", "-A", "trust", "--no-sync", "--no-locale", "-E", "UTF8"]
        subprocess.run(made, check=True, capture_output=True, cwd=folder, **who)
        options = ["-k", str(folder), "-c", "listen_addresses=", "-c", "fsync=off", "-c", "shared_buffers=16MB"]
        with (folder / "log").open("w") as log:
            process = subprocess.Popen([postgres, "-D", str(data), *options], stderr=log, cwd=folder, **who)
        try:
            _wait(process, f"postgresql+psycopg://hashbench@/postgres?host={folder}", folder / "log")
            yield f"postgresql://hashbench@/postgres?host={folder}"
        finally:
            process.send_signal(signal.SIGQUIT)  # at once: its data go anyway, and SIGTERM waits for the last client
            process.wait(timeout=STARTED_WITHIN_S)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    engine = sa.create_engine(url)
    until = time.monotonic() + STARTED_WITHIN_S
    while True:
        try:
            engine.connect().close()
            return engine.dispose()
        except sa.exc.OperationalError:
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"PostgreSQL does not start:\n{log.read_text()}") from None
            time.sleep(0.05)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.services)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new database of either kind can be made: a path, or the URL of an empty database."""
    if request.param == "sqlite":
        return str(tmp_path / "results.db")
    url = request.getfixturevalue("server")
    empty_database(url)
    return url


def empty_database(url: str) -> None:
    """Take everything out of the database: quicker than to make, and at the end to remove, one for each test."""
    engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    clients = "pid <> pg_backend_pid() AND backend_type = 'client backend'"
    others = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {clients}"
    with engine.begin() as connection:
        connection.exec_driver_sql(others)
        connection.exec_driver_sql("DROP SCHEMA public CASCADE")
        connection.exec_driver_sql("CREATE SCHEMA public")
    engine.dispose()


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    opened = open_store(place)
    yield opened
    opened.close()


@pytest.fixture
def new_store(tmp_path: Path) -> Iterator[Callable[[str], Store]]:
    """Further SQLite databases, by name."""
    opened: list[Store] = []

    def make(name: str) -> Store:
        opened.append(open_store(tmp_path / name))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


class Lab:
    """Plans, claims and finishes runs in few words."""

    def plan(self, store: Store, *runs: Run, name: str = "exp", baseline: str = "bert-mlm") -> int:
        return add_experiment(store, name, {"name": name}, runs, baseline=baseline, command="hashbench sweep exp.yaml")

    def run(self, name: str, **values: object) -> Run:
        """A run whose id is `name` filled up to 64 letters."""
        given = {
            "kind": "finetune",
            "model": "bert-mlm",
            "encoder": "tiny",
            "spec": {"run": name},
            "task": "cola",
            "seed": 0,
            "metric": "matthews",
            "split": "validation",
        }
        given.update(values)
        given["needs"] = tuple(self.id(need) for need in given.pop("needs", ()))
        return Run(id=self.id(name), **given)

    def id(self, name: str) -> str:
        return name.ljust(64, "0")

    def claim(self, store: Store, experiment_id: int, worker: str = "w", retries: int = 1) -> ClaimedRun | None:
        return claim(store, experiment_id, worker=worker, lease_s=60.0, max_attempts=retries + 1)

    def expire(self, store: Store, claim: ClaimedRun) -> None:
        """Let a lease be over, without waiting."""
        with store.write() as connection:
            ended = sa.update(attempt).where(attempt.c.id == claim.attempt_id)
            connection.execute(ended.values(lease_until=attempt.c.heartbeat_at - 0.001))

    def score(self, name: str, value: float | None, split: str = "validation", **more: object) -> list[MetricRow]:
        """A score at step 3, which is both the best and the last evaluation."""
        at = [MetricRow("best_step", 3), MetricRow("last_step", 3)]
        return [MetricRow(name, value, split, step=3, **more), *at]

    def result(self) -> Result:
        """A result with one score."""
        return Result(self.score("matthews", 0.5))

    def finish_all(self, store: Store, experiment_id: int, results: dict[str, Result] | None = None) -> int:
        """Finish every run that can be claimed, with the result given for its id."""
        n = 0
        while (held := self.claim(store, experiment_id)) is not None:
            finish(store, held, (results or {}).get(held.run_id, self.result()))
            n += 1
        return n


@pytest.fixture
def lab() -> Lab:
    return Lab()
