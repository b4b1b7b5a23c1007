"""The faults of a campaign: of workers, of the database, of its disk, clock and file, and a stranger's merge.

Each fault is a function of the campaign and of what it saw last; `FAULTS` and `DAMAGES` list them.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import psutil

from hashbench.common.atomic import atomic_write
from hashbench.common.errors import InputError
from hashbench.common.measured import MetricRow
from hashbench.results.exchange.merge import merge
from hashbench.running.experiment.identity import run_id
from hashbench.store.engine import Store, open_store
from hashbench.store.queue import claim
from hashbench.store.result import Result, finish
from hashbench.store.retry import is_outage
from tests.slow.faults.places import Disk, RayNodes, Server
from tests.slow.faults.runs import CHAINED, OWN, PAGE, ROW, STRANGER, texts_of

IN_FLIGHT = "SELECT run_id, worker FROM attempt WHERE state = 'running'"
DONE = "SELECT id, finished_attempt FROM run WHERE state = 'done'"
RESULTS = f"""
SELECT a.id, a.run_id, a.state, a.token, a.started_at, a.ended_at, a.seconds, a.notes, m.name, m.value
FROM attempt a JOIN metric m ON m.attempt_id = a.id WHERE a.state = 'done' AND {OWN}
"""
NEWEST = """
SELECT r.finished_attempt FROM run r JOIN experiment_run m ON m.run_id = r.id
JOIN experiment e ON e.id = m.experiment_id WHERE e.name = :name AND r.state = 'done'
"""
AT_A_TIME = 60  # runs for which FAULTS counts
UNTIL = 0.85  # share of the runs after which no fault is planned: it must find a sweep to harm
PAUSES_S = (1, 5, 20)  # of stopped workers; the first one outlasts its lease, with LONG_PAUSE_S
LONG_PAUSE_S = 75
STUCK_S = 300  # without a finished run or a fault, or for one command, after which a campaign is given up
CLOCK_S = 7200.0  # by which a clock is set back or forward at most


@dataclass
class Look:
    """The state of the runs as the campaign sees it; empty while the database does not answer."""

    finished: dict[str, int] = field(default_factory=dict)  # the attempt that counts, by run
    holders: list[int] = field(default_factory=list)  # processes that hold a run
    in_flight: list[str] = field(default_factory=list)  # ids of runs


@dataclass
class Campaign:
    """The settings of a campaign, its places, and the faults that are planned and done."""

    folder: Path
    db: str
    runs: int
    workers: int
    longest_outage_s: float
    longest_run_s: float
    seed: int
    disk: Disk
    server: Server | None
    ray: RayNodes | None
    began: float = field(default_factory=time.monotonic)
    planned: list[tuple[int, str]] = field(default_factory=list)  # finished runs at which a fault comes, and its name
    done: Counter[str] = field(default_factory=Counter)  # faults by name
    found: Counter[str] = field(default_factory=Counter)  # what else is worth a number
    wrong: list[str] = field(default_factory=list)
    sweeps: list[subprocess.Popen[bytes]] = field(default_factory=list)
    away: threading.Thread | None = None

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        for name, (share, _) in FAULTS.items():
            if self.is_possible(name):
                number = max(1, round(share * self.runs / AT_A_TIME))
                self.planned += [(self.random.randint(1, int(UNTIL * self.runs)), name) for _ in range(number)]
        self.planned.sort()

    def is_possible(self, fault: str) -> bool:
        """True where this campaign has what the fault harms."""
        return fault != RAY_NODE or self.ray is not None

    def say(self, line: str) -> None:
        """A line with the time since the beginning."""
        print(f"{time.monotonic() - self.began:6.0f} s: {line}", flush=True)

    def processes(self) -> Iterator[psutil.Process]:
        """The sweeps and all that they started."""
        for sweep in self.sweeps:
            with contextlib.suppress(psutil.NoSuchProcess):
                process = psutil.Process(sweep.pid)
                yield from [process, *process.children(recursive=True)]


def start_sweep(
    campaign: Campaign, number: int, *, name: str = CHAINED, on_ray: bool = False
) -> subprocess.Popen[bytes]:
    """A sweep as a process of its own, with the clock of that number."""
    command = ["sweep", f"{name}.yaml", "--db", campaign.db, "--workers", str(max(1, campaign.workers // 2))]
    if on_ray and campaign.ray is not None:
        command.insert(2, "executor=ray")
    with (campaign.folder / f"sweep-{name}-{number}.log").open("ab") as log:
        sweep = start(campaign, command, log, number)
    campaign.sweeps.append(sweep)
    return sweep


def start(campaign: Campaign, command: list[str], log: IO[bytes], clock: int = 0) -> subprocess.Popen[bytes]:
    """A command of hashbench, a process of its own."""
    paths = os.pathsep.join([str(Path(__file__).resolve().parents[3]), *sys.path])
    places = {
        "HASHBENCH_PLUGINS": str(campaign.folder / "kinds"), "HASHBENCH_CACHE": str(campaign.folder / "cache"),
        "FAULT_CLOCK": str(campaign.folder / f"clock-{clock}"),
    }  # fmt: skip
    if campaign.ray is not None:
        places["RAY_ADDRESS"] = campaign.ray.address
    environment = os.environ | places | {"OMP_NUM_THREADS": "1", "PYTHONPATH": paths}
    whole = [sys.executable, "-m", "hashbench", *command]
    return subprocess.Popen(whole, cwd=campaign.folder, env=environment, stdout=log, stderr=log)


def parent_of(pid: int) -> int:
    """The process that started another; 0 where that is gone."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).ppid()
    return 0


