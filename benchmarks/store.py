"""What the store costs at 20,000 runs of 50 metrics: planning, claims, heartbeats beside idle workers, status, report.

    python benchmarks/store.py --example results.db.example

The runs are those of the newest `glue_tiny` in the example database, copied by seed until there are as many as asked
for. Nine tenths are finished. CPU is of the calling process alone, which other load changes little; wall times are of
this machine at this moment. A database that was kept (--keep) is read again with --again, by the last two commands
alone; they run twice, since Python compiles a program when it is started first.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.synchronize import Barrier, Event
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

from hashbench.common.measured import MetricRow
from hashbench.running.experiment.identity import run_id
from hashbench.running.sweep.worker import idle_waits
from hashbench.store.engine import Store, insert_rows, open_results, open_store
from hashbench.store.finishing import finish
from hashbench.store.free_runs import mend
from hashbench.store.migrate import upgrade
from hashbench.store.planning import Run, add_experiment
from hashbench.store.queue import ClaimedRun, claim, heartbeat, pending
from hashbench.store.result import Result
from hashbench.store.schema import attempt, environment, metric, run

SOURCE = "glue_tiny"
METRICS = 50  # a run
CLAIMS = 40
BEATS = 200
IDLE_WORKERS = 8
OPTIONS = {"lease_s": 3600.0, "max_attempts": 2}
MEMBERS = """
SELECT r.id, r.kind, er.model, er.metric, er.split, r.encoder, r.spec, r.task, r.seed, r.data_fingerprint,
       r.finished_attempt
FROM experiment_run er JOIN run r ON r.id = er.run_id JOIN experiment e ON e.id = er.experiment_id
WHERE e.id = (SELECT MAX(id) FROM experiment WHERE name = :name) ORDER BY er.position
"""
NEEDS = "SELECT run_id, needs_run_id FROM dependency"
# evaluations before curves, so that a run keeps its scores where it has more than METRICS
OF_ATTEMPT = "SELECT * FROM metric WHERE attempt_id = :id ORDER BY split = 'train', step, split, name LIMIT :limit"


class Plan:
    """The runs of the example, copied by seed."""

    def __init__(self, example: Store, n_runs: int) -> None:
        self.members = example.query(MEMBERS, name=SOURCE)
        self.needs = example.query(NEEDS)
        self.config = json.loads(
            example.query("SELECT config FROM experiment WHERE name = :name", name=SOURCE)[0]["config"]
        )
        self.copied: dict[str, RowMapping] = {}  # by the id of the copy
        self.rows: list[Run] = []
        for seed in itertools.count():
            ids = {each["id"]: self._id(each, seed) for each in self.members}
            for each in self.members:
                if ids[each["id"]] in self.copied:  # no seed, or another seed of what is copied already
                    continue
                needs = tuple(ids[need["needs_run_id"]] for need in self.needs if need["run_id"] == each["id"])
                self.rows.append(self._row(each, seed, ids[each["id"]], needs))
                self.copied[ids[each["id"]]] = each
                if len(self.rows) == n_runs:
                    return

    @staticmethod
    def _spec(member: RowMapping, seed: int) -> dict[str, object]:
        spec = json.loads(member["spec"])
        return spec if member["seed"] is None else spec | {"seed": seed}

    def _id(self, member: RowMapping, seed: int) -> str:
        return run_id(self._spec(member, seed))

    def _row(self, member: RowMapping, seed: int, identity: str, needs: tuple[str, ...]) -> Run:
        columns = ("kind", "model", "metric", "split", "encoder", "task", "data_fingerprint")
        shared = {name: member[name] for name in columns}
        its_seed = None if member["seed"] is None else seed
        return Run(id=identity, spec=self._spec(member, seed), seed=its_seed, needs=needs, **shared)


def main() -> None:
    """Prints one line a figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--example", type=Path, default=Path("results.db.example"))
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--keep", type=Path, help="leave the database here")
    parser.add_argument("--again", type=Path, help="a database that was left: status and report alone")
    options = parser.parse_args()
    if options.again is not None:
        measure_commands(options.again)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(options.example, folder / "example.db")
        upgrade(folder / "example.db")
        example = open_results(folder / "example.db")
        db = options.keep or folder / "results.db"
        store = open_store(db)
        plan = Plan(example, options.runs)
        measure_planning(store, plan)
        experiment_id = store.query("SELECT id FROM experiment")[0]["id"]
        fill(store, example, plan, experiment_id)
        measure_claims(store, experiment_id)
        measure_heartbeats(store, db, experiment_id)
        store.close()
        measure_commands(db)


