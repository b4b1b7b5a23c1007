"""A sweep of one run that blocks in C at its first attempt; limits are shorter than users may set them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from hashbench.store.engine import Store, open_store
from hashbench.store.status import attempts

# How it blocks is the name of the experiment, since each machine of a cluster plans the same runs
KIND = """
import ctypes

import numba

from hashbench.extend import MetricRow, Result, RunKind, progress
from hashbench.running.sweep import runner

runner.STOP_GRACE_S = 1.0
NEVER = 10**6  # seconds


@numba.njit
def spin(number):
    while number != 0:
        number = (number * 5 + 1) % 1_000_003 + 1
    return number


class Blocked(RunKind):
    name, order = "blocked", 900
    several_devices = True

    def planned(self, resolved):
        return [self.make(resolved.experiment.encoder, "raw", {"how": resolved.experiment.name}, seed=0)]

    def carry_out(self, run, place, machine):
        if machine.rank > 0:  # of two processes one holds its lock
            progress("sleeping")
            spin(7)
        tried = place.artifacts.root / f"{run.id}.tried"
        if tried.exists() and not run.spec["how"].startswith("always"):
            return Result(metrics=[MetricRow("value", 1.0, split="validation")])
        tried.parent.mkdir(exist_ok=True)
        tried.touch()
        if "silent" not in run.spec["how"]:
            progress("sleeping")
        if "numba" in run.spec["how"]:  # no thread of Python runs meanwhile
            spin(7)
        elif "locked" in run.spec["how"]:  # nor here
            ctypes.PyDLL(None).sleep(NEVER)
        else:
            ctypes.CDLL(None).sleep(NEVER)


KIND = Blocked()
"""
EXPERIMENT = """\
name: {how}
data: builtin
encoder: tiny
models: [{{name: raw, like: hashformer-md-proj, objective: none}}]
baseline: raw
tasks: []
floors: []
seeds: [0]
threads: 1
device: cpu
executor: {executor}
"""
GO = """
import sys
import time
from dataclasses import replace
from pathlib import Path


class Clock:
    # Time passes when the run has begun, all at once

    def monotonic(self):
        return time.monotonic() + (1e9 if list(Path("cache").glob("artifacts/*.tried")) else 0.0)


if __name__ == "__main__":
    from hashbench.running.experiment.load import load_experiment
    from hashbench.running.sweep import runner
    from hashbench.running.sweep.runner import sweep

    db, limits = sys.argv[1], dict(zip(sys.argv[2::2], map(float, sys.argv[3::2])))
    until = limits.pop("max_hours", None)
    runner.time = runner.time if until is None else Clock()
    loaded = load_experiment(Path("x.yaml"), [])
    limits |= {"devices": int(limits["devices"])} if "devices" in limits else {}
    loaded = replace(loaded, experiment=loaded.experiment.model_copy(update=limits))
    sys.exit(sweep(loaded, db=db, max_hours=until))
"""


def sweep(
    folder: Path, how: str, db: str, *, executor: str = "local", ray_address: str = "", **limits: float
) -> subprocess.CompletedProcess[str]:
    """The end of a sweep whose run blocks in a way; `limits`: numbers among the keys of the file, and max_hours."""
    (folder / "own.py").write_text(KIND)
    (folder / "go.py").write_text(GO)
    (folder / "x.yaml").write_text(EXPERIMENT.format(how=how, executor=executor))
    given = [str(part) for limit in limits.items() for part in limit]
    own = {"HASHBENCH_PLUGINS": str(folder / "own.py"), "HASHBENCH_CACHE": str(folder / "cache")}
    return subprocess.run(
        [sys.executable, "go.py", db, *given],
        cwd=folder,
        env={**os.environ, **own, **({"RAY_ADDRESS": ray_address} if ray_address else {})},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


def attempts_of(store: Store) -> list[tuple[str, str, str, str]]:
    """State, reason, worker and log of every attempt at the one run."""
    (row,) = store.query("SELECT id FROM run")
    return [(one.state, one.reason or "", one.worker, one.log) for one in attempts(store, row["id"])]


HANG = {"hang_minutes": 0.05}


def ended_and_tried_again(tmp_path: Path, how: str, db: str, **more: object) -> None:
    done = sweep(tmp_path, how, db, **HANG, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    (state, reason, worker, log), (second, _, other, _) = attempts_of(open_store(db, create=False))
    assert (state, second) == ("failed", "done") and worker != other
    assert reason.startswith("hung: no sign of progress for ") and ", in: sleeping; " in reason
    assert "in carry_out" in log and "own.py" in log, "the stack is in the log"
    assert "hung: no sign of progress" in done.stderr and "Traceback" not in done.stderr
