from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.data.sources.workers import call_each

REMEDY = "take fewer"


def facts(number: int) -> tuple[int, int, str]:
    return number, os.getpid(), os.environ["HASHBENCH_THREADS"] if "HASHBENCH_THREADS" in os.environ else ""


def fail(number: int) -> None:
    if number == 1:
        raise InputError("shard 1: is wrong; mend it")
    time.sleep(600)


def die(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.e2e
def test_every_job_is_done_once_by_other_processes() -> None:
    answers = dict(call_each(facts, [(10,), (11,), (12,)], workers=2, remedy=REMEDY))
    assert {number: answer[0] for number, answer in answers.items()} == {0: 10, 1: 11, 2: 12}
    assert os.getpid() not in {pid for _, pid, _ in answers.values()}
    assert {threads for _, _, threads in answers.values()} == {"1"}  # of as many processes as there are cores


@pytest.mark.parametrize(("workers", "jobs"), [(1, [(5,), (6,)]), (4, [(5,)])])
def test_a_single_worker_or_job_needs_no_other_process(workers: int, jobs: list[tuple[int]]) -> None:
    answers = list(call_each(facts, jobs, workers=workers, remedy=REMEDY))
    assert [number for number, _ in answers] == list(range(len(jobs)))
    assert {pid for _, (_, pid, _) in answers} == {os.getpid()}


@pytest.mark.e2e
def test_an_error_ends_all_calls() -> None:
    """The other call would sleep for ten minutes."""
    with pytest.raises(InputError, match="^shard 1: is wrong; mend it$"):
        list(call_each(fail, [(0,), (1,)], workers=2, remedy=REMEDY))


@pytest.mark.e2e
def test_a_killed_worker_is_one_line() -> None:
    with pytest.raises(InputError, match="^a worker was killed, perhaps for memory; take fewer$"):
        list(call_each(die, [(0,), (1,)], workers=2, remedy=REMEDY))


@pytest.mark.e2e
def test_workers_end_with_the_process_that_began_them() -> None:
    code = (
        "import os, sys, time, multiprocessing\n"
        "from concurrent.futures import ProcessPoolExecutor\n"
        "from hashbench.data.sources.workers import begin_worker\n"
        "pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context('spawn'), initializer=begin_worker)\n"
        "print(pool.submit(os.getpid).result(), flush=True)\n"
        "time.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    worker = int(process.stdout.readline())
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    for _ in range(300):
        if not _runs(worker):
            break
        time.sleep(0.1)
    assert not _runs(worker)


def _runs(pid: int) -> bool:
    """Whether a process is there that is no zombie."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
