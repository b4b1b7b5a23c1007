"""A sweep under faults: workers killed and stopped at random, the database away again and again.

    python benchmarks/faults.py --db sqlite
    python benchmarks/faults.py --db postgresql --ray      # needs initdb and pg_ctl, and Ray

Two sweeps of one experiment share the workers and one database. PostgreSQL is stopped for 1 to 60 s; SQLite, which has
no server, has its write lock held for as long. With --ray the second sweep lives on two Ray nodes, one of which is
killed and replaced. At the end every run must be done exactly once with the value that an unharmed sweep finds, every
line of INVARIANTS must be empty, and both sweeps must have ended by themselves with exit code 0.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import pwd
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import psutil

from hashbench.store.engine import Store, open_store
from hashbench.store.retry import is_outage

# A further attempt at a finished run that left files, which were gone (store/reruns.py)
MADE_AGAIN = (
    "EXISTS (SELECT 1 FROM run q JOIN artifact f ON f.attempt_id = q.finished_attempt "
    "WHERE q.id = a.run_id AND a.id > q.finished_attempt AND a.started_at >= q.finished_at)"
)
INVARIANTS = {
    "a run in flight without its one attempt": (
        f"SELECT r.id FROM run r LEFT JOIN attempt a ON a.run_id = r.id AND a.state = 'running' AND NOT {MADE_AGAIN} "
        "GROUP BY r.id, r.state HAVING COUNT(a.id) <> CASE WHEN r.state = 'running' THEN 1 ELSE 0 END"
    ),
    "a finished run whose attempt is not": (
        "SELECT r.id FROM run r LEFT JOIN attempt a ON a.id = r.finished_attempt AND a.run_id = r.id "
        "AND a.state = 'done' WHERE r.state = 'done' AND a.id IS NULL"
    ),
    "a finished attempt whose run is not": (
        "SELECT a.id FROM attempt a JOIN run r ON r.id = a.run_id WHERE a.state = 'done' AND r.state <> 'done'"
    ),
    "an orphan metric": "SELECT m.name FROM metric m JOIN attempt a ON a.id = m.attempt_id WHERE a.state <> 'done'",
    "orphan predictions": (
        "SELECT p.split FROM predictions p JOIN attempt a ON a.id = p.attempt_id WHERE a.state <> 'done'"
    ),
    "an orphan artifact": "SELECT f.url FROM artifact f JOIN attempt a ON a.id = f.attempt_id WHERE a.state <> 'done'",
    "two results of a run": (
        f"SELECT a.run_id FROM attempt a WHERE a.state = 'done' AND NOT {MADE_AGAIN} "
        "GROUP BY a.run_id HAVING COUNT(*) > 1"
    ),
    "an ended attempt without an end": "SELECT id FROM attempt WHERE (state = 'running') <> (ended_at IS NULL)",
    "an attempt that ended before it began": "SELECT id FROM attempt WHERE ended_at < started_at",
    "a run begun before its need was done": (
        "SELECT a.id FROM attempt a JOIN dependency d ON d.run_id = a.run_id JOIN run n ON n.id = d.needs_run_id "
        "WHERE n.finished_at IS NULL OR a.started_at < n.finished_at"
    ),
    "a second attempt at a finished run": (
        "SELECT a.id FROM attempt a JOIN run r ON r.id = a.run_id "
        f"WHERE r.state = 'done' AND a.id > r.finished_attempt AND NOT {MADE_AGAIN}"
    ),
}  # fmt: skip
# Of a sweep that is over, and whose runs all measure something
AT_THE_END = {
    "a run that is not done": "SELECT id FROM run WHERE state <> 'done'",
    "an attempt in flight": "SELECT id FROM attempt WHERE state = 'running'",
    "a finished run without a metric": (
        "SELECT r.id FROM run r WHERE NOT EXISTS (SELECT 1 FROM metric m WHERE m.attempt_id = r.finished_attempt)"
    ),
    "a failed attempt": "SELECT id, worker, reason, ended_at - started_at FROM attempt WHERE state = 'failed'",
}
VALUES = "SELECT r.spec, m.value FROM run r JOIN metric m ON m.attempt_id = r.finished_attempt"
STATES = "SELECT state, COUNT(*) AS n FROM attempt GROUP BY state"
HOLDERS = "SELECT worker FROM attempt WHERE state = 'running'"
DONE = "SELECT id, finished_attempt FROM run WHERE state = 'done'"

# A kind of run as a user's own file: its value follows from its number and the values of what it needs.
OWN_KIND = '''
import hashlib
import time

from hashbench.common.atomic import atomic_write
from hashbench.running.runs.base import RunKind
from hashbench.common.measured import MetricRow
from hashbench.store.result import Result
from hashbench.running.training.machine import Interrupted

RUNS = {runs}  # seconds, and which earlier ones a run needs


class Chained(RunKind):
    """Does next to nothing for a while."""

    name, order = "chained", 900

    def planned(self, resolved):
        made = []
        for number, (seconds, needs) in enumerate(RUNS):
            spec = {{"number": number, "seconds": seconds, "needs": needs}}
            earlier = tuple(made[need].id for need in needs)
            made.append(self.make(resolved.experiment.encoder, "raw", spec, seed=number, needs=earlier))
        return made

    def carry_out(self, run, place, machine):
        end = time.monotonic() + run.spec["seconds"]
        while time.monotonic() < end:
            if machine.should_stop.is_set():
                raise Interrupted
            time.sleep(0.05)
        values = [(place.artifacts.root / need).read_text() for need in run.needs]
        text = hashlib.sha256(" ".join([str(run.spec["number"]), *values]).encode()).hexdigest()
        with atomic_write(place.artifacts.root / run.id) as part:
            part.write_text(text)
        value = int(text[:12], 16) / 16**12
        return Result(metrics=[MetricRow("value", value, split="validation")])

    def seconds(self, run, rows):
        return run.spec["seconds"]


KIND = Chained()
'''
EXPERIMENT = """\
name: chained
data: builtin
encoder: tiny
models: [{name: raw, like: hashformer-md-proj, objective: none}]
baseline: raw
tasks: []
floors: []
seeds: [0]
threads: 1
retries: 0
"""
NODE = {"object_store_memory": 80 * 2**20}  # bytes; Ray's least is 75 MiB
# Ray asks for nothing, ends no process for its memory, and gives its workers the priority of this one.
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_memory_monitor_refresh_ms": "0", "RAY_worker_niceness": "0"}


@dataclass
class Campaign:
    """What is asked for, and what was done."""

    folder: Path
    db: str
    runs: int
    workers: int
    outages: int
    longest_outage_s: float
    longest_run_s: float
    fault_every_s: float
    random: random.Random
    ray: RayNodes | None
    began: float = field(default_factory=time.monotonic)
    done: Counter[str] = field(default_factory=Counter)  # faults by name

    def say(self, line: str) -> None:
        """A line with the time since the beginning."""
        print(f"{time.monotonic() - self.began:6.0f} s: {line}", flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Runs a campaign, prints what was done and found; 0 where nothing is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--db", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--workers", type=int, default=8, help="of both sweeps together")
    parser.add_argument("--ray", action="store_true", help="the second sweep on two Ray nodes, one of which is killed")
    parser.add_argument("--outages", type=int, default=10)
    parser.add_argument("--longest-outage", type=float, default=60.0, help="seconds")
    parser.add_argument("--longest-run", type=float, default=20.0, help="seconds")
    parser.add_argument("--fault-every", type=float, default=20.0, help="seconds between two kills or stops")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="faults", dir="/tmp")))
        running = stack.enter_context(server(folder)) if given.db == "postgresql" else None
        nodes = stack.enter_context(ray_nodes(folder, given.workers // 2)) if given.ray else None
        campaign = Campaign(
            folder, running.url if running else str(folder / "r.db"), given.runs, given.workers, given.outages,
            given.longest_outage, given.longest_run, given.fault_every, random.Random(given.seed), nodes,
        )  # fmt: skip
        return carry_out(campaign, running)


def carry_out(campaign: Campaign, running: Server | None) -> int:
    """Both sweeps from their start to their end, with faults in between; 0 where nothing is wrong."""
    (campaign.folder / "kinds").mkdir()
    text = OWN_KIND.format(runs=json.dumps(specs(campaign.runs, campaign.longest_run_s)))
    (campaign.folder / "kinds" / "chained.py").write_text(text)
    (campaign.folder / "chained.yaml").write_text(EXPERIMENT)
    logs = [(campaign.folder / f"sweep-{number}.log").open("w") for number in range(2)]
    sweeps = [start_sweep(campaign, log, on_ray=campaign.ray is not None and log is logs[-1]) for log in logs]
    changed = until_they_end(campaign, running, sweeps, n_places=1 if campaign.workers < 4 else 2)
    for log in logs:
        log.close()
    campaign.say(f"ended; faults: {dict(campaign.done)}")
    for log in logs:
        print(f"--- {Path(log.name).name}, but for its lines of progress")
        print(*[line for line in Path(log.name).read_text().splitlines() if not line.startswith("[")][:200], sep="\n")
    return report(campaign, [each.returncode for each in sweeps], changed)


def until_they_end(
    campaign: Campaign, running: Server | None, sweeps: list[subprocess.Popen[bytes]], *, n_places: int
) -> list[str]:
    """Does harm while the sweeps last, as soon as both have begun to work; ids of runs whose results changed."""
    seen: dict[str, int] = {}
    changed: list[str] = []
    next_fault, next_outage = 0.0, 0.0
    away: threading.Thread | None = None  # faults go on meanwhile
    outages_left, started = campaign.outages, False
    holders: list[int] = []
    while any(each.poll() is None for each in sweeps):
        time.sleep(1.0)
        now = time.monotonic()
        finished, now_held = look(campaign)
        holders = now_held if finished else holders  # those of the last look while the database is away
        changed += [run_id for run_id, attempt in finished.items() if seen.setdefault(run_id, attempt) != attempt]
        if not started:  # faults begin with the work of both sweeps
            started = bool(finished) and len({parent_of(each) for each in holders}) >= n_places
            next_fault = next_outage = now
            continue
        if now >= next_fault:
            next_fault = now + campaign.random.uniform(0.5, 1.5) * campaign.fault_every_s
            harm_a_worker(campaign, holders)
        if campaign.ray is not None and not campaign.ray.killed and len(seen) >= campaign.runs // 4:
            campaign.say(f"{len(seen)} done, a Ray node is killed")
            campaign.ray.kill_one()
            campaign.done["Ray node killed"] += 1
        if outages_left and now >= next_outage and (away is None or not away.is_alive()):
            outages_left -= 1
            seconds = campaign.random.uniform(1.0, campaign.longest_outage_s)
            campaign.say(f"{len(seen)} done, away for {seconds:.0f} s")
            away = threading.Thread(target=take_away, args=(campaign, running, seconds))
            away.start()
            campaign.done["outage"] += 1
            next_outage = now + seconds + campaign.random.uniform(2.0, 20.0)
    if away is not None:
        away.join()
    return changed


def report(campaign: Campaign, codes: list[int], changed: list[str]) -> int:
    """Prints what is wrong, and the attempts by their end; 1 where anything is wrong."""
    store = open_store(campaign.db, create=False)
    wrong = [f"sweep {number} ended with {code}" for number, code in enumerate(codes) if code != 0]
    wrong += [f"run {run_id[:12]}: its finished attempt changed" for run_id in changed]
    for what, sql in (INVARIANTS | AT_THE_END).items():
        wrong += [f"{what}: {tuple(row.values())}" for row in store.query(sql)]
    values = {json.loads(row["spec"])["number"]: row["value"] for row in store.query(VALUES)}
    expected = unharmed(campaign.runs, campaign.longest_run_s)
    wrong += [f"run {number}: another value" for number, value in enumerate(expected) if values.get(number) != value]
    attempts = {row["state"]: row["n"] for row in store.query(STATES)}
    print(f"{campaign.db.split(':')[0]}: {len(values)} of {campaign.runs} runs done, attempts: {attempts}")
    print(f"{len(INVARIANTS) + len(AT_THE_END)} invariants, {len(expected)} values compared: {len(wrong)} wrong")
    for line in wrong[:20]:
        print(f"  {line}")
    store.close()
    return min(len(wrong), 1)


def specs(n_runs: int, longest_s: float) -> list[tuple[float, list[int]]]:
    """Seconds and needs of every run: groups of five, in which later ones need up to two earlier ones."""
    chance = random.Random(0)
    made: list[tuple[float, list[int]]] = []
    for number in range(n_runs):
        group = range(number - number % 5, number)
        needs = sorted(chance.sample(group, min(len(group), chance.randint(0, 2))))
        made.append((round(chance.uniform(0.0, longest_s), 3), needs))
    return made


def unharmed(n_runs: int, longest_s: float) -> list[float]:
    """The value of every run, computed here."""
    texts: list[str] = []
    for number, (_, needs) in enumerate(specs(n_runs, longest_s)):
        whole = " ".join([str(number), *(texts[need] for need in needs)])
        texts.append(hashlib.sha256(whole.encode()).hexdigest())
    return [int(text[:12], 16) / 16**12 for text in texts]


def start_sweep(campaign: Campaign, log: IO[str], *, on_ray: bool) -> subprocess.Popen[bytes]:
    """One of the two sweeps, a process of its own."""
    command = [sys.executable, "-m", "hashbench", "sweep", "chained.yaml", "--db", campaign.db]
    command += ["--workers", str(campaign.workers // 2)]
    if on_ray and campaign.ray is not None:
        command += ["--executor", "ray", "--ray-address", campaign.ray.address]
    paths = os.pathsep.join([str(Path(__file__).resolve().parents[1]), *sys.path])
    places = {"HASHBENCH_PLUGINS": str(campaign.folder / "kinds"), "HASHBENCH_CACHE": str(campaign.folder / "cache")}
    environment = os.environ | places | {"OMP_NUM_THREADS": "1", "PYTHONPATH": paths}
    return subprocess.Popen(command, cwd=campaign.folder, env=environment, stdout=log, stderr=log)


def parent_of(pid: int) -> int:
    """The process that started another; 0 where that is gone."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).ppid()
    return 0