def look(campaign: Campaign) -> Look:
    """The state of the runs; nothing while the database does not answer."""
    store: Store | None = None
    try:
        store = open_store(campaign.db, create=False, read_only=True)
        finished = {row["id"]: row["finished_attempt"] for row in store.query(DONE)}
        rows = [row for row in store.query(IN_FLIGHT) if row["worker"] != STRANGER]
        return Look(finished, [int(row["worker"].split(":")[2]) for row in rows], [row["run_id"] for row in rows])
    except Exception as error:
        if not is_outage(error) and "no such database" not in str(error) and "empty database" not in str(error):
            raise
        return Look()
    finally:
        if store is not None:
            store.close()


def a_worker(campaign: Campaign, seen: Look) -> psutil.Process | None:
    """A process picked at random among those that hold a run; None where none does."""
    workers = [psutil.Process(pid) for pid in seen.holders if psutil.pid_exists(pid)]
    return campaign.random.choice(workers) if workers else None


def kill_worker(campaign: Campaign, seen: Look) -> bool:
    """SIGKILL of a worker."""
    worker = a_worker(campaign, seen)
    with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
        if worker is not None:
            worker.send_signal(signal.SIGKILL)
            return True
    return False


def stop_worker(campaign: Campaign, seen: Look) -> bool:
    """SIGSTOP of a worker for a while; of the first one for longer than a lease."""
    worker = a_worker(campaign, seen)
    seconds = campaign.random.choice(PAUSES_S) if campaign.found["workers stopped beyond a lease"] else LONG_PAUSE_S
    with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
        if worker is not None:
            worker.send_signal(signal.SIGSTOP)
            subprocess.Popen(["sh", "-c", f"sleep {seconds}; kill -CONT {worker.pid} 2>/dev/null"])
            campaign.found["workers stopped beyond a lease"] += seconds == LONG_PAUSE_S
            return True
    return False


def take_away(campaign: Campaign, _: Look) -> bool:
    """Nobody can write for a while: a server is stopped; SQLite, which has none, has its write lock held."""
    return in_the_background(campaign, _away, campaign.random.choice(("fast", "immediate")))


def fill_disk(campaign: Campaign, _: Look) -> bool:
    """The disk of the database has no room for a while; a server that ends itself over it is started again."""
    return in_the_background(campaign, _full)