def measure_commands(db: Path) -> None:
    """What a user waits for, each a process of its own."""
    for command in (["status"], ["report", SOURCE, "--table", "2"]):
        measure_command([*command, "--db", str(db)])


def measure_planning(store: Store, plan: Plan) -> None:
    """The whole plan, into an empty database and again."""
    held: list[float] = []
    for which in ("first", "again"):
        held.clear()
        with_writes_timed(store, held)
        began, cpu = time.perf_counter(), time.process_time()
        add_experiment(store, SOURCE, plan.config, plan.rows, baseline="bert-mlm")
        took = time.perf_counter() - began
        print(
            f"add_experiment {which}: {len(plan.rows)} runs, {took:.2f} s, CPU {time.process_time() - cpu:.2f} s, "
            f"write transactions {len(held)}, longest {max(held, default=0.0):.2f} s",
            flush=True,
        )


def with_writes_timed(store: Store, held: list[float]) -> None:
    """From now on the seconds of every write transaction are collected in `held`."""
    write, began = store._writer, [0.0]

    @sa.event.listens_for(write, "begin")
    def start(_: Connection) -> None:
        began[0] = time.perf_counter()

    @sa.event.listens_for(write, "commit")
    def end(_: Connection) -> None:
        held.append(time.perf_counter() - began[0])