def look(campaign: Campaign) -> tuple[dict[str, int], list[int]]:
    """The attempt that finished each run so far, and the processes that hold one; nothing while nobody answers."""
    store: Store | None = None
    try:
        store = open_store(campaign.db, create=False, read_only=True)
        finished = {row["id"]: row["finished_attempt"] for row in store.query(DONE)}
        return finished, [int(row["worker"].split(":")[2]) for row in store.query(HOLDERS)]
    except Exception as error:
        if not is_outage(error) and "no such database" not in str(error) and "empty database" not in str(error):
            raise
        return {}, []
    finally:
        if store is not None:
            store.close()


def harm_a_worker(campaign: Campaign, holders: list[int]) -> None:
    """SIGKILL, or SIGSTOP for a while, of a worker picked at random among those that hold a run."""
    workers = [psutil.Process(each) for each in holders if psutil.pid_exists(each)]
    if not workers:
        return
    victim = campaign.random.choice(workers)
    with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
        if campaign.random.random() < 0.5:
            victim.send_signal(signal.SIGKILL)
            campaign.done["SIGKILL"] += 1
        else:
            victim.send_signal(signal.SIGSTOP)
            seconds = campaign.random.choice([1, 5, 20, 75])  # the last outlasts its lease
            subprocess.Popen(["sh", "-c", f"sleep {seconds}; kill -CONT {victim.pid} 2>/dev/null"])
            campaign.done[f"SIGSTOP for {seconds} s"] += 1