def in_the_background(campaign: Campaign, fault: Callable[..., None], *arguments: object) -> bool:
    """Starts a fault that lasts a random time, while others go on; False where another one still lasts."""
    if is_away(campaign):
        return False
    seconds = campaign.random.uniform(1.0, campaign.longest_outage_s)
    campaign.say(f"{fault.__name__.strip('_')} for {seconds:.0f} s")
    campaign.away = threading.Thread(target=fault, args=(campaign, seconds, *arguments))
    campaign.away.start()
    return True


def is_away(campaign: Campaign) -> bool:
    """True while a fault of the database lasts."""
    return campaign.away is not None and campaign.away.is_alive()


def _away(campaign: Campaign, seconds: float, mode: str) -> None:
    if campaign.server is not None:
        campaign.server.stop(mode)
        time.sleep(seconds)
        campaign.server.start()
        return
    with contextlib.closing(sqlite3.connect(campaign.db, isolation_level=None, timeout=60)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        time.sleep(seconds)
        holder.execute("ROLLBACK")


def _full(campaign: Campaign, seconds: float) -> None:
    campaign.disk.full(seconds, campaign.processes())
    if campaign.server is not None:
        campaign.server.start()


def set_clock(campaign: Campaign, _: Look) -> bool:
    """The clock of a machine jumps, back or forward: of the server, or of one of the sweeps."""
    seconds = campaign.random.uniform(-CLOCK_S, CLOCK_S)
    if campaign.server is None:
        number = campaign.random.randrange(2)
        set_offset(campaign, number, seconds)
        campaign.say(f"the clock of sweep {number} is wrong by {seconds:.0f} s")
        return True
    import psycopg

    with contextlib.suppress(psycopg.OperationalError):  # away at this moment
        campaign.server.set_clock(seconds)
        campaign.say(f"the clock of the server is wrong by {seconds:.0f} s")
        return True
    return False


def set_offset(campaign: Campaign, number: int, seconds: float) -> None:
    """Makes the clock of a sweep wrong by so many seconds."""
    with atomic_write(campaign.folder / f"clock-{number}") as part:
        part.write_text(str(seconds))


def merge_stranger(campaign: Campaign, _: Look) -> bool:
    """A forged database is merged: what is done here has other numbers or is void, what is in flight here is done."""
    if is_away(campaign):
        return False
    path = campaign.folder / "stranger.db"
    for file in campaign.folder.glob(f"{path.name}*"):
        file.unlink()
    here: Store | None = None
    other = open_store(path)
    try:
        here = open_store(campaign.db, create=False)
        merge(other, campaign.db)
        forge(campaign, here, other)
        before = results(here)
        merged = merge(here, path, identify=run_id)
        after = results(here)
        changed = [number for number, value in before.items() if after.get(number) != value]
        campaign.wrong += [f"attempt {number}: changed by a merge" for number in changed]
        campaign.found["runs in flight left to their workers"] += len(merged.in_flight)
        campaign.found["foreign results beside"] += len(merged.beside)
        campaign.found["foreign voids listed"] += len(merged.voids)
        if merged.copy is not None:
            merged.copy.unlink()
    except InputError as error:
        if is_outage(error):
            return False
        campaign.found["databases refused"] += 1
        if "\n" in str(error) or "malformed" not in str(error):
            campaign.wrong.append(f"a stranger's merge: {error}")
    except Exception as error:
        if not is_outage(error):
            raise
        return False
    finally:
        other.close()
        if here is not None:
            here.close()
    return True


def forge(campaign: Campaign, here: Store, other: Store) -> None:
    """Makes a stranger's database of a copy: what is in flight here is done there, the rest is forged in one way."""
    texts = texts_of(campaign.runs, campaign.longest_run_s)
    for row in here.query(IN_FLIGHT):
        places = other.query("SELECT experiment_id FROM experiment_run WHERE run_id = :run", run=row["run_id"])
        held = claim(
            other, places[0]["experiment_id"], worker=STRANGER, lease_s=60, max_attempts=1, only=row["run_id"]
        ) if places else None  # fmt: skip
        if held is not None:
            text = texts[held.spec["number"]]
            with atomic_write(campaign.folder / "cache" / "artifacts" / held.run_id) as part:
                part.write_text(text)  # as whoever sends results sends their files
            finish(other, held, Result([MetricRow("value", int(text[:12], 16) / 16**12, split="validation")]))
    # Of what is done here alone: what is missing here is filled, which is right
    done = [row["id"] for row in here.query(DONE)]
    marks = ", ".join("?" * len(done))
    scores = (
        f"UPDATE metric SET value = value + 1 WHERE attempt_id IN (SELECT id FROM attempt WHERE run_id IN ({marks}))"
    )
    forgeries = {
        "tampered": [scores],
        "tampered under new tokens": [
            scores,
            f"UPDATE attempt SET token = lower(hex(randomblob(16))) WHERE run_id IN ({marks})",
        ],
        "void": [
            f"UPDATE attempt SET state = 'void' WHERE state = 'done' AND run_id IN ({marks})",
            f"UPDATE run SET state = 'void' WHERE state = 'done' AND id IN ({marks})",
        ],
        "malformed": [f"UPDATE attempt SET ended_at = NULL WHERE run_id IN ({marks})"],
    }
    kind = campaign.random.choice(sorted(forgeries))
    other.settle()
    with contextlib.closing(sqlite3.connect(other.path)) as connection:
        for statement in forgeries[kind]:
            connection.execute(statement, done)
        connection.execute(f"UPDATE attempt SET worker = '{STRANGER}'")
        connection.commit()
    campaign.say(f"a stranger's database is merged: {kind}")


def results(store: Store) -> dict[int, tuple[object, ...]]:
    """All that counts of the finished attempts of this campaign's own workers, by id."""
    return {row["id"]: tuple(row.values()) for row in store.query(RESULTS)}


def kill_node(campaign: Campaign, _: Look) -> bool:
    """A Ray node with all its processes."""
    assert campaign.ray is not None
    campaign.ray.kill_one()
    return True


def hang_worker(campaign: Campaign, seen: Look) -> bool:
    """A worker sleeps in C for ever, so that no thread of its process runs: the next one that sees the file."""
    if not seen.holders:
        return False
    (campaign.folder / "hang").touch()
    return True


KILL, STOP, HANG, RAY_NODE = "worker killed", "worker stopped", "worker hangs", "Ray node killed"
HARMS = {KILL, STOP, HANG, RAY_NODE}  # after which work is done again
# By name: how many there are for 60 runs, and what happens; False: not possible at this moment
FAULTS: dict[str, tuple[float, Callable[[Campaign, Look], bool]]] = {
    KILL: (8, kill_worker),
    STOP: (4, stop_worker),
    HANG: (2, hang_worker),
    RAY_NODE: (0.15, kill_node),
    "database away": (4, take_away),
    "disk full": (2, fill_disk),
    "clock set": (4, set_clock),
    "stranger's merge": (4, merge_stranger),
}


def damage_row(campaign: Campaign) -> None:
    """A number changes in the database while a sweep runs: the sweep names its run, which is voided and done again."""
    before, sweep = begin_further(campaign, ROW)
    store = open_store(campaign.db)
    with store.write() as connection:
        number = newest(store, ROW)
        connection.exec_driver_sql(f"UPDATE metric SET value = value + 1 WHERE attempt_id = {number}")
    campaign.say("a number in the database was changed")
    code = ended(campaign, sweep)
    damaged = store.query(f"SELECT run_id FROM attempt WHERE id = {number}")[0]["run_id"][:12]
    store.close()
    expect_lines(campaign, ROW, code, f"the result of run {damaged} is not what was written")
    for words, code in ((("check",), 1), (("void", damaged, "--reason", "damaged"), 0)):
        found = command(campaign, "db", *words)
        if code != found.returncode or damaged not in found.stdout:
            campaign.wrong.append(f"db {words[0]}: exit code {found.returncode}, {found.stdout[:200]!r}")
    end_further(campaign, ROW, before)


def damage_page(campaign: Campaign) -> None:
    """A page of SQLite's file is overwritten while a sweep runs: it ends with a line, and a copy goes on."""
    before, sweep = begin_further(campaign, PAGE)
    path, copy = Path(campaign.db), campaign.folder / "whole.db"
    with contextlib.closing(sqlite3.connect(path)) as source, contextlib.closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'attempt'").fetchone()
    chance = random.Random(campaign.seed)
    until = time.monotonic() + STUCK_S
    while sweep.poll() is None and time.monotonic() < until:
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path, timeout=1)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # else the page is read from the log
        with path.open("r+b") as file:
            file.seek((page - 1) * size)
            file.write(chance.randbytes(size))
        time.sleep(0.2)
    campaign.say("a page of the database was overwritten")
    expect_lines(campaign, PAGE, ended(campaign, sweep), "the file is damaged")
    for file in path.parent.glob(f"{path.name}-*"):  # its log
        file.unlink()
    path.write_bytes(copy.read_bytes())
    end_further(campaign, PAGE, before)


