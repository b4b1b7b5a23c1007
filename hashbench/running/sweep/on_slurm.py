"""Workers in an array job of Slurm, which submitit submits and queues again. The sweep that submits them ends.

An element of the array is what `hashbench worker` is, with the plan of the sweep that submitted it, so that the
experiment file may change while the job waits: it starts one worker on its node, watches it, and starts it again where
it dies. Which run is done by whom the store alone decides.

Slurm signals all processes of an element, some of them twice, and the signal decides whether the element is queued
again. The signal of submitit (USR2) comes before the time limit, and in some clusters before a preemption: the worker
stops with a checkpoint, then submitit queues the element again. SIGTERM comes with `scancel` and with a preemption. It
stops the worker too; the element then waits to be ended by Slurm, which queues again what it has preempted, unless it
has ended by itself.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import submitit
from submitit.core.utils import FailedJobError, FailedSubmissionError

from hashbench.common.cache import mark, named_cache
from hashbench.common.errors import InputError
from hashbench.common.showing import tell
from hashbench.running.experiment.schema import Experiment
from hashbench.running.experiment.slurm import SLURM, TIME, minutes_of
from hashbench.running.runs.base import names
from hashbench.running.sweep.assignment import Assignment, pack, unpack
from hashbench.running.sweep.local import LocalExecutor, module_paths
from hashbench.running.sweep.runner import SOME_FAILED, STOP_GRACE_S, take_part
from hashbench.store.engine import parse
from hashbench.store.sqlite import file_system, is_on_network

CPUS = "cpus-per-task"
PROGRAMS = ("sbatch", "srun", "sinfo")
SIGNAL_S = 180  # before its time limit that an element is signalled: STOP_GRACE_S, and a database that is slow
MOST_TIMES = 100_000  # that an element is queued again at its time limit; submitit wants a number
ENDED_WITHIN_S = 600.0  # of SIGTERM, Slurm ends an element: after KillWait, or the GraceTime of a partition
ANSWER_S = 60.0  # of sinfo
LOOK_S = 0.1
WRONG_INPUT = 2  # exit code
REMEDY = "give a PostgreSQL address, as --db postgresql://USER@HOST/NAME"


class SlurmExecutor(LocalExecutor):
    """Submits all workers as an array job. Where a worker already is, in `hashbench worker` too, they are local."""

    @classmethod
    def check(cls, db: str, *, stays: bool) -> None:
        if missing := [program for program in PROGRAMS if shutil.which(program) is None]:
            raise InputError(
                f"executor: slurm: no {missing[0]} on this machine; start the sweep where jobs are submitted, "
                "or write executor=local behind the file"
            )
        if stays:
            raise InputError(
                "executor: slurm: --fail-fast and --max-hours are for a sweep that stays, and this one ends when its "
                "job is submitted; leave them out (slurm.time limits an element, scancel ends all)"
            )
        refuse_file_of_few_machines(db)

    @classmethod
    def submit(cls, assignment: Assignment, n_workers: int) -> str:
        experiment = assignment.resolved.experiment
        folder = assignment.cache / SLURM / experiment.name
        if other_nodes() and not is_on_network(kind := file_system(assignment.cache)):
            tell(
                f"{assignment.cache}: on a file system ({kind}) that other nodes may not see, where the job has its "
                "files; HASHBENCH_CACHE names another folder"
            )
        mark(assignment.cache)
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{uuid.uuid4().hex}.assignment"
        with open(
            os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb"
        ) as out:  # the address has a password
            out.write(pack(assignment.for_elsewhere()))
        # -P: as for a worker (local.py)
        job = submitit.SlurmExecutor(folder, max_num_timeout=MOST_TIMES, python=f"{shlex.quote(sys.executable)} -P")
        with sbatch_errors():
            job.update_parameters(**parameters_of(experiment, n_workers))
            elements = job.submit_array([Element(file)] * n_workers)
        return submitted_text(assignment, [element.job_id for element in elements], folder)


class Element:
    """An element of the array job, as submitit calls it: a sweep by one worker on its node."""

    def __init__(self, file: Path) -> None:
        """`file`: of the assignment."""
        self._file = file
        self._sweep: threading.Thread | None = None
        self._why = ""  # it is to end
        self._code = SOME_FAILED

    def __call__(self) -> None:
        """Carries out runs until none is left or a signal comes; ends the process with the exit code of a sweep."""
        signal.signal(signal.SIGTERM, lambda *_: self._stop("SIGTERM"))  # submitit passes over it
        # Not in this thread: signals come several at a time, and none may break into what the first one began.
        self._sweep = threading.Thread(target=self._carry_out, daemon=True)
        self._sweep.start()
        while self._sweep.is_alive():
            time.sleep(LOOK_S)
        if self._code and self._why:
            time.sleep(ENDED_WITHIN_S)
        if self._code:
            sys.exit(self._code)

    def checkpoint(self) -> submitit.helpers.DelayedSubmission:
        """Stops the worker at the signal of submitit; returns the element that submitit queues in its place."""
        self._stop(f"SIG{submitit.JobEnvironment.USR_SIG}")
        until = time.monotonic() + SIGNAL_S - STOP_GRACE_S / 2
        while self._sweep is not None and self._sweep.is_alive() and time.monotonic() < until:
            time.sleep(LOOK_S)
        return submitit.helpers.DelayedSubmission(Element(self._file))

    def _stop(self, name: str) -> None:
        self._why = self._why or f"{name}: stops, and gives its run back"

    def _carry_out(self) -> None:
        try:
            assignment = unpack(self._file.read_bytes(), named_cache())
            assignment = replace(assignment, cache=named_cache() or assignment.cache)
            self._code = take_part(assignment, lambda: self._why)
        except InputError as error:
            self._code = WRONG_INPUT
            tell(f"hashbench: {error}")


def parameters_of(experiment: Experiment, n_workers: int) -> dict[str, Any]:
    """The parameters of submitit's job: what hashbench sets, and the options of the block `slurm`."""
    options = dict(experiment.slurm)
    variables = {"PYTHONPATH": module_paths()}
    if CPUS in options:
        variables["SRUN_CPUS_PER_TASK"] = str(options[CPUS])  # srun takes over sbatch's no more since Slurm 22.05
    return {
        "time": minutes_of(options.pop(TIME)),
        "job_name": options.pop("job-name", f"hashbench-{experiment.name}"),
        "signal_delay_s": SIGNAL_S,
        "array_parallelism": n_workers,
        "wckey": None,  # submitit's own is unknown to a cluster that checks them
        "stderr_to_stdout": True,
        "setup": [f"export {name}={shlex.quote(value)}" for name, value in variables.items()],
        "additional_parameters": {"requeue": True, **options},
    }