def take_away(campaign: Campaign, running: Server | None, seconds: float) -> None:
    """Nobody can write for so long."""
    if running is not None:
        running.stop(campaign.random.choice(["fast", "immediate"]))
        time.sleep(seconds)
        running.start()
        return
    holder = sqlite3.connect(campaign.db, isolation_level=None, timeout=60)
    with contextlib.closing(holder):
        holder.execute("BEGIN IMMEDIATE")
        time.sleep(seconds)
        holder.execute("ROLLBACK")


class RayNodes:
    """A Ray cluster of two nodes on this machine; the second can be killed, and another comes in its place."""

    def __init__(self, cluster: Any, cpus: int) -> None:
        self._cluster, self._cpus, self.killed = cluster, cpus, False
        self.address: str = cluster.address

    def kill_one(self) -> None:
        """Kills a node with all its processes, and starts another."""
        self.killed = True
        self._cluster.remove_node(next(iter(self._cluster.worker_nodes)), allow_graceful=False)
        self._cluster.add_node(num_cpus=self._cpus, **NODE)


@contextlib.contextmanager
def ray_nodes(folder: Path, workers: int) -> Iterator[RayNodes]:
    """Two nodes with room for so many workers together."""
    from ray.cluster_utils import Cluster

    (folder / "ray").mkdir()
    # a node's own cache counts more than the sweep's: without artifacts both sweeps must share one
    os.environ |= {"RAY_TMPDIR": str(folder), "HASHBENCH_CACHE": str(folder / "cache"), **QUIET}
    cpus = max(1, workers // 2)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": cpus, "include_dashboard": False, **NODE})
    try:
        cluster.add_node(num_cpus=cpus, **NODE)
        yield RayNodes(cluster, cpus)
    finally:
        cluster.shutdown()


@dataclass
class Server:
    """A PostgreSQL server of this campaign: a socket in its folder, no port."""

    folder: Path
    owner: Mapping[str, int]

    @property
    def url(self) -> str:
        """The address of its database."""
        return f"postgresql://hashbench@/postgres?host={self.folder}"

    def start(self) -> None:
        """Starts it and waits until it answers."""
        options = f"-k {self.folder} -c listen_addresses= -c shared_buffers=16MB"
        self._call("pg_ctl", "start", "-w", "-t", "120", "-l", str(self.folder / "log"), "-o", options)

    def stop(self, mode: str) -> None:
        """Stops it: fast (connections are told) or immediate (as a crash)."""
        self._call("pg_ctl", "stop", "-m", mode, "-w", "-t", "120")

    def _call(self, program: str, *arguments: str) -> None:
        command = [find(program), *arguments, "-D", str(self.folder / "data")]
        with (self.folder / "calls").open("a") as log:
            subprocess.run(command, check=True, cwd=self.folder, stdout=log, stderr=log, **self.owner)  # type: ignore[call-overload]


@contextlib.contextmanager
def server(folder: Path) -> Iterator[Server]:
    """A fresh PostgreSQL server; initdb refuses root, so it is nobody's then."""
    place = folder / "pg"
    place.mkdir()
    owner: dict[str, int] = {}
    if os.getuid() == 0:
        nobody = pwd.getpwnam("nobody")
        owner = {"user": nobody.pw_uid, "group": nobody.pw_gid}
        os.chown(place, nobody.pw_uid, nobody.pw_gid)
        folder.chmod(0o755)
    made = Server(place, owner)
    made._call("initdb", "-U", "hashbench", "-A", "trust", "--no-locale", "-E", "UTF8")
    made.start()
    try:
        yield made
    finally:
        made.stop("immediate")


def find(program: str) -> str:
    """The path of a program of PostgreSQL."""
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"))
    found = shutil.which(program) or (str(places[-1]) if places else None)
    if found is None:
        raise SystemExit(f"{program} is not installed")
    return found


if __name__ == "__main__":
    sys.exit(main())