DAMAGES = {ROW: damage_row, PAGE: damage_page}


def begin_further(campaign: Campaign, name: str) -> tuple[dict[int, tuple[object, ...]], subprocess.Popen[bytes]]:
    """The results so far, and a sweep of a further experiment of which some runs are done."""
    store = open_store(campaign.db)
    before = results(store)
    sweep = start_sweep(campaign, 0, name=name)
    while sweep.poll() is None and newest(store, name) is None:
        time.sleep(0.2)
    store.close()
    return before, sweep


def ended(campaign: Campaign, process: subprocess.Popen[bytes]) -> int:
    """The exit code of a process; one that does not end is killed with all that it started, which is wrong."""
    try:
        return process.wait(timeout=STUCK_S)
    except subprocess.TimeoutExpired:
        campaign.wrong.append(f"{process.args!r} did not end within {STUCK_S} s")
        kill(process)
        return process.wait()


def end_all(campaign: Campaign) -> None:
    """Kills the sweeps that have not ended, with all that they started."""
    for sweep in campaign.sweeps:
        if sweep.poll() is None:
            kill(sweep)
            sweep.wait()


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kills a process with all that it started."""
    whole = psutil.Process(process.pid)
    for member in [*whole.children(recursive=True), whole]:
        with contextlib.suppress(psutil.NoSuchProcess):
            member.kill()


def newest(store: Store, name: str) -> int | None:
    """A finished attempt of an experiment; None where there is none yet."""
    rows = store.query(NEWEST, name=name)
    return rows[-1]["finished_attempt"] if rows else None


def expect_lines(campaign: Campaign, name: str, code: int, line: str) -> None:
    """Notes as wrong where the sweep of an experiment did not end with an exit code and a line."""
    text = (campaign.folder / f"sweep-{name}-0.log").read_text(errors="replace")
    if code == 0 or line not in text:
        campaign.wrong.append(f"damaged {name}: exit code {code}, and {text.count(line)} lines with {line!r}")


def end_further(campaign: Campaign, name: str, before: Mapping[int, tuple[object, ...]]) -> None:
    """Completes an experiment whose sweep ended, and notes as wrong what is not as it was."""
    code = ended(campaign, start_sweep(campaign, 0, name=name))
    if code != 0:
        campaign.wrong.append(f"damaged {name}: the next sweep ended with {code}")
    store = open_store(campaign.db)
    after = results(store)
    store.close()
    campaign.wrong += [f"damaged {name}: attempt {n} changed" for n, row in before.items() if after.get(n) != row]
    if (checked := command(campaign, "db", "check")).returncode != 0:
        campaign.wrong.append(f"damaged {name}: db check at the end: {checked.stdout[:200]!r}")


def command(campaign: Campaign, *words: str) -> subprocess.CompletedProcess[str]:
    """The outcome of a command of hashbench on the database of the campaign."""
    with tempfile.TemporaryFile() as log:
        code = ended(campaign, start(campaign, [*words, "--db", campaign.db], log))
        log.seek(0)
        return subprocess.CompletedProcess(words, code, log.read().decode(errors="replace"), "")