def fill(store: Store, example: Store, plan: Plan, experiment_id: int) -> None:
    """Finishes nine tenths of the runs as their originals were; of the last tenth of the seeds all is left to do."""
    numbers: dict[int, list[dict[str, object]]] = {}
    finished = plan.rows[: len(plan.rows) * 9 // 10]
    with store.write() as target, example.read() as source:
        insert_rows(target, store.insert_new(environment), source.execute(sa.select(environment)).mappings())
        for number, row in enumerate(finished, 1):
            original = plan.copied[row.id]["finished_attempt"]
            theirs = source.execute(sa.select(attempt).where(attempt.c.id == original)).mappings().one()
            if original not in numbers:
                found = source.execute(sa.text(OF_ATTEMPT), {"id": original, "limit": METRICS}).mappings()
                numbers[original] = [dict(each) for each in found]
            values = {**theirs, "id": number, "run_id": row.id, "token": f"{number:032x}", "state": "done"}
            target.execute(sa.insert(attempt).values(values))
            insert_rows(target, sa.insert(metric), ({**each, "attempt_id": number} for each in numbers[original]))
            done = sa.update(run).where(run.c.id == row.id)
            target.execute(done.values(state="done", finished_attempt=number, finished_at=theirs["ended_at"]))
    mend(store, experiment_id)
    n = store.query("SELECT COUNT(*) AS n FROM metric")[0]["n"]
    print(f"filled: {len(finished)} of {len(plan.rows)} runs finished, {n} metrics", flush=True)


def measure_claims(store: Store, experiment_id: int) -> None:
    """Claims and finished runs, one after the other; then what an idle worker asks."""
    held: list[ClaimedRun] = []

    def take() -> None:
        taken = claim(store, experiment_id, worker="w", **OPTIONS)
        assert taken is not None
        held.append(taken)

    result = Result([MetricRow(f"m{number}", 0.5, "validation", 1) for number in range(METRICS)])
    show("claim", repeated(take, CLAIMS))
    ends = iter(list(held))
    show("heartbeat", repeated(lambda: heartbeat(store, held[0]), CLAIMS))
    show("finish", repeated(lambda: finish(store, next(ends), result), CLAIMS))
    show("pending", repeated(lambda: pending(store, experiment_id, 2), 10))


def measure_heartbeats(store: Store, db: Path, experiment_id: int) -> None:
    """Heartbeats of one worker alone, then beside eight that find nothing to do: what is free is taken away first."""
    last = claim(store, experiment_id, worker="w", **OPTIONS)
    assert last is not None
    with store.write() as connection:
        connection.execute(sa.update(run).where(run.c.state == "planned").values(state="void", void_reason="measured"))
    mend(store, experiment_id)
    show("heartbeat alone", repeated(lambda: heartbeat(store, last), BEATS))
    context = multiprocessing.get_context("spawn")
    stop, started = context.Event(), context.Barrier(IDLE_WORKERS + 1)
    told = (str(db), experiment_id, stop, started)
    workers = [context.Process(target=be_idle, args=told) for _ in range(IDLE_WORKERS)]
    for worker in workers:
        worker.start()
    started.wait()
    time.sleep(20)  # until they look as seldom as idle workers do
    show(f"heartbeat beside {IDLE_WORKERS} idle workers", repeated(lambda: heartbeat(store, last), BEATS, pause=0.05))
    before = sum(worker_cpu(worker.pid or 0) for worker in workers)
    time.sleep(20)
    used = sum(worker_cpu(worker.pid or 0) for worker in workers) - before
    print(f"CPU of {IDLE_WORKERS} idle workers: {used / 20:.3f} s a second")
    stop.set()
    for worker in workers:
        worker.join()


def be_idle(db: str, experiment_id: int, stop: Event, started: Barrier) -> None:
    """What a worker does while there is nothing for it."""
    store, waits = open_store(db, create=False), idle_waits()
    started.wait()
    while not stop.is_set():
        if claim(store, experiment_id, worker="idle", **OPTIONS) is None and pending(store, experiment_id, 2):
            stop.wait(next(waits))


def worker_cpu(pid: int) -> float:
    """Seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100.0


def repeated(action: Callable[[], object], n: int, pause: float = 0.0) -> Iterator[tuple[float, float]]:
    """Wall and CPU seconds of each of n calls."""
    for _ in range(n):
        began, cpu = time.perf_counter(), time.process_time()
        action()
        yield time.perf_counter() - began, time.process_time() - cpu
        time.sleep(pause)


def show(what: str, times: Iterator[tuple[float, float]]) -> None:
    """Prints medians and the worst in milliseconds."""
    walls, cpus = zip(*((1000 * wall, 1000 * cpu) for wall, cpu in times), strict=True)
    print(
        f"{what}: wall median {statistics.median(walls):.2f} ms, worst {max(walls):.1f} ms; "
        f"CPU median {statistics.median(cpus):.2f} ms",
        flush=True,
    )


def measure_command(arguments: list[str]) -> None:
    """One command of the program as a process of its own."""
    code = (
        "import resource, subprocess, sys; out = subprocess.run([sys.executable, '-m', 'hashbench', *sys.argv[1:]],"
        " capture_output=True); used = resource.getrusage(resource.RUSAGE_CHILDREN);"
        "print(out.returncode, len(out.stdout), len(out.stdout.splitlines()), used.ru_utime + used.ru_stime,"
        " used.ru_maxrss, out.stderr.decode()[-300:])"
    )
    called = [sys.executable, "-c", code, *arguments]
    with tempfile.TemporaryDirectory() as folder:
        keeps = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        keeps |= {"PYTHONPYCACHEPREFIX": folder}
        for _ in range(2):
            ended = subprocess.run(called, capture_output=True, text=True, check=True, env=keeps)
    words = ended.stdout.split(maxsplit=5)
    status, size, lines, cpu, kib = words[:5]
    print(
        f"{' '.join(arguments[:-2])}: exit {status}, {size} bytes in {lines} lines, CPU {float(cpu):.2f} s, "
        f"peak {int(kib) / 1024:.0f} MiB",
        flush=True,
    )


if __name__ == "__main__":
    main()
