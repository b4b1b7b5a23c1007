"""A sweep under faults: workers killed and stopped at random, the database away again and again.

    python benchmarks/faults.py --db sqlite --runs 400 --workers 8 --outages 10
    python benchmarks/faults.py --db postgresql       # needs initdb and pg_ctl

Two sweeps share the workers and one database. PostgreSQL is stopped for 1 to 60 s; SQLite, which has no server, has its
write lock held for as long. At the end every run must be done exactly once with the value that an unharmed sweep
finds, every line of INVARIANTS must be empty, and both sweeps must have ended by themselves with exit code 0.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
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
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil

from hashbench.store.engine import Store, open_store
from hashbench.store.patience import is_outage

INVARIANTS = {
    "a run in flight without its one attempt": (
        "SELECT r.id FROM run r LEFT JOIN attempt a ON a.run_id = r.id AND a.state = 'running' "
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
    "two results of a run": "SELECT run_id FROM attempt WHERE state = 'done' GROUP BY run_id HAVING COUNT(*) > 1",
    "an ended attempt without an end": "SELECT id FROM attempt WHERE (state = 'running') <> (ended_at IS NULL)",
    "an attempt that ended before it began": "SELECT id FROM attempt WHERE ended_at < started_at",
    "a run begun before its need was done": (
        "SELECT a.id FROM attempt a JOIN dependency d ON d.run_id = a.run_id JOIN run n ON n.id = d.needs_run_id "
        "WHERE n.finished_at IS NULL OR a.started_at < n.finished_at"
    ),
    "a second attempt at a finished run": (
        "SELECT a.id FROM attempt a JOIN run r ON r.id = a.run_id "
        "WHERE r.state = 'done' AND a.id > r.finished_attempt"
    ),
}  # fmt: skip
# Of a sweep that is over, and whose runs all measure something
AT_THE_END = {
    "a run that is not done": "SELECT id FROM run WHERE state <> 'done'",
    "an attempt in flight": "SELECT id FROM attempt WHERE state = 'running'",
    "a finished run without a metric": (
        "SELECT r.id FROM run r WHERE NOT EXISTS (SELECT 1 FROM metric m WHERE m.attempt_id = r.finished_attempt)"
    ),
    "a failed attempt": "SELECT id FROM attempt WHERE state = 'failed'",
}
VALUES = "SELECT r.id, m.value FROM run r JOIN metric m ON m.attempt_id = r.finished_attempt"
STATES = "SELECT state, COUNT(*) AS n FROM attempt GROUP BY state"
HOLDERS = "SELECT worker FROM attempt WHERE state = 'running'"
DONE = "SELECT id, finished_attempt FROM run WHERE state = 'done'"

# A kind of run as a user's own file: its value follows from its number and the values of what it needs.
OWN_KIND = '''
import hashlib
import time

from hashbench.atomic import atomic_write
from hashbench.runs.base import RunKind
from hashbench.store.result import MetricRow, Result
from hashbench.training.checkpoints import Interrupted


class Chained(RunKind):
    """Does next to nothing for a while."""

    name, order = "chained", 900

    def planned(self, resolved):
        return []

    def carry_out(self, run, place, machine):
        end = time.monotonic() + run.spec["seconds"]
        while time.monotonic() < end:
            if machine.should_stop.is_set():
                raise Interrupted
            time.sleep(0.02)
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
tasks: [cola]
threads: 1
retries: 0
"""


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
    done: Counter[str] = field(default_factory=Counter)  # faults by name