def submitted_text(assignment: Assignment, job_ids: list[str], folder: Path) -> str:
    """The message of a sweep on a submitted job: its number, where its logs are, how to watch and to end it."""
    number = job_ids[0].partition("_")[0]
    db = parse(assignment.db)[1]
    elements = f"{len(job_ids)} elements" if len(job_ids) > 1 else "one element"
    timings = "\n  timings:  the same command measures them on its machine, when all other runs are done"
    has_timings = any(run.kind in names(measures_time=True) for run in assignment.runs.values())
    return (
        f"submitted to Slurm: job {number}, {elements}; this command has no more to do\n"
        f"  progress: hashbench status {assignment.resolved.experiment.name} --db {shlex.quote(db)}\n"
        f"  in Slurm: squeue --jobs {number}; to stop: scancel {number}\n"
        f"  logs:     {folder}/{number}_*_log.out{timings if has_timings else ''}"
    )


@contextlib.contextmanager
def sbatch_errors() -> Iterator[None]:
    """Raises InputError with the last line that sbatch prints where it refuses a job."""
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # submitit prints it too
            yield
    except (FailedJobError, FailedSubmissionError) as error:
        output = [line.strip() for line in str(error).splitlines() if line.strip()] or ["no message"]
        raise InputError(
            f"slurm: sbatch refuses the job: {output[-1].removeprefix('sbatch: error: ')}; change the block slurm"
        ) from error


def refuse_file_of_few_machines(db: str) -> None:
    """Raises InputError for a SQLite file that workers on several nodes could not share."""
    url, name = parse(db)
    if url.get_backend_name() != "sqlite":
        return
    kind = file_system(Path(url.database or ""))
    if is_on_network(kind):
        raise InputError(
            f"--db {name}: a SQLite file on a network file system ({kind}), where workers on several machines lose "
            f"claims and results; {REMEDY}"
        )
    if others := other_nodes():
        raise InputError(
            f"--db {name}: a SQLite file on a disk of this machine, which {others[0]} and other nodes of Slurm do not "
            f"reach; {REMEDY}"
        )


def other_nodes() -> list[str]:
    """Host names of Slurm's nodes but for this machine. Raises InputError where Slurm does not answer."""
    command = ["sinfo", "--noheader", "--Node", "--format=%n"]
    try:
        output = subprocess.run(command, capture_output=True, text=True, timeout=ANSWER_S, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        reason = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1]
        raise InputError(f"executor: slurm: {reason}; see whether Slurm answers: sinfo") from error
    here = socket.gethostname().partition(".")[0]
    return sorted({node for node in output.split() if node.partition(".")[0] != here})
