"""The runs of a campaign of faults: a kind of run that does next to nothing, its values, and what must always hold."""

from __future__ import annotations

import hashlib
import random

# A further attempt at a finished run that left files, which were gone (store/reruns.py)
MADE_AGAIN = (
    "EXISTS (SELECT 1 FROM run q JOIN artifact f ON f.attempt_id = q.finished_attempt "
    "WHERE q.id = a.run_id AND a.id > q.finished_attempt AND a.started_at >= q.finished_at)"
)
STRANGER = "stranger"  # the worker of attempts that a merge brought
OWN = f"a.worker <> '{STRANGER}'"
WITHOUT_RESULTS = "a.state NOT IN ('done', 'void')"
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
    "an orphan metric": f"SELECT m.name FROM metric m JOIN attempt a ON a.id = m.attempt_id WHERE {WITHOUT_RESULTS}",
    "orphan predictions": (
        f"SELECT p.split FROM predictions p JOIN attempt a ON a.id = p.attempt_id WHERE {WITHOUT_RESULTS}"
    ),
    "an orphan artifact": f"SELECT f.url FROM artifact f JOIN attempt a ON a.id = f.attempt_id WHERE {WITHOUT_RESULTS}",
    "two results of a run": (
        f"SELECT a.run_id FROM attempt a WHERE a.state = 'done' AND {OWN} AND NOT {MADE_AGAIN} "
        "GROUP BY a.run_id HAVING COUNT(*) > 1"
    ),
    "an ended attempt without an end": "SELECT id FROM attempt WHERE (state = 'running') <> (ended_at IS NULL)",
    "an attempt that ended before it began": "SELECT id FROM attempt WHERE ended_at < started_at OR seconds < 0",
    # By the order of attempts and not by times: the clock of the database may have been set in between
    "a run begun before its need was done": (
        "SELECT a.id FROM attempt a JOIN dependency d ON d.run_id = a.run_id JOIN run n ON n.id = d.needs_run_id "
        f"JOIN attempt b ON b.id = n.finished_attempt WHERE {OWN} AND a.state <> 'void' AND a.id <= b.id "
        f"AND b.worker <> '{STRANGER}'"
    ),
    "a run begun without its need": (
        "SELECT a.id FROM attempt a JOIN dependency d ON d.run_id = a.run_id JOIN run n ON n.id = d.needs_run_id "
        f"WHERE {OWN} AND n.finished_at IS NULL"
    ),
    "a second attempt at a finished run": (
        "SELECT a.id FROM attempt a JOIN run r ON r.id = a.run_id "
        f"WHERE r.state = 'done' AND a.id > r.finished_attempt AND {OWN} AND NOT {MADE_AGAIN}"
    ),
}  # fmt: skip
# Of a sweep that is over, and whose runs all measure something
AT_THE_END = {
    "a run that is not done": "SELECT id FROM run WHERE state <> 'done'",
    "an attempt in flight": "SELECT id FROM attempt WHERE state = 'running'",
    "a finished run without a metric": (
        "SELECT r.id FROM run r WHERE NOT EXISTS (SELECT 1 FROM metric m WHERE m.attempt_id = r.finished_attempt)"
    ),
    "a failed attempt": (
        "SELECT id, worker, reason, ended_at - started_at FROM attempt WHERE state = 'failed' "
        "AND reason NOT LIKE 'hung:%'"
    ),
    "an attempt that a merge ended": "SELECT id FROM attempt WHERE state = 'lost' AND reason LIKE '%merge%'",
    "an end that is not the start and the seconds": (
        "SELECT a.id FROM attempt a WHERE a.state = 'done' "
        f"AND {OWN} AND ABS(a.started_at + a.seconds - a.ended_at) > 1"
    ),
}  # fmt: skip
# A kind of run as a user's own file: its value follows from its number and the values of what it needs. Runs wait until
# both sweeps work, and while a fault is due: it would come too late where runs are short. One of those that wait takes
# the file of a hang, and sleeps in C with Python's lock in its hand; hang_minutes are shorter than users may set them.
# On SQLite, whose clock is that of each process, it is set by the number in a file.
OWN_KIND = '''
import ctypes
import hashlib
import os
import sqlite3
import time
from pathlib import Path

import sqlalchemy as sa

from hashbench.common.atomic import atomic_write
from hashbench.common.measured import MetricRow
from hashbench.common.progress import progress
from hashbench.running.experiment.schema import Experiment
from hashbench.running.runs.base import RunKind
from hashbench.running.training.machine import Interrupted
from hashbench.store.result import Result

RUNS = {runs}  # by experiment: the number of the first, and of each seconds and which earlier ones it needs
GO, PAUSE, HANG = Path({go!r}), Path({pause!r}), Path({hang!r})
NEVER = 10**6  # seconds
Experiment.hang_s = {hang_s}


def julianday(*_):
    """The day of a clock that is wrong by some seconds."""
    return (time.time() + float(Path(os.environ["FAULT_CLOCK"]).read_text())) / 86400 + 2440587.5


@sa.event.listens_for(sa.Engine, "connect")
def set_clock(connection, _record):
    if isinstance(connection, sqlite3.Connection) and "FAULT_CLOCK" in os.environ:
        connection.create_function("julianday", -1, julianday)


def wait(is_over, machine):
    """Waits in small steps."""
    while not is_over():
        if machine.should_stop.is_set():
            raise Interrupted
        progress("waiting")
        try:
            HANG.unlink()
        except FileNotFoundError:
            time.sleep(0.05)
        else:
            ctypes.PyDLL(None).sleep(NEVER)


class Chained(RunKind):
    """Does next to nothing for a while."""

    name, order = "chained", 900

    def planned(self, resolved):
        made = []
        first, runs = RUNS[resolved.experiment.name]
        for number, (seconds, needs) in enumerate(runs):
            spec = {{"number": first + number, "seconds": seconds, "needs": needs}}
            earlier = tuple(made[need].id for need in needs)
            made.append(self.make(resolved.experiment.encoder, "raw", spec, seed=number, needs=earlier))
        return made

    def carry_out(self, run, place, machine):
        wait(GO.exists, machine)
        end = time.monotonic() + run.spec["seconds"]
        wait(lambda: time.monotonic() >= end and not PAUSE.exists(), machine)
        values = [(place.artifacts.root / need).read_text() for need in run.needs]
        text = hashlib.sha256(" ".join([str(run.spec["number"]), *values]).encode()).hexdigest()
        with atomic_write(place.artifacts.root / run.id) as part:
            part.write_text(text)
        value = int(text[:12], 16) / 16**12
        return Result(metrics=[MetricRow("value", value, split="validation")])


KIND = Chained()
'''
EXPERIMENT = """\
name: {name}
data: builtin
encoder: tiny
models: [{{name: raw, like: hashformer-md-proj, objective: none}}]
baseline: raw
tasks: []
floors: []
seeds: [0]
threads: 1
retries: 2
"""
CHAINED, ROW, PAGE = "chained", "row", "page"  # experiments: of both sweeps, and of those with a damaged database
FURTHER = 12  # runs of each of the latter two
FIRST = {CHAINED: 0, ROW: 100_000, PAGE: 200_000}  # numbers of their first runs


def specs(n_runs: int, longest_s: float) -> list[tuple[float, list[int]]]:
    """Seconds and needs of every run: groups of five, in which later ones need up to two earlier ones."""
    chance = random.Random(0)
    made: list[tuple[float, list[int]]] = []
    for number in range(n_runs):
        group = range(number - number % 5, number)
        needs = sorted(chance.sample(group, min(len(group), chance.randint(0, 2))))
        made.append((round(chance.uniform(0.0, longest_s), 3), needs))
    return made


def texts_of(n_runs: int, longest_s: float, first: int = 0) -> list[str]:
    """The file of every run, computed here. `first`: the number of the first run."""
    texts: list[str] = []
    for number, (_, needs) in enumerate(specs(n_runs, longest_s)):
        whole = " ".join([str(first + number), *(texts[need] for need in needs)])
        texts.append(hashlib.sha256(whole.encode()).hexdigest())
    return texts


def unharmed(n_runs: int, longest_s: float, first: int = 0) -> list[float]:
    """The value of every run, computed here."""
    return [int(text[:12], 16) / 16**12 for text in texts_of(n_runs, longest_s, first)]