def main(arguments: list[str] | None = None) -> int:
    """Runs a campaign, prints what was done and found; 0 where nothing is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--db", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--workers", type=int, default=8, help="of both sweeps together")
    parser.add_argument("--outages", type=int, default=10)
    parser.add_argument("--longest-outage", type=float, default=60.0, help="seconds")
    parser.add_argument("--longest-run", type=float, default=2.0, help="seconds")
    parser.add_argument("--fault-every", type=float, default=10.0, help="seconds between two kills or stops")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--as-sweep", metavar="URL", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.as_sweep:
        return sweep_here(given.as_sweep, Path.cwd(), given.runs, given.workers, given.longest_run)
    with tempfile.TemporaryDirectory(prefix="faults") as name:
        folder = Path(name)
        with server(folder) if given.db == "postgresql" else contextlib.nullcontext() as running:
            db = running.url if running else str(folder / "r.db")
            campaign = Campaign(
                folder, db, given.runs, given.workers, given.outages, given.longest_outage, given.longest_run,
                given.fault_every, random.Random(given.seed),
            )  # fmt: skip
            return carry_out(campaign, running)


def carry_out(campaign: Campaign, running: Server | None) -> int:
    """Both sweeps from their start to their end, with faults in between; 0 where nothing is wrong."""
    kinds = campaign.folder / "kinds"
    kinds.mkdir()
    (kinds / "chained.py").write_text(OWN_KIND)
    began = time.monotonic()
    logs = [(campaign.folder / f"sweep-{number}.log").open("w") for number in range(2)]
    sweeps = [start_sweep(campaign, log) for log in logs]
    seen: dict[str, int] = {}
    changed: list[str] = []
    next_fault, next_outage = 0.0, 0.0
    away: threading.Thread | None = None  # faults go on meanwhile
    outages_left = campaign.outages
    started = False
    holders: list[int] = []
    while any(each.poll() is None for each in sweeps):
        time.sleep(0.5)
        now = time.monotonic()
        if not started:  # faults begin with the work
            started = bool(look(campaign)[0])
            next_fault = next_outage = now
            continue
        finished, now_held = look(campaign)
        holders = now_held if finished else holders  # those of the last look while the database is away
        changed += [run_id for run_id, attempt in finished.items() if seen.setdefault(run_id, attempt) != attempt]
        if now >= next_fault:
            next_fault = now + campaign.random.uniform(0.5, 1.5) * campaign.fault_every_s
            harm_a_worker(campaign, holders)
        if outages_left and now >= next_outage and (away is None or not away.is_alive()):
            outages_left -= 1
            seconds = campaign.random.uniform(1.0, campaign.longest_outage_s)
            print(f"{now - began:6.0f} s: {len(seen)} done, away for {seconds:.0f} s", flush=True)
            away = threading.Thread(target=take_away, args=(campaign, running, seconds))
            away.start()
            campaign.done["outage"] += 1
            next_outage = now + seconds + campaign.random.uniform(2.0, 10.0)
    if away is not None:
        away.join()
    for log in logs:
        log.close()
    print(f"{time.monotonic() - began:.0f} s; faults: {dict(campaign.done)}")
    for log in logs if any(each.returncode for each in sweeps) else ():
        print(f"--- {Path(log.name).name}\n{Path(log.name).read_text()[-3000:]}")
    return report(campaign, [each.returncode for each in sweeps], changed)


def report(campaign: Campaign, codes: list[int], changed: list[str]) -> int:
    """Prints what is wrong, and the attempts by their end; the number of wrong things."""
    store = open_store(campaign.db, create=False)
    wrong = [f"sweep {number} ended with {code}" for number, code in enumerate(codes) if code != 0]
    wrong += [f"run {run_id[:12]}: its finished attempt changed" for run_id in changed]
    for what, sql in (INVARIANTS | AT_THE_END).items():
        wrong += [f"{what}: {tuple(row.values())}" for row in store.query(sql)]
    values = {row["id"]: row["value"] for row in store.query(VALUES)}
    expected = unharmed(campaign.runs, campaign.longest_run_s)
    wrong += [f"run {run_id[:12]}: another value" for run_id in expected if values.get(run_id) != expected[run_id]]
    attempts = {row["state"]: row["n"] for row in store.query(STATES)}
    print(f"{campaign.db.split(':')[0]}: {len(values)} of {campaign.runs} runs done, attempts: {attempts}")
    print(f"{len(INVARIANTS) + len(AT_THE_END)} invariants, {len(expected)} values compared: {len(wrong)} wrong")
    for line in wrong[:20]:
        print(f"  {line}")
    return min(len(wrong), 1)


def specs(n_runs: int, longest_s: float) -> list[tuple[str, dict[str, object], tuple[str, ...]]]:
    """Id, spec and needs of every run: groups of five, in which later ones need one or two earlier ones."""
    chance = random.Random(0)
    made: list[tuple[str, dict[str, object], tuple[str, ...]]] = []
    for number in range(n_runs):
        spec = {"kind": "chained", "number": number, "seconds": round(chance.uniform(0.0, longest_s), 3)}
        group = [made[other][0] for other in range(number - number % 5, number)]
        needs = tuple(sorted(chance.sample(group, min(len(group), chance.randint(0, 2)))))
        made.append((hashlib.sha256(f"run {number}".encode()).hexdigest(), spec, needs))
    return made


def unharmed(n_runs: int, longest_s: float) -> dict[str, float]:
    """The value of every run by its id, computed here."""
    texts: dict[str, str] = {}
    for run_id, spec, needs in specs(n_runs, longest_s):
        whole = " ".join([str(spec["number"]), *(texts[need] for need in needs)])
        texts[run_id] = hashlib.sha256(whole.encode()).hexdigest()
    return {run_id: int(text[:12], 16) / 16**12 for run_id, text in texts.items()}


def start_sweep(campaign: Campaign, log: object) -> subprocess.Popen[bytes]:
    """One of the two sweeps, a process of its own."""
    command = [sys.executable, __file__, "--as-sweep", campaign.db, "--runs", str(campaign.runs)]
    command += ["--workers", str(campaign.workers // 2), "--longest-run", str(campaign.longest_run_s)]
    paths = os.pathsep.join([str(Path(__file__).resolve().parents[1]), *sys.path])
    places = {"HASHBENCH_RUNS": str(campaign.folder / "kinds"), "HASHBENCH_CACHE": str(campaign.folder / "cache")}
    environment = os.environ | places | {"OMP_NUM_THREADS": "1", "PYTHONPATH": paths}
    return subprocess.Popen(command, cwd=campaign.folder, env=environment, stdout=log, stderr=log)  # type: ignore[call-overload, no-any-return]


def sweep_here(db: str, folder: Path, n_runs: int, workers: int, longest_s: float) -> int:
    """A sweep of made-up runs in this process; its exit code."""
    from hashbench.experiment.load import load_experiment
    from hashbench.runs.base import Run
    from hashbench.runs.registry import kinds
    from hashbench.store.planning import RunRow, add_experiment
    from hashbench.sweep.plan import plan
    from hashbench.sweep.runner import Sweep, assign
    from hashbench.sweep.runner import carry_out as carry_out_sweep

    kinds()
    file = folder / f"chained-{os.getpid()}.yaml"
    file.write_text(EXPERIMENT)
    made = specs(n_runs, longest_s)
    runs = [Run(run_id, "chained", "raw", "tiny", spec, "cola", 0, needs) for run_id, spec, needs in made]
    planned = replace(plan(load_experiment(file)), runs=tuple(runs))
    rows = [RunRow(run.id, run.kind, run.model, run.encoder, run.spec, run.task, run.seed, run.needs) for run in runs]
    store = open_store(db)
    experiment_id = add_experiment(store, "chained", {}, rows, baseline="raw")
    assignment = assign(planned, db=db, experiment_id=experiment_id, n_workers=workers)
    return carry_out_sweep(Sweep(store, experiment_id, planned, assignment, workers, {}), fail_fast=False)


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
